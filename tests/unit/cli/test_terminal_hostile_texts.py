"""Texts of agreements and releases reach a terminal as they are: no markup, no emoji, and controls are refused."""

from __future__ import annotations

import copy
import hashlib
import io
import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import copublish as cp
from copublish.cli.evaluate_command import print_scores
from copublish.cli.plan_command import print_plan
from copublish.cli.run_command import _ask_consent
from copublish.cli.show_command import print_release
from copublish.cli.terminal import error, note, progress_bars, results_console, warn_first
from copublish.errors import is_unsafe, unsafe_texts, visible
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.ledger.limits import Limit
from copublish.mechanisms.registry import plan_of
from support import fragment_frames, random_table, seeded, simulate_with, small_mapping
from support.commands import run
from support.profiles import examples

HOSTILE = ["[/nope]", "[bold]", "[link=x]", "a\\", "\\[/b]", "[/]", ":smile:", "[[x]]", "[@click=f]", "{0}", "%s"]

UNSAFE = ["\x1b[2J", "a\rb", "a\nb", "\x07", "\x9b", "\u202ex", "\u2066x", "\x7f"]

texts = st.text(alphabet="[]/\\=:@!abk{}%", min_size=1, max_size=8)

SOME = examples(20)


def hostile(text: str, **changes: Any) -> cp.Agreement:
    """An agreement with a text as a column's name, as values, as the class and in descriptions."""
    mapping = small_mapping(description=f"about {text}", **changes)
    mapping["parties"]["bank"]["description"] = text
    mapping["attributes"][f"n{text}"] = {"kind": "categorical", "values": [text, "other"], "held_by": "bank"}
    mapping["attributes"].pop("job")
    mapping["class"] = {"name": f"c{text}", "values": [f"0{text}", f"1{text}"]}
    return cp.agreement_from_mapping(mapping)


def release_of(agreement: cp.Agreement, n: int = 120) -> tuple[cp.Release, Any]:
    generator = np.random.default_rng(3)
    table = random_table(agreement, n, generator)
    frames = fragment_frames(agreement, table, generator)
    return simulate_with(agreement, frames, seeded(agreement.party_names, 1)), table


def printed(show: Any) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        show()
    return out.getvalue()


