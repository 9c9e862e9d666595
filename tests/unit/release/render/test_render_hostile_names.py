"""Columns and values with names that could be markup: everything that shows a release shows them as they are.

Agreements and releases with control characters are refused before; `test_svg.py` and `test_text_tables.py` show what
becomes of them.
"""

from __future__ import annotations

import ast
import io
import re
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

import copublish as cp
from copublish.release.render.graph import graph_figure
from copublish.release.render.parts import generalized_values
from copublish.release.render.snippets import snippets
from copublish.release.render.terminal import contents_shown
from copublish.release.render.tree import partition_figure, partition_trees
from support import fragment_frames, random_table, seeded, simulate_with, small_mapping

COLUMN, CLASS = "<img src=x onerror=alert(1)> [bold]", '"><script>alert(2)</script>'
VALUES = ["</td><script>alert(3)</script>", "{0} & [/nope]", "a\\\"b'c"]
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
"""A string of R, as of JSON."""

CHANGES: dict[str, dict[str, object]] = {
    "specialization": {"mechanism.specializations": 4, "privacy.epsilon": 8},
    "marginals": {"mechanism": {"name": "marginals", "rounds": 1}, "privacy.epsilon": 8},
    "copula": {"mechanism": {"name": "copula"}, "privacy.epsilon": 8},
    "vhdp": {
        "mechanism": {"name": "vhdp"},
        "records.public": True,
        "privacy.neighbors": "replace",
        "privacy.epsilon": 10,
    },
}


@cache
def release(mechanism: str) -> cp.Release:
    mapping = small_mapping(**CHANGES[mechanism])
    mapping["attributes"].pop("job")
    tree = {"ANY": {"<i>some": {VALUES[0]: {}, VALUES[1]: {}}, VALUES[2]: {}}}
    mapping["attributes"][COLUMN] = {
        "kind": "categorical",
        "taxonomy": tree,
        "held_by": "bank",
        "missing": VALUES[0],
        "unlisted": VALUES[0],
    }
    mapping["class"] = {"name": CLASS, "values": [VALUES[0], VALUES[1]]}
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(4)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    return simulate_with(agreement, frames, seeded(agreement.party_names, 2))


class Read(HTMLParser):
    """The elements of a page that no report has, its attributes that run something, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Read:
    page = Read()
    page.feed(html)
    return page


@pytest.mark.parametrize("mechanism", CHANGES)
def test_a_report_has_no_element_that_a_name_brought(mechanism: str) -> None:
    page = read(cp.report(release(mechanism)).html)
    assert not {"script", "img", "i"} & set(page.elements)
    assert not [name for name in page.attributes if name.startswith("on")]
    assert COLUMN in page.text and any(value in page.text for value in VALUES)
    planted = read(f"<td>{COLUMN}</td>")  # unescaped it would be seen
    assert "img" in planted.elements and "onerror" in planted.attributes


def test_pictures_have_the_names_as_texts() -> None:
    one = release("specialization")
    tree = ET.fromstring(str(partition_figure(partition_trees(one, generalized_values(one)))))
    graph = ET.fromstring(str(graph_figure(list(one.published.columns.domains), release("marginals").published.tables)))
    for root in (tree, graph):
        assert {element.tag for element in root.iter()} <= {
            "svg",
            "title",
            "desc",
            "text",
            "circle",
            "path",
            "rect",
            "line",
        }
        assert any(COLUMN in (element.text or "") for element in root.iter())


@pytest.mark.parametrize("mechanism", CHANGES)
def test_a_terminal_shows_the_names_as_they_are(mechanism: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=400)
    for shown in contents_shown(release(mechanism), 5):
        console.print(shown)
    assert COLUMN in out.getvalue() and CLASS in out.getvalue() and "\x1b" not in out.getvalue()


@pytest.mark.parametrize("mechanism", CHANGES)
def test_lines_of_code_hold_the_names_as_strings_and_nothing_runs(mechanism: str) -> None:
    found = snippets(release(mechanism))
    for code in (found.copublish, found.python):
        tree = ast.parse(code)
        assert "alert" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert strings & release(mechanism).published.columns.domains.keys()
    outside = STRING.sub("", found.r)
    assert outside != found.r and '"' not in outside and "alert" not in outside


def test_a_name_that_leaves_its_string_is_noticed() -> None:
    assert "alert" not in STRING.sub("", 'x <- "a\\"; alert(1); \\""')
    assert "alert" in STRING.sub("", 'x <- "a"; alert(1); ""')


@pytest.mark.parametrize("mechanism", CHANGES)
def test_a_folder_of_such_a_release_is_written_and_read_back(mechanism: str, tmp_path) -> None:
    """Names of files have letters and digits alone, whatever columns are called."""
    folder = release(mechanism).write(tmp_path / "release")
    again = cp.load_release(folder)
    assert again.records.equals(release(mechanism).records) and list(again.published.columns.domains)[-1] == CLASS
    for name in again.tables:
        assert name.replace("-", "").isalnum() and name.isascii()
