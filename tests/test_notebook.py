"""The notebook in ``examples/``: its cells run in order, everything they show can be shown, and it has no outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "from_question_to_file.ipynb"


def cells():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_it_is_short_and_stored_without_outputs():
    found = cells()
    assert len(found) <= 15
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in found if "outputs" in cell)
    assert len({cell["id"] for cell in found}) == len(found)


@pytest.mark.slow
def test_its_cells_run_in_order():
    """What a cell ends with is what a notebook shows: an HTML table, a picture, or a short line."""
    pytest.importorskip("networkx", reason="the extra graphs brings it")
    names = {}
    for cell in cells():
        if cell["cell_type"] != "code":
            continue
        *_, last = lines = "".join(cell["source"]).splitlines()
        exec("\n".join(lines), names)
        if "=" in last.partition("(")[0]:
            continue
        value = eval(last.partition("  # ")[0], names)
        views = [getattr(value, name)() for name in ("_repr_html_", "_repr_svg_") if hasattr(value, name)]
        assert any(views) or len(repr(value)) < 400


@pytest.mark.slow
def test_jupyter_runs_it(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="the extra notebook brings it")
    pytest.importorskip("ipykernel", reason="the extra notebook brings it")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    done = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "text/plain"} <= kinds
    assert not any(output.output_type == "error" for output in outputs)
