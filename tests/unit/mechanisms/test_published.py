"""Axes and measurements against loops over codes, and what is refused when a plug-in registers or a release loads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.domain import CodeRange, Domain
from copublish.agreement.settings import MechanismSettings
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import Law
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.published import Axis, Cells, Measured, Position, Scores, Words, generalized_runs
from copublish.mechanisms.registry import _incomplete, mechanism_names, register
from copublish.release.evidence.signatures import digests_of
from support import fragment_frames, random_table, seeded, simulate_with, small_mapping
from support.published import category, entry_of, gaussian, laplace, numbers, published, summed

JOB, SEX = category("job", "cook", "clerk", "vet"), category("sex", "f", "m")
AGE, PAY = numbers("age", 0, 10, 20, 50, 90, missing=True), numbers("pay", 0, 1, 5, 20)
DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (JOB, SEX, AGE, PAY)}

AXES = [
    Cells(column="job"),
    Cells(column="age"),
    Cells(column="job", runs=((0, 1), (1, 3))),
    Cells(column="age", runs=((0, 2), (2, 5))),  # the last run holds the missing ones, too
    Cells(column="pay", runs=((0, 3),)),
    Scores(column="job", scores=(-3, 0, 7)),
    Scores(column="age", scores=(1, 2, 3, 4, 0)),
    *(Position(column=name, parts=parts) for name in ("age", "pay") for parts in (2, 4, 6, 64)),
    *(Position(column=name, parts=parts, power=2) for name in ("age", "pay") for parts in (2, 64)),
]


def by_code(axis: Axis) -> list[list[int]]:
    """What each code counts as, one code after the other."""
    domain = DOMAINS[axis.column]
    return [entry_of(axis, domain, code) for code in range(domain.size)]


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_each_code_counts_in_each_entry_of_an_axis_as_the_axis_says(axis: Axis) -> None:
    assert axis.entries(DOMAINS[axis.column]).T.tolist() == by_code(axis)


def test_entries_of_another_axis_are_noticed() -> None:
    """The comparison above can fail: no two of the axes of a column have the same entries."""
    told = [(axis.column, str(axis.entries(DOMAINS[axis.column]).tolist())) for axis in AXES]
    assert len(set(told)) == len(told)


def test_places_of_a_grid_go_from_end_to_end_and_halves_up() -> None:
    """Of five cells and six parts the way is -3, -1.5, 0, 1.5, 3."""
    grid = numbers("x", 0, 1, 2, 3, 4, 5, missing=True)
    assert Position(column="x", parts=6).entries(grid).tolist() == [[-3, -1, 0, 2, 3, 0]]
    assert Position(column="x", parts=6, power=2).entries(grid).tolist() == [[9, 1, 0, 4, 9, 0]]


def test_labels_of_runs_are_those_of_the_domain() -> None:
    assert Cells(column="age").labels(AGE) == tuple(AGE.label((code, code + 1)) for code in range(5))
    assert Cells(column="job", runs=((0, 2), (2, 3))).labels(JOB) == ("cook or clerk", "vet")


def test_a_measurement_is_summed_over_its_axes_in_their_order() -> None:
    """The product of entries, the last axis fastest, against a loop over people."""
    generator = np.random.default_rng(1)
    people = [{name: int(generator.integers(d.size)) for name, d in DOMAINS.items()} for _ in range(60)]
    axes = (Cells(column="job"), Position(column="pay", parts=4), Cells(column="age", runs=((0, 2), (2, 5))))
    table = summed(axes, DOMAINS, people, times=3)
    factors = [axis.entries(DOMAINS[axis.column])[:, [person[axis.column] for person in people]] for axis in axes]
    expected = 3 * np.einsum("ip,jp,kp->ijk", *factors)
    release = published(list(DOMAINS.values()), [table])
    assert table.shape(release.columns) == expected.shape == (3, 1, 2)
    assert table.values.tolist() == expected.ravel().tolist()
    assert table.columns == ("job", "pay", "age") and table.cells is None and release.tables == ()


def test_only_axes_of_cells_make_a_table() -> None:
    assert measured(Cells(column="sex"), Cells(column="job")).cells == (Cells(column="sex"), Cells(column="job"))
    assert measured(Cells(column="sex"), Scores(column="job", scores=(1, 2, 3))).cells is None
    assert measured().cells is None  # the number of people


def test_the_error_of_a_value_is_that_of_its_law_in_points_by_what_it_was_multiplied_with() -> None:
    plain = measured(Cells(column="sex"), noise=laplace(2.0))
    assert plain.within_95_percent == 6  # 2 ln 20 = 5.99, and noise is a whole number
    weighted = replace(plain, points=64, times=4)
    assert weighted.within_95_percent == 6 * 64 / 4


def measured(*axes: Axis, **others: Any) -> Measured:
    """A measurement whose values fit its axes."""
    size = int(np.prod([len(entry_of(axis, DOMAINS[axis.column], 0)) for axis in axes]))
    known = {"place": Place("tables"), "values": np.arange(size), "noise": gaussian(1.0)}
    return Measured(axes=axes, **(known | others))


WRONG: dict[str, tuple[Measured, str]] = {
    "unknown column": (
        replace(measured(), axes=(Cells(column="town"),)),
        "has the column 'town', which was not published",
    ),
    "column twice": (
        measured(Cells(column="job"), Cells(column="sex"), Scores(column="sex", scores=(0, 1))),
        "has the column 'sex' twice",
    ),
    "no points": (measured(points=0), "at least 1"),
    "no weight": (measured(times=0), "at least 1"),
    "too few values": (
        measured(Cells(column="job"), Cells(column="sex"), values=np.arange(5)),
        r"\(job by sex\) have 6 entries, and it has 5 values",
    ),
    "no number of people": (measured(values=np.arange(0)), r"\(people\) have 1 entries, and it has 0 values"),
    "values as a table": (measured(Cells(column="sex"), values=np.ones((1, 2))), "have 2 entries"),
    "values left out": (measured(Cells(column="job", runs=((0, 1), (1, 2))), values=np.arange(2)), "all of its values"),
    "values twice": (measured(Cells(column="job", runs=((0, 2), (1, 3))), values=np.arange(2)), "all of its values"),
    "run without values": (measured(Cells(column="sex", runs=((0, 0), (0, 2)))), "stands for none"),
    "no run": (measured(Cells(column="sex", runs=()), values=np.arange(0)), "all of its values"),
    "scores of another column": (measured(Scores(column="job", scores=(1, 2))), "not those of its 3 values"),
    "position of a category": (
        replace(measured(), axes=(Position(column="job", parts=4),)),
        "'job' has a position and holds no numbers",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_axes_that_do_not_fit_columns_or_values_are_refused(case: str) -> None:
    wrong, why = WRONG[case]
    with pytest.raises(ValueError, match=why):
        published(list(DOMAINS.values()), [wrong])


def test_a_position_in_a_grid_of_one_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="'x' has a position and is published as one cell"):
        Position(column="x", parts=4).entries(numbers("x", 0, 5))


def test_what_fits_is_not_refused() -> None:
    fitting = [measured(), *(measured(axis) for axis in AXES if axis.column != "sex")]
    for each in fitting:
        each.check(published(list(DOMAINS.values()), []).columns)


# --- Generalized runs ------------------------------------------------------------------------------------------------

RUNS: tuple[CodeRange, ...] = ((0, 1), (1, 3))


def test_generalized_columns_are_those_with_runs_on_a_table_that_steered_nothing() -> None:
    table, other = measured(Cells(column="job", runs=RUNS), Cells(column="sex")), measured(Cells(column="age"))
    release = published(list(DOMAINS.values()), [table, other])
    assert release.generalized == {"job": RUNS}
    steered = published(list(DOMAINS.values()), [replace(table, steered=True), other])
    assert steered.generalized == {}


def test_a_column_has_one_division_of_its_values() -> None:
    """Two would have cells that no reader could put together."""
    columns = published(list(DOMAINS.values()), []).columns
    axes = [Cells(column="job", runs=RUNS), Cells(column="job", runs=((0, 2), (2, 3)))]
    with pytest.raises(ValueError, match="'job' are divided in two ways"):
        generalized_runs(axes, columns)
    with pytest.raises(ValueError, match="'job' are divided in two ways"):
        published(list(DOMAINS.values()), [measured(axis) for axis in (axes[0], Cells(column="job"))])


# --- What is refused when a plug-in registers ------------------------------------------------------------------------


class NeverRegistered(MechanismSettings):
    name: Literal["never-registered"]


WORDS = Words(title="Counts", kind="counted", made="They were counted.", kept="All of it.", lost="Nothing.")


def a_plug_in(**members: object) -> Any:
    """A mechanism of another package with all that it needs, but for the members that are given; none is left out."""
    made = {
        "settings": NeverRegistered,
        "version": 1,
        "words": WORDS,
        "plan": lambda self, agreement: None,
        "publish": lambda self, result, noise_at: None,
    }
    given = {name: member for name, member in (made | members).items() if member is not None}
    return type("Plugged", (Mechanism,), given)()


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"words": None}, "its class lacks 'words'"),
        ({"words": {"title": "Counts"}}, "'words' has to be an object of copublish.mechanisms.published.Words"),
        ({"words": replace(WORDS, lost=" ")}, "'words' has to say something in 'lost'"),
        ({"model": dict}, "'model' has to be a class that derives from"),
    ],
    ids=["no words", "words as a mapping", "empty words", "no model"],
)
def test_a_plug_in_that_cannot_be_shown_is_refused_when_it_registers(members: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError) as caught:
        register(a_plug_in(**members))
    said = str(caught.value)
    assert said.startswith("Plugged cannot be registered: ") and why in said
    assert said.endswith("Change the class and register it again; until then no agreement can name it")
    assert "never-registered" not in mechanism_names()


def test_a_plug_in_with_words_is_incomplete_in_nothing() -> None:
    """So each refusal above is about the member that was changed."""
    assert _incomplete(a_plug_in()) == []


def test_words_have_one_of_three_kinds() -> None:
    with pytest.raises(ValueError, match="'counted', 'synthetic' or 'perturbed'"):
        Words(title="Counts", kind="exact", made="a", kept="b", lost="c")  # type: ignore[arg-type]


# --- What is refused when a release loads ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The files of releases without signatures: one of tables, one of sums as well, and one of perturbed rows."""
    made = {}
    for name, changes in {
        "copula": {},
        "specialization": {"mechanism.specializations": 3},
        "vhdp": {"records.public": True, "privacy.neighbors": "replace"},
    }.items():
        agreement = cp.agreement_from_mapping(small_mapping(**{"mechanism": {"name": name}} | changes))
        generator = np.random.default_rng(3)
        frames = fragment_frames(agreement, random_table(agreement, 60, generator), generator)
        made[name] = simulate_with(agreement, frames, seeded(agreement.party_names, 1)).files()
    return made


