"""Proofs and code in step: what docs/proofs speaks of is what is there, and nothing that needs a proof has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import proofs
from support.proofs import Proof, changed, documents, fingerprint, index_of, missing_tests, read, to_be_proved

ALL = [read(path) for path in documents()]


@pytest.mark.parametrize("proof", ALL, ids=lambda proof: proof.name)
def test_what_was_proved_is_what_is_there(proof: Proof) -> None:
    assert changed(proof) == []


@pytest.mark.parametrize("proof", ALL, ids=lambda proof: proof.name)
def test_the_tests_that_a_proof_names_are_there(proof: Proof) -> None:
    assert missing_tests(proof) == []


def test_every_price_and_every_sensitivity_has_a_proof() -> None:
    proved = {name for proof in ALL for name in proof.proved}
    assert sorted(to_be_proved() - proved) == []


def test_the_index_lists_every_proof() -> None:
    assert (proofs.FOLDER / "README.md").read_text().partition(proofs.INDEX)[2] == index_of(ALL)


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_a_proof_says_what_holds_why_and_where_code_relies_on_it(path: Path) -> None:
    headings = re.findall(r"^## (.*)$", path.read_text(), re.M)
    assert headings[:1] == ["Statement"] and {"Proof", "Where the code relies on it"} <= set(headings)


# --- The checks can fail ---

MODULE = '''"""A module."""

RANGE: Influence = {"add-remove": 1, "replace": 2}
"""Words about it."""

class Counts:
    def disclosure(self):
        """What it is."""
        return Measure(l1_sensitivity=RANGE)  # a comment

    def other(self):
        return 1
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "copublish").mkdir()
    write(tmp_path, MODULE)
    return tmp_path


def write(source: Path, text: str) -> None:
    (source / "copublish" / "counts.py").write_text(text)
    proofs._without_words.cache_clear()


def proof_of(source: Path, *names: str) -> Proof:
    return Proof("counts", "Counts.", {name: fingerprint(name, source) for name in names}, ())


def test_words_and_layout_change_nothing_and_code_does(source: Path) -> None:
    proof = proof_of(source, "copublish.counts:Counts.disclosure", "copublish.counts:RANGE")
    assert changed(proof, source) == []
    write(source, MODULE.replace("What it is.", "Else.").replace("  # a comment", "").replace("about it", ""))
    assert changed(proof, source) == []
    write(source, MODULE.replace("l1_sensitivity=RANGE", "l1_sensitivity=OTHER"))
    (problem,) = changed(proof, source)
    assert "Counts.disclosure changed since its proof was read: read docs/proofs/counts.md again" in problem
    write(source, MODULE.replace('"replace": 2', '"replace": 1'))
    assert ["RANGE changed" in problem for problem in changed(proof, source)] == [True]


def test_what_is_gone_is_noticed(source: Path) -> None:
    proof = proof_of(source, "copublish.counts:Counts.disclosure")
    write(source, MODULE.replace("disclosure", "renamed"))
    assert changed(proof, source) == [
        "docs/proofs/counts.md speaks of copublish.counts:Counts.disclosure, but there is no Counts.disclosure in "
        "copublish.counts"
    ]
    (source / "copublish" / "counts.py").unlink()
    assert "there is no module copublish.counts" in changed(proof, source)[0]


def test_a_sensitivity_without_a_proof_is_noticed(source: Path) -> None:
    assert to_be_proved(source) == {"copublish.counts:Counts.disclosure", "copublish.counts:RANGE"}


def test_prices_of_the_package_are_among_what_needs_a_proof() -> None:
    """What the search finds, against some names by hand, one of every kind that it looks for."""
    assert to_be_proved() > {
        "copublish.kernel.accounting.disclosures:HISTOGRAM_L1",
        "copublish.kernel.accounting.perturbations:PerturbNumber.delta",
        "copublish.kernel.accounting.concentrated:RhoFilter.let_pass",
        "copublish.mechanisms.copula.plan:products_l1",
        "copublish.mechanisms.specialization.score:MAX",
        "copublish.mechanisms.marginals.measurements:Measurements.choice",
    }


def test_a_test_that_is_gone_is_noticed() -> None:
    here = "tests/docs/test_proofs.py::test_a_test_that_is_gone_is_noticed"
    proof = Proof("counts", "Counts.", {}, (here, f"{here}_not", "tests/docs/test_nothing.py::test_it"))
    assert missing_tests(proof) == [f"{here}_not", "tests/docs/test_nothing.py::test_it"]


def test_an_update_writes_the_new_fingerprints_and_nothing_else(source: Path) -> None:
    page = source / "counts.md"
    name = "copublish.counts:Counts.disclosure"
    page.write_text(f"---\nstatement: Counts.\nproves:\n- {name} 0\nchecked-by:\n- a::b\n---\n# Counts\n- {name}: x\n")
    assert len(changed(read(page), source)) == 1
    before = page.read_text()
    proofs.update(page, source)
    assert changed(read(page), source) == []
    assert page.read_text() == before.replace(f"- {name} 0\n", f"- {name} {fingerprint(name, source)}\n")


def test_a_document_without_a_block_in_front_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "bare.md"
    page.write_text("# A proof\n")
    with pytest.raises(ValueError, match=r"bare\.md has no block"):
        read(page)
