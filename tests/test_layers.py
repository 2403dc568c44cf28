"""What the contracts of import-linter in pyproject.toml do not see by themselves."""

import ast
from pathlib import Path
from tomllib import loads

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/linkstep"
CONTRACTS = loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_every_package_of_methods_has_a_front_door():
    packages = {path.parent.name for path in (PACKAGE / "methods").glob("*/__init__.py")} - {"common"}
    inside = {tuple(c["protected_modules"]): c["allowed_importers"] for c in CONTRACTS if c["type"] == "protected"}
    for name in packages:
        assert inside[(f"linkstep.methods.{name}.*",)] == [f"linkstep.methods.{name}"]


# Modules found by name, which import-linter does not see


def modules_named_in(tree):
    """Yield what ``import_module`` is called with; of a name that is put together, its beginning."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("import_module", "__import__"):
            argument = node.args[0]
            if isinstance(argument, ast.JoinedStr):
                argument = argument.values[0]
            yield argument.value if isinstance(argument, ast.Constant) else "?"


def test_modules_named_in():
    tree = ast.parse("import_module('a.b'); importlib.import_module(f'c.{d}'); __import__(e); print('f')")
    assert list(modules_named_in(tree)) == ["a.b", "c.", "?"]


def test_no_module_is_found_by_name_above_its_own_room():
    """The package finds public names so, which stand below it, and two rooms what is in them."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text if "import_module" in text or "__import__" in text else "")
        names = [name for name in modules_named_in(tree) if name.startswith(("linkstep", "?"))]
        if names:
            found[path.relative_to(PACKAGE).as_posix()] = names
    assert found == {
        "__init__.py": ["?"],
        "cli/_parser.py": ["linkstep.cli._"],
        "reports/__init__.py": ["linkstep.reports."],
    }
