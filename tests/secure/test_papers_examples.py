"""The example tables of DistDiffGen and ArbDistDP on the secure engine, without noise: their cuts and their counts.

Both tables have ten people. The first is divided by columns, the second by cells, as its paper underlines them.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import copublish as cp
from support import no_noise, simulate_with
from support.releases import leaf_counts
from support.spu import PARTIES, Pair


@pytest.fixture(scope="module")
def pair():
    with Pair() as both:
        yield both


def mapping(partition: str, classes: list[str], attributes: dict[str, Any], specializations: int) -> dict[str, Any]:
    return {
        "format": 1,
        "name": "example",
        "dataset": "example",
        "partition": partition,
        "parties": {party: {} for party in PARTIES},
        "records": {"identifier": "id", "expected": 10},
        "class": {"name": "class", "values": classes},
        "attributes": attributes,
        "privacy": {"epsilon": 1},
        "mechanism": {
            "name": "specialization",
            "specializations": specializations,
            "score": "max",
            "max_cells": 64,
        },
    }


DISTDIFFGEN_JOBS = ["Writer", "Dancer", "Writer", "Dancer", *["Engineer"] * 3, "Dancer", "Lawyer", "Lawyer"]
DISTDIFFGEN = pd.DataFrame(
    {
        "id": [str(number) for number in range(1, 11)],
        "class": list("NNYNYYYNYY"),
        "job": DISTDIFFGEN_JOBS,
        "sex": ["Male"] * 3 + ["Female"] * 3 + ["Male", "Female", "Male", "Female"],
        "salary": [30, 25, 35, 37, 65, 35, 30, 44, 44, 44],
    }
)
"""DistDiffGen's Table 1."""

DISTDIFFGEN_MAPPING = mapping(
    "vertical",
    ["N", "Y"],
    {
        "job": {
            "kind": "categorical",
            "taxonomy": {
                "Any_Job": {"Professional": {"Engineer": {}, "Lawyer": {}}, "Artist": {"Dancer": {}, "Writer": {}}}
            },
            "held_by": "p0",
            "missing": "Writer",
            "unlisted": "Writer",
        },
        "sex": {
            "kind": "categorical",
            "taxonomy": {"Any_Sex": {"Male": {}, "Female": {}}},
            "held_by": "p1",
            "missing": "Male",
            "unlisted": "Male",
        },
        "salary": {"kind": "numerical", "bounds": [18, 99], "grid": {"edges": [90]}, "held_by": "p1", "missing": 18},
    },
    2,
)

P1, P2 = 0, 1
JOBS = ["Teacher", "Clerk", "Doctor", "Teacher", "Clerk", "Teacher", "Cook", "Clerk", "Doctor", "Cook"]
JOB_HOLDERS = [P1, P2, P2, P1, P1, P2, P1, P2, P2, P2]
AGES = [35, 25, 36, 26, 25, 29, 38, 23, 38, 37]
AGE_HOLDERS = [P2, P1, P1, P2, P2, P1, P2, P1, P1, P1]
"""ArbDistDP's Table 1, and who holds each of its cells."""

ARBDISTDP_MAPPING = mapping(
    "arbitrary",
    ["N", "Y"],
    {
        "job": {
            "kind": "categorical",
            "taxonomy": {
                "ANY_JOB": {"Professional": {"Doctor": {}, "Teacher": {}}, "Worker": {"Clerk": {}, "Cook": {}}}
            },
            "missing": "Clerk",
            "unlisted": "Clerk",
        },
        "age": {"kind": "numerical", "bounds": [1, 99], "grid": {"edges": [26]}, "missing": 1},
    },
    2,
)


def arbitrary_frames() -> dict[str, pd.DataFrame]:
    """What each party of ArbDistDP's Table 1 holds; both have the class."""
    frames = {}
    for number, party in enumerate(PARTIES):
        jobs = [job if holder == number else None for job, holder in zip(JOBS, JOB_HOLDERS, strict=True)]
        ages = pd.array([age if h == number else None for age, h in zip(AGES, AGE_HOLDERS, strict=True)], dtype="Int64")
        ids = [str(row) for row in range(1, 11)]
        frames[party] = pd.DataFrame({"id": ids, "job": jobs, "age": ages, "class": list("YNYNNYYNYY")})
    return frames


def vertical_frames() -> dict[str, pd.DataFrame]:
    return {"p0": DISTDIFFGEN[["id", "job", "class"]], "p1": DISTDIFFGEN[["id", "sex", "salary", "class"]]}


def counts_without_noise(pair: Pair, content: dict[str, Any], frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The counts that both parties publish, after comparing them with those of the ideal engine."""
    agreement = cp.agreement_from_mapping(content)
    one, other = pair.publish(agreement, frames, no_noise(agreement.party_names))
    ideal = simulate_with(agreement, frames, no_noise(agreement.party_names))
    assert one.files() == other.files()
    assert one.data_files() == ideal.data_files()
    return leaf_counts(one).astype({"class": str})


def test_distdiffgens_table_1_is_cut_as_its_figure_2_and_has_its_counts(pair) -> None:
    """Example 4: Any_Job first, then Any_Sex, and salary stays whole. Example 5: two male professionals."""
    counts = counts_without_noise(pair, DISTDIFFGEN_MAPPING, vertical_frames())
    assert set(counts["job"]) == {"Professional", "Artist"}
    assert set(counts["sex"]) == {"Male", "Female"}
    assert len(set(counts["salary"])) == 1
    men = counts[(counts["job"] == "Professional") & (counts["sex"] == "Male")]
    assert men["count"].sum() == 2
    professional = DISTDIFFGEN["job"].isin(["Engineer", "Lawyer"])
    for (is_professional, sex, label), number in DISTDIFFGEN.groupby([professional, "sex", "class"]).size().items():
        job = "Professional" if is_professional else "Artist"
        row = counts[(counts["job"] == job) & (counts["sex"] == sex) & (counts["class"] == label)]
        assert row["count"].tolist() == [number]
    assert counts["count"].sum() == 10


def test_arbdistdps_table_1_is_cut_as_its_figure_2_and_has_its_counts(pair) -> None:
    """Example 2: four leaves, each cell at the party that the paper says. Example 7: two workers from 26 on."""
    counts = counts_without_noise(pair, ARBDISTDP_MAPPING, arbitrary_frames())
    assert set(counts["job"]) == {"Professional", "Worker"}
    assert set(counts["age"]) == {"[1, 26)", "[26, 99]"}
    workers = counts[(counts["job"] == "Worker") & (counts["age"] == "[26, 99]")]
    assert workers["count"].sum() == 2
    for number, (job, age, label) in enumerate(zip(JOBS, AGES, "YNYNNYYNYY", strict=True)):
        group = "Worker" if job in ("Clerk", "Cook") else "Professional"
        older = "[26, 99]" if age >= 26 else "[1, 26)"
        row = counts[(counts["job"] == group) & (counts["age"] == older) & (counts["class"] == label)]
        assert row["count"].item() >= 1, number
    assert counts["count"].sum() == 10


def test_each_cell_of_arbdistdps_table_is_at_one_party() -> None:
    frames = arbitrary_frames()
    for column in ("job", "age"):
        held = [frames[party][column].notna() for party in PARTIES]
        assert (held[0] ^ held[1]).all()
