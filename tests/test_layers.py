"""What the contracts of import-linter in pyproject.toml do not see by themselves."""

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
