"""Whoever has other names, units and spellings takes part in the same release, and the others see the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.rows.mapping import read_mapping
from copublish.rows.sources import PartyData
from support import random_table, repartition, seeded, simulate_with, small_mapping

MAPPING = """\
[columns]
id = { column = "Kundennr" }
job = { column = "BERUF", values = { "01" = "cook", "02" = "clerk", "03" = "driver", "04" = "surgeon", "05" = "vet" } }
income = { column = "Einkommen (Cent)", factor = 0.01, missing_spellings = ["-1"] }
default = { column = "Ausfall", values = { "1" = "yes", "0" = "no" } }
"""
JOBS = {"cook": "01", "clerk": "02", "driver": "03", "surgeon": "04", "vet": "05"}


@pytest.fixture
def agreed() -> cp.Agreement:
    return cp.agreement_from_mapping(repartition(small_mapping(), "horizontal"))


def tables(agreement: cp.Agreement) -> dict[str, pd.DataFrame]:
    table = random_table(agreement, 200, np.random.default_rng(3))
    return {"p0": table[:120].reset_index(drop=True), "p1": table[120:].reset_index(drop=True)}


def as_the_bank_has_it(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Kundennr": frame["id"],
            "AGE": frame["age"],
            "Region": frame["region"],
            "BERUF": frame["job"].map(JOBS),
            "Einkommen (Cent)": frame["income"] * 100,
            "Ausfall": frame["default"].map({"no": 0, "yes": 1}),
            "notes": "secret",
        }
    )


def own(folder: Path) -> Path:
    path = folder / "my-columns.toml"
    path.write_text(MAPPING + 'age = { column = "AGE" }\nregion = { column = "Region" }\n')
    return path


def test_a_release_from_own_columns_is_the_release_from_agreed_ones(agreed: cp.Agreement, tmp_path: Path) -> None:
    frames = tables(agreed)
    wanted = simulate_with(agreed, frames, seeded(agreed.party_names, 5))
    mapped = PartyData(as_the_bank_has_it(frames["p0"]), mapping=read_mapping(own(tmp_path)))
    found = simulate_with(agreed, {**frames, "p0": mapped}, seeded(agreed.party_names, 5))
    assert found.files() == wanted.files()
    words = b"".join(found.files().values())
    assert not [word for word in ("BERUF", "Kundennr", "(Cent)", "my-columns") if word.encode() in words]


def test_with_a_wrong_unit_it_is_another_one(agreed: cp.Agreement, tmp_path: Path) -> None:
    frames = tables(agreed)
    path = own(tmp_path)
    path.write_text(path.read_text().replace("0.01", "0.1"))
    mapped = PartyData(as_the_bank_has_it(frames["p0"]), mapping=read_mapping(path))
    found = simulate_with(agreed, {**frames, "p0": mapped}, seeded(agreed.party_names, 5))
    assert found.files() != simulate_with(agreed, frames, seeded(agreed.party_names, 5)).files()


def test_check_and_simulate_take_the_file(agreed: cp.Agreement, tmp_path: Path) -> None:
    frames, path = tables(agreed), own(tmp_path)
    as_own = as_the_bank_has_it(frames["p0"])
    checked = cp.check(agreed, "p0", as_own, columns=path)
    assert checked.ok and checked.records == 120 and checked.rules == cp.check(agreed, "p0", frames["p0"]).rules
    assert not cp.check(agreed, "p0", as_own).ok
    release = cp.simulate(agreed, {**frames, "p0": as_own}, columns={"p0": path})
    assert release.certificate.agreement_hash == agreed.hash
    with pytest.raises(cp.CopublishError, match="mapping of columns for 'p2'"):
        cp.simulate(agreed, frames, columns={"p2": path})


@pytest.mark.slow
def test_processes_of_their_own_read_it_too(tmp_path: Path) -> None:
    agreement = cp.agreement_from_mapping(
        {
            **repartition(small_mapping(), "horizontal", 3),
            "engine": {"name": "masked-sum"},
            "mechanism": {"name": "hpdp"},
        }
    )
    table = random_table(agreement, 90, np.random.default_rng(3))
    frames = {f"p{n}": table[30 * n : 30 * n + 30].reset_index(drop=True) for n in range(3)}
    sources = {**frames, "p0": as_the_bank_has_it(frames["p0"])}
    release = cp.simulate(agreement, sources, columns={"p0": own(tmp_path)}, engine="masked-sum")
    assert release.certificate.agreement_hash == agreement.hash
