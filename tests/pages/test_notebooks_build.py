"""The page policy: what is kept of an executed notebook, and what keeps a page from being built."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat.v4 as nbf
import pytest

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.build import build_page, normalised, page_problems


def executed(*outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    metadata = {"tags": list(tags), "papermill": {"start_time": "2026"}, "execution": {"iopub.status.busy": "x"}}
    cell = nbf.new_code_cell("f()", execution_count=1, outputs=list(outputs), metadata=metadata)
    page = nbf.new_notebook(cells=[nbf.new_markdown_cell("words"), cell])
    page.metadata.update(
        {
            "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
            "language_info": {"name": "python", "version": "3.11.7"},
            "papermill": {"input_path": "/somebody/s/folder.ipynb", "duration": 3.1},
            "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
        }
    )
    return page


def shown(**data: Any) -> Any:
    return nbf.new_output(
        "execute_result", {kind.replace("_", "/"): value for kind, value in data.items()}, execution_count=1
    )


def problems(*outputs: Any) -> list[str]:
    return list(page_problems(normalised(executed(*outputs))))


def test_what_differs_from_run_to_run_is_left_out() -> None:
    first, second = executed(shown(text_plain="<f at 0x7f001122>")), executed(shown(text_plain="<f at 0x7fffffff>"))
    first.metadata.papermill["duration"] = 9.9
    assert normalised(first) == normalised(second)
    kept = normalised(first)
    assert kept.cells[1].outputs[0].data["text/plain"] == "<f>"
    assert kept.metadata == {
        "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    assert kept.cells[1].metadata == {}
    assert first.metadata.papermill, "the executed notebook itself is left as it was"


def test_tags_of_the_source_stay_and_papermill_s_own_go() -> None:
    page = executed(tags=("parameters", "injected-parameters"))
    page.cells.insert(0, nbf.new_markdown_cell("failed!", metadata={"tags": ["papermill-error-cell-tag"]}))
    kept = normalised(page)
    assert [cell.source for cell in kept.cells] == ["words", "f()"]
    assert kept.cells[1].metadata == {"tags": ["parameters"]}


def test_a_sound_page_has_no_problems() -> None:
    table = (
        "<table><thead><tr><th></th></tr><tr><th>line</th></tr></thead><tbody>" + "<tr></tr>" * 15 + "</tbody></table>"
    )
    assert (
        problems(shown(text_plain="1", text_html=table), nbf.new_output("stream", text="see runs/demo and a/b")) == []
    )


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (nbf.new_output("stream", name="stderr", text="Warning!"), "code cell 1: it wrote to stderr: 'Warning!'"),
        (nbf.new_output("error", ename="KeyError", evalue="x", traceback=[]), "code cell 1: it raised KeyError"),
        (
            nbf.new_output("stream", text="wrote /home/ada/x.json"),
            "it names a place on this machine: '/home/ada/x.json'",
        ),
        (shown(text_html="<table><tbody>" + "<tr></tr>" * 16), "its table has 16 rows; at most 15"),
        (shown(text_html="<script>1</script>"), "its HTML holds a script or a style sheet"),
        (shown(text_html="<style>#T_1 {color: red}</style>"), "its HTML holds a script or a style sheet"),
        (shown(image_svg="<svg/>"), "it shows image/svg, which a static page cannot"),
        (shown(image_png=base64.b64encode(b"x" * 100_001).decode()), "its chart has 100,001 bytes; at most 100,000"),
        (nbf.new_output("stream", text="long " * 80_001), "bytes; at most 400,000"),
    ],
)
def test_what_a_page_may_not_hold_is_named(output: Any, said: str) -> None:
    (problem,) = problems(output)
    assert said in problem


def test_cells_that_did_not_run_in_order_are_named() -> None:
    page = executed()
    page.cells[1].execution_count = 2
    assert list(page_problems(normalised(page))) == ["its cells did not run once each, in order"]
    page.cells[1].execution_count = 1
    page.cells += [nbf.new_code_cell("f()", execution_count=i) for i in range(2, 27)]
    assert list(page_problems(normalised(page))) == ["it has 26 code cells; at most 25 are readable"]


def test_building_twice_leaves_the_file_alone_and_an_unfit_page_is_not_written(tmp_path: Path) -> None:
    target = tmp_path / "page.ipynb"
    assert build_page(executed(shown(text_plain="1")), target)
    first = target.read_bytes()
    assert not build_page(executed(shown(text_plain="1")), target)
    with pytest.raises(EvalkitError, match="it raised KeyError; change the notebook's source and build again"):
        build_page(executed(nbf.new_output("error", ename="KeyError", evalue="", traceback=[])), target)
    assert target.read_bytes() == first
