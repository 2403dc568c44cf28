"""The page in a notebook: a widget with a document, and a picture or a table where widgets do not run."""

from __future__ import annotations

import base64
import json
import re
from types import SimpleNamespace

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.explorer import widget
from linkstep.explorer.packing import unpack
from linkstep.explorer.page import script, style
from linkstep.explorer.widget import still_of
from support.pages import address, choose_host, facts

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_outside_a_notebook_it_says_what_to_do():
    with pytest.raises(LinkstepError, match="run `linkstep explore`, or use save_page"):
        linkstep.explore("K_3")


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(widget, "_is_notebook", lambda: True)
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    widget._widget_class.cache_clear()
    with pytest.raises(LinkstepError, match=r"explore needs anywidget, which is not installed: .*\[widget\]"):
        linkstep.explore("K_3")


def test_where_it_is_a_notebook(monkeypatch):
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(__import__("sys").modules, "IPython", shell)
    assert widget._is_notebook()
    monkeypatch.setitem(__import__("sys").modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not widget._is_notebook()


@pytest.mark.parametrize(
    ("thing", "kinds"),
    [
        ("K_3", ["image/svg+xml", "text/html"]),
        (linkstep.parse("K_3"), ["image/svg+xml", "text/html"]),
        (linkstep.schedule("K_3"), ["text/html"]),
        (linkstep.find(5, 4), ["text/html"]),
        ("plan.xml", []),
    ],
    ids=str,
)
def test_what_stands_for_it(thing, kinds):
    found = still_of(thing)
    assert list(found) in (kinds, kinds[-1:])  # a picture only with matplotlib
    assert all(text.lstrip().startswith("<") for text in found.values())


def test_a_widget_holds_its_document(monkeypatch):
    pytest.importorskip("anywidget", reason="the extra widget brings it")
    monkeypatch.setattr(widget, "_is_notebook", lambda: True)
    widget._widget_class.cache_clear()
    made = linkstep.explore("Torus(4,4)", size="64MB")
    assert unpack(made.document)["title"] == "Torus(4,4)"
    assert unpack(made.document)["panels"][0]["data"]["facts"]["best"]["size"] == 64_000_000
    data, _ = made._repr_mimebundle_()
    assert WIDGET in data and data["text/plain"] == "<ExplorerWidget Torus(4,4)>"
    assert "text/html" in data
    made.close()


def test_the_module_is_a_widgets_and_a_pages():
    assert "export{" in script() and " as default}" in script()
    assert "</script" not in script().lower() and "</style" not in style().lower()


def test_no_style_reaches_beyond_its_place():
    """Several widgets stand on a page with other things."""
    plain = style().replace("body:has(>.linkstep)", "").replace("body>.linkstep", ".linkstep")
    plain = re.sub(r"@page[^{]*\{[^}]*\}", "", plain)  # of paper, which a notebook's page is not printed on by itself
    assert "#linkstep" not in plain
    rules = [rule.rpartition("{")[2] if "@" in rule else rule for rule in plain.replace("}", "}\n").split("\n")]
    selectors = [one for rule in rules if "{" in rule for one in rule.partition("{")[0].split(",") if one.strip()]
    assert all(".linkstep" in one for one in selectors)


@pytest.mark.slow
def test_jupyter_shows_it(tmp_path):
    pytest.importorskip("anywidget", reason="the extra widget brings it")
    nbclient = pytest.importorskip("nbclient", reason="the extra notebook brings it")
    pytest.importorskip("ipykernel", reason="the extra notebook brings it")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import linkstep\nlinkstep.explore('K_3')")])
    done = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    [output] = [one for one in done.cells[0].outputs if one.output_type == "execute_result"]
    assert {WIDGET, "text/html", "text/plain"} <= set(output.data)


PAGE = """<!doctype html>
<html lang="en"><head><title>notebook</title><style>{style}</style></head><body data-jp-theme-light="true">
<h1>A notebook</h1><div id="a"></div><div id="b"></div>
<script type="module">
const text = {script};
for (const [place, packed] of {packed}) {{
  const made = await import(URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }})));
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const model = {{ get: () => new DataView(bytes.buffer) }};
  window["end_" + place] = made.default.render({{ model, el: document.getElementById(place) }});
}}
</script></body></html>"""


@pytest.mark.slow
def test_two_widgets_on_a_page(open_page, tmp_path):
    """Each in its place, with what is shown kept to itself, and taken away again."""
    from linkstep.explorer import document_of, pack

    packed = [
        (place, base64.b64encode(pack(document_of(what))).decode()) for place, what in (("a", "K_4"), ("b", "K_5"))
    ]
    path = tmp_path / "notebook.html"
    safe = json.dumps(script()).replace("</", "<\\/")
    path.write_text(PAGE.format(style=style(), script=safe, packed=json.dumps(packed)))
    opened = open_page()
    page = opened.page
    page.goto(path.as_uri())
    for place, hosts in (("a", 4), ("b", 5)):
        page.wait_for_selector(f"#{place} .linkstep[data-ready]")
        assert facts(page.locator(f"#{place}"))["hosts"].startswith(f"{hosts},")
        assert page.locator(f"#{place} .linkstep").get_attribute("data-theme") == "light"
    choose_host(page.locator("#a"), "2")
    page.locator("#a table", has_text="Hosts by their distance from host 2").wait_for()
    assert page.locator("#b").get_by_label("Host", exact=True).input_value() == ""
    assert "#" not in address(page)
    page.evaluate("window.end_a()")
    assert page.locator("#a dl").count() == 0 and page.locator("#b dl").count() > 0
    opened.check()
