"""Small texts of TOML that would cost gigabytes, or more calls than Python makes, are refused before they are read."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.agreement.loading import TOO_DEEP, content_from_text
from copublish.cli import app
from copublish.errors import AgreementError
from copublish.tools.drafting.demo import example_agreement
from support.studio import entered

PARTS = 500
DEEP = {
    "a dotted key": "a." * PARTS + "a = 1\n",
    "with spaces": "a . " * PARTS + "a = 1\n",
    "in quotes": '"a".' * PARTS + '"a" = 1\n',
    "in single quotes": "'a'." * PARTS + "'a' = 1\n",
    "parts of all kinds": "a.\"b . c\".'d'." * PARTS + "a = 1\n",
    "a section": "[" + "a." * PARTS + "a]\nb = 1\n",
    "sections in a list": "[[" + "a." * PARTS + "a]]\nb = 1\n",
    "inside a table": "x = { " + "a." * PARTS + "a = 1 }\n",
    "after a comment with a quote": "# it's\n" + "a." * PARTS + "a = 1\n",
    "after a text that ends in a quote": 'x = """a""""\n' + "a." * PARTS + "a = 1\n",
    "after texts that look as if one were open": 'x = ["""a"""", """\n", """]\n' + "a." * PARTS + 'a = """ " """\n',
    "after a single text that ends in a quote": "x = ['''a'''', '''\n', ''']\n" + "a." * PARTS + "a = ''' ' '''\n",
    "after an escaped quote": 'x = "\\""\n' + "a." * PARTS + 'a = "\\""\n',
    "tables in tables": "x = " + "{ a = " * 80 + "1" + " }" * 80 + "\n",
    "lists in lists": "x = " + "[" * 80 + "]" * 80 + "\n",
    "sections of parts that are short enough": "[" + "a." * 40 + "a]\n" + "a." * 40 + "a = 1\n",
}
SHALLOW = {
    "points in texts": f'x = "{"a." * PARTS}"\ny = """\n{"a." * PARTS}\n"""\nz = \'{"a." * PARTS}\'\n',
    "points in a comment": f"# {'a.' * PARTS}\nx = 1\n",
    "a long name": f"{'a' * 100_000} = 1\n",
    "many keys": "".join(f"a{number}.b = 1\n" for number in range(PARTS)),
    "numbers and dates": "x = [" + "1.5, " * PARTS + "1979-05-27T07:32:00.999]\n",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_is_nested_without_need_is_refused(kind):
    with pytest.raises(AgreementError) as refused:
        content_from_text(DEEP[kind], "the draft")
    assert refused.value.problems == (TOO_DEEP,)


@pytest.mark.parametrize("kind", SHALLOW)
def test_what_only_looks_nested_is_read(kind):
    assert content_from_text(SHALLOW[kind], "the draft")


def test_a_long_key_costs_no_more_memory_than_its_text():
    """One of 83 KB took 9 GiB."""
    text = "a." * 41_000 + "a = 1\n"
    tracemalloc.start()
    try:
        with pytest.raises(AgreementError):
            content_from_text(text, "the draft")
        assert tracemalloc.get_traced_memory()[1] < 20 * len(text)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["a dotted key", "tables in tables", "lists in lists"])
def test_a_deep_draft_is_a_clear_error_to_whoever_merges_it_and_on_the_page(kind, tmp_path: Path):
    mine = example_agreement()
    (tmp_path / "agreement.toml").write_text(mine)
    (tmp_path / "theirs.toml").write_text(mine + DEEP[kind])
    command = ["merge", str(tmp_path / "agreement.toml"), str(tmp_path / "theirs.toml"), "--out", str(tmp_path / "new")]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, AgreementError) and TOO_DEEP in str(done.exception)
    browser = entered(tmp_path)
    answer = browser.submit("/draft/merge", files={"theirs": ("theirs.toml", mine + DEEP[kind])})
    assert answer.status_code == 422 and TOO_DEEP in answer.text


@pytest.mark.parametrize("parts", [500, 20_000])
def test_a_choice_at_a_place_that_is_not_there_changes_nothing(parts, tmp_path: Path):
    (tmp_path / "agreement.toml").write_text(example_agreement())
    fields = {"theirs_text": example_agreement(), f"choice {json.dumps(['a'] * parts)}": "theirs", "act": "choose"}
    assert entered(tmp_path).submit("/draft/merge", fields).status_code in (200, 422)