def written(folder: Path, files: dict[str, bytes], change: Callable[[Any], None]) -> Path:
    """A folder whose measurements were changed, with the digests of its certificate made to fit."""
    described = json.loads(files["measurements.json"])
    change(described)
    files = {**files, "measurements.json": json.dumps(described).encode()}
    certificate = json.loads(files["certificate.json"])
    certificate["files"] = {name: digests_of(files)[name] for name in certificate["files"]}
    files["certificate.json"] = json.dumps(certificate).encode()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def with_sum(described: Any) -> Any:
    """The first measurement that is no table."""
    return next(own for own in described["measured"] if "values" in own)


def scaled(noise: Any) -> None:
    noise["scale_in_people"] *= 0.5


REFUSED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "no place": ("copula", lambda d: d["measured"][0].pop("place"), "measured.0.place: field required"),
    "place that was not opened": (
        "copula",
        lambda d: d["measured"][0]["place"].update(step="elsewhere"),
        "has 0 disclosures at one place (step 'elsewhere'",
    ),
    "axis of too few scores": (
        "copula",
        lambda d: with_sum(d)["axes"][0].update(scores=[1]),
        "are not those of its",
    ),
    "axis of another column": ("copula", lambda d: with_sum(d)["axes"][0].update(column="town"), "'town', which was"),
    "too few values": ("copula", lambda d: with_sum(d)["values"].pop(), "have 1 entries, and it has 0 values"),
    "too few entries": (
        "copula",
        lambda d: d["measured"][0].update(entries=3),
        "does not have the columns and rows of its measurement",
    ),
    "runs that leave values out": (
        "specialization",
        lambda d: d["measured"][-1]["axes"][0].update(runs=[[0, 1]]),
        "do not stand for all of its values",
    ),
    "name of another table": ("copula", lambda d: d["measured"][0].update(table="002-region"), "has another name"),
    "table that is none": ("copula", lambda d: d["measured"][0].update(axes=[]), "has another name"),
    "half of the noise": (
        "copula",
        lambda d: scaled(d["measured"][0]["noise"]),
        "is not the one that the certificate states",
    ),
    "another law": (
        "copula",
        lambda d: with_sum(d)["noise"].update(law=str(Law.GAUSSIAN)),
        "is not the one that the certificate states",
    ),
    "half of the noise of rows": (
        "vhdp",
        lambda d: d["noise_of_rows"]["age"].update(scale_in_own_unit=0.5),
        "is not the one that the certificate states",
    ),
    "no noise of rows": ("vhdp", lambda d: d.pop("noise_of_rows"), "is not the one that the certificate states"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_that_contradicts_itself_is_refused_when_it_loads(folders, tmp_path: Path, case: str) -> None:
    mechanism, change, why = REFUSED[case]
    with pytest.raises(cp.ReleaseError) as caught:
        cp.load_release(written(tmp_path / "release", folders[mechanism], change))
    said = str(caught.value)
    assert why in said and "holds something else than the release its certificate is about" in said
    assert said.endswith("Do not rely on it: ask a party for its copy.")


@pytest.mark.parametrize("mechanism", ["copula", "specialization", "vhdp"])
def test_the_same_folder_without_a_change_loads_with_the_values_that_were_opened(
    folders, tmp_path: Path, mechanism: str
) -> None:
    release = cp.load_release(written(tmp_path / "release", folders[mechanism], lambda described: None))
    opened = sum(made.values_opened or 0 for made in release.certificate.disclosures if made.kind == "measure")
    assert sum(own.values.size for own in release.published.measured) == opened