@pytest.mark.slow
@SOME
@given(texts)
@example("[/nope]")
@example("a\\")
def test_describe_and_show_print_any_text_as_it_is(text):
    agreement = hostile(text, **{"mechanism.name": "specialization"})
    assert "Everything that is opened" in printed(lambda: results_console().print(cp.describe(agreement)))
    str(cp.describe(agreement))
    release, _ = release_of(agreement)
    said = printed(lambda: print_release(release, results_console(), rows=3))
    assert f"about {text}" in said
    assert f"0{text}" in said.replace("\n", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_show_prints_the_columns_of_records_as_they_are(text):
    mechanism = {"mechanism": {"name": "copula"}}
    release, _ = release_of(hostile(text, **mechanism))
    said = printed(lambda: print_release(release, results_console(), rows=9))
    assert f"n{text}" in said and f"about {text}" in said


@SOME
@given(texts)
@example("[/nope]")
def test_consent_shows_any_text_as_it_is(tmp_path_factory, text):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    ledger.set_limit("people", Limit(Fraction(5), "replace"))
    plan = plan_of(
        hostile(text, mechanism={"name": "vhdp"}, **{"privacy.neighbors": "replace", "records.public": True})
    )

    def ask() -> None:
        with suppress(cp.CopublishError):
            _ask_consent(plan, ledger, party="bank", file=Path("agreement.toml"), yes=False)

    assert f"n{text}" in printed(ask)
    ledger.close()


@pytest.mark.slow
def test_scores_and_plans_print_any_text_as_it_is():
    text = "[/nope]:smile:"
    agreement = hostile(text)
    release, table = release_of(agreement, 300)
    scores = cp.evaluate(release, table, classifiers=["decision-tree"]).to_dict()
    scores["classification"][0]["classifier"] = text
    for errors in scores["marginals"]["agreed_values"].values():
        errors["worst"] = [text, "[bold]"]
    said = printed(lambda: print_scores(scores, results_console()))
    assert said.count(text) >= 3 and "[bold]" in said
    planned = cp.plan(agreement, epsilons=["1"], runs=1, mechanisms=["copula"]).to_dict()
    planned["release"] = text
    for trial in planned["trials"]:
        trial.setdefault("noise", {"what": "", "value": 1.0})["what"] = text
    assert printed(lambda: print_plan(planned, results_console())).count(text) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[/nope]", "[bold]x", ":smile:"])
def test_a_ledger_shows_names_of_data_sets_as_they_are(tmp_path, text):
    assert text in run("ledger", "limit", f"{text}=1", "--ledger", tmp_path / "ledger.db").stdout


@pytest.mark.parametrize("text", HOSTILE)
def test_notes_errors_warnings_and_progress_print_any_text_as_it_is(text):
    def say() -> None:
        note(text)
        error(text)
        warn_first(text, results_console())
        with progress_bars() as tell:
            tell(text, 1, 2)

    assert printed(say).count(text) >= 3


@pytest.mark.parametrize("text", UNSAFE)
def test_notes_and_errors_spell_controls_out(text):
    for say in (note, error, lambda said: warn_first(said, results_console())):
        said = printed(lambda say=say: say(f"before {text} after"))
        assert not any(is_unsafe(character) for character in said.replace("\n", ""))


# --- Controls are refused where they are read ------------------------------------------------------------------------


def places(content: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every text in nested mappings and lists."""
    if isinstance(content, str):
        return [place]
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [found for key, item in items for found in places(item, (*place, key))]


def changed(content: Any, place: tuple[Any, ...], value: str) -> Any:
    content = copy.deepcopy(content)
    at = content
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return content


@pytest.mark.parametrize("text", UNSAFE)
def test_every_text_of_an_agreement_is_refused_with_its_place_and_without_the_control(text):
    mapping = small_mapping(description="x")
    mapping["parties"]["bank"]["description"] = "x"
    for place in places(mapping):
        with pytest.raises(cp.AgreementError) as refused:
            cp.agreement_from_mapping(changed(mapping, place, f"x{text}"))
        said = str(refused.value)
        assert not any(is_unsafe(character) for character in said.replace("\n", ""))
        assert str(place[0]) in said and "control character U+" in said


@pytest.mark.parametrize("text", UNSAFE)
def test_names_of_attributes_and_labels_of_taxonomy_files_are_refused_as_well(tmp_path, text):
    for mapping in (
        small_mapping(attributes={text: {"kind": "categorical", "values": ["a", "b"], "held_by": "bank"}}),
        small_mapping(**{"parties": {text: {}, "b": {}}}),
        small_mapping(**{"attributes.job.taxonomy": {"ANY": {f"a{text}b": {}, "b": {}}}}),
    ):
        with pytest.raises(cp.AgreementError, match="control character U"):
            cp.agreement_from_mapping(mapping)
    (tmp_path / "tree.json").write_text(json.dumps({"job": {"ANY": {f"a{text}b": {}, "b": {}}}}))
    (tmp_path / "other.json").write_text(json.dumps({text: {"ANY": {"a": {}, "b": {}}}}))
    with pytest.raises(cp.AgreementError, match="control character U"):
        cp.agreement_from_mapping(small_mapping(**{"attributes.job.taxonomy": "tree.json"}), folder=tmp_path)
    with pytest.raises(cp.AgreementError) as refused:
        cp.agreement_from_mapping(small_mapping(**{"attributes.job.taxonomy": "other.json"}), folder=tmp_path)
    assert not any(is_unsafe(character) for character in str(refused.value).replace("\n", ""))


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e", "\x9b", "\ud800"])
def test_every_text_of_a_certificate_of_measurements_and_of_a_model_is_refused(tmp_path, text):
    release, _ = release_of(hostile("x"))
    files = release.files()
    for name in ("certificate.json", "measurements.json", "model.json"):
        said = json.loads(files[name])
        for place in [place for place in places(said) if place[0] != "files"][::7]:
            folder = written(tmp_path, {**files, name: json.dumps(changed(said, place, f"x{text}")).encode()})
            with pytest.raises(cp.ReleaseError) as refused:
                cp.load_release(folder)
            assert not any(is_unsafe(character) for character in str(refused.value))


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """A release folder, with digests that go with its files."""
    said = json.loads(files["certificate.json"])
    for name in said["files"]:
        said["files"][name] = hashlib.sha256(files[name]).hexdigest()
    for name, content in {**files, "certificate.json": json.dumps(said).encode()}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@given(st.text())
def test_what_is_visible_has_no_control_and_other_texts_stay(text):
    shown = visible(text)
    assert not any(is_unsafe(character) for character in shown.replace("\n", ""))
    assert shown == text or any(is_unsafe(character) for character in text)
    assert bool(list(unsafe_texts({"a": [text]}))) == any(is_unsafe(character) for character in text)
