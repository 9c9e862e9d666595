"""Whole releases on the ideal engine: against plain pandas without noise, and everything that is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.errors import EngineError
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.marginals import run
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.publish import MarginalsModel
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.measurements import table_name
from support import (
    fragment_frames,
    mapping_by_default,
    no_noise,
    random_table,
    repartition,
    seeded,
    simulate_with,
    small_mapping,
    with_first_values,
)

N_RECORDS = 600


def agreement_with(partition: str = "horizontal", *, parties: int = 2, delta: str | None = None, **keys: Any):
    mapping = repartition(small_mapping(mechanism={"name": "marginals", **keys}), partition, parties)
    mapping["records"]["expected"] = 10 * N_RECORDS  # a public guess, so large that noise is small beside it
    mapping["privacy"]["epsilon"] = 2
    if delta is not None:
        mapping["privacy"]["delta"] = delta
    return cp.agreement_from_mapping(mapping)


def changed(**changes: Any) -> cp.Agreement:
    """An agreement with other keys, written as small_mapping takes them."""
    given = {"mechanism": {"name": "marginals"}, **changes}
    return cp.agreement_from_mapping(repartition(small_mapping(**given, **{"records.identifier": None}), "horizontal"))


def problems_of(**changes: Any) -> str:
    with pytest.raises(cp.AgreementError) as caught:
        changed(**changes)
    return "\n".join(caught.value.problems)


def people(agreement: cp.Agreement, seed: int = 5) -> pd.DataFrame:
    """Records in which region follows job, and the class follows income."""
    table = random_table(agreement, N_RECORDS, np.random.default_rng(seed))
    regions = list(agreement.columns["region"].values)
    jobs = list(agreement.columns["job"].values)
    table["region"] = [regions[jobs.index(job) % len(regions)] for job in table["job"]]
    return table


def released(agreement: cp.Agreement, table: pd.DataFrame, coins: Any = None) -> cp.Release:
    frames = fragment_frames(agreement, table, np.random.default_rng(1))
    return simulate_with(agreement, frames, coins or no_noise(agreement.party_names))


@pytest.fixture
def no_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coins cannot switch Gaussian noise off: with all of them alike no candidate is kept."""

    def draw(self: RevealGate, noise: Any, entries: int) -> Any:
        return [self.computer.share(np.zeros(entries, dtype=np.int64))], np.arange(entries)

    monkeypatch.setattr(RevealGate, "_draw_gaussian", draw)


def cells(agreement: cp.Agreement, table: pd.DataFrame) -> pd.DataFrame:
    """The label of each value's cell, by plain pandas."""
    found = {}
    for name, domain in agreement.columns.items():
        if name in ("age", "income"):
            edges = [float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)]
            codes = np.searchsorted(edges[1:-1], table[name].astype(float), side="right")
            found[name] = [domain.label((code, code + 1)) for code in codes]
        else:
            found[name] = table[name].astype(str)
    return pd.DataFrame(found)


@pytest.mark.usefixtures("no_gaussian_noise")
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize(
    ("partition", "parties"), [("horizontal", 2), ("horizontal", 4), ("vertical", 3), ("arbitrary", 2)]
)
def test_without_noise_measured_tables_are_those_of_pandas_however_records_are_divided(
    partition, parties, delta
) -> None:
    agreement = agreement_with(partition, parties=parties, delta=delta, rounds=3)
    table = people(agreement)
    release, labels = released(agreement, table), cells(agreement, table)
    assert len(release.tables) >= 5  # the first four, and at least one that was chosen
    for table_file in release.tables:
        rows = release.to_pandas(table_file)
        names = list(rows.columns[:2])
        expected = labels.groupby(names).size()
        for _, row in rows.iterrows():
            assert row["noisy_count"] == expected.get((row[names[0]], row[names[1]]), 0)


def test_the_first_round_chooses_the_pair_that_the_class_tables_get_most_wrong() -> None:
    agreement = agreement_with(rounds=1)
    model = released(agreement, people(agreement)).published.model
    assert isinstance(model, MarginalsModel)
    assert model.rounds == (("job", "region"),)


@pytest.mark.usefixtures("no_gaussian_noise")
def test_without_noise_records_have_the_measured_tables_up_to_rounding() -> None:
    agreement = agreement_with(rounds=3, delta="1e-6", records=N_RECORDS)
    table = people(agreement)
    release = released(agreement, table)
    real, drawn = cells(agreement, table), cells(agreement, release.to_pandas())
    assert len(drawn) == N_RECORDS
    for measured in release.published.tables:
        names = list(measured.columns)
        counts, expected = drawn.groupby(names).size(), real.groupby(names).size()
        # The model does not know that there was no noise, so it takes counts at their word up to that.
        assert counts.sub(expected, fill_value=0).abs().max() <= 2 * deviation_of(measured.noise)


def test_numbers_are_spread_evenly_inside_their_cells_and_whole_numbers_stay_whole() -> None:
    agreement = agreement_with(rounds=0, records=N_RECORDS)
    records = released(agreement, people(agreement)).to_pandas()
    assert pd.api.types.is_integer_dtype(records["age"])
    domain = agreement.columns["age"]
    edges = [int(domain.lower), *map(int, domain.thresholds), int(domain.upper) + 1]
    for low, high in pairwise(edges):
        inside = np.sort(records["age"][records["age"].between(low, high - 1)].to_numpy())
        places = (2 * np.arange(len(inside)) + 1) / (2 * len(inside))
        assert np.abs(inside - np.floor(low + (high - low) * places)).max() <= 0


def test_with_columns_first_every_column_is_measured_alone_and_the_class_is_one_of_them() -> None:
    agreement = agreement_with(rounds=2, first="columns")
    tables = released(agreement, people(agreement)).published.tables
    assert [table.columns for table in tables[:5]] == [(name,) for name in agreement.columns]
    assert all(len(table.columns) == 2 for table in tables[5:])


def test_triples_have_the_class_in_them() -> None:
    agreement = agreement_with(rounds=1, tables="class-triples")
    plan = plan_of(agreement)
    assert isinstance(plan, MarginalsPlan)
    assert all(table[-1] == 4 and len(table) == 3 for table in plan.candidates) and len(plan.candidates) == 6


def test_listed_tables_are_measured_and_none_is_chosen() -> None:
    agreement = agreement_with(tables=[["region", "job"], ["age", "income", "default"]])
    release = released(agreement, people(agreement))
    found = [table.columns for table in release.published.tables]
    # In agreed order; ("age", "default") and ("income", "default") are in the second one.
    assert found == [("job", "default"), ("region", "default"), ("job", "region"), ("age", "income", "default")]
    assert release.published.model.rounds == ()


@pytest.mark.slow
def test_listed_tables_run_on_masked_sums() -> None:
    mapping = repartition(
        small_mapping(mechanism={"name": "marginals", "tables": [["job", "region"]]}, **{"records.identifier": None}),
        "horizontal",
        3,
    )
    mapping["engine"] = {"name": "masked-sum"}
    agreement = cp.agreement_from_mapping(mapping)
    frames = fragment_frames(agreement, people(agreement), np.random.default_rng(1))
    release = cp.simulate(agreement, frames, engine="masked-sum")
    assert release.certificate.engine.name == "masked-sum"
    assert len(release.published.tables) == 5


def test_an_owner_without_records_takes_part() -> None:
    agreement = agreement_with(rounds=2)
    table = people(agreement)
    release = simulate_with(agreement, {"p0": table, "p1": table.iloc[:0]}, seeded(agreement.party_names, 3))
    assert release.to_pandas().shape[1] == 5


def test_no_records_at_all_give_a_release() -> None:
    agreement = agreement_with(rounds=2, delta="1e-6")
    release = released(agreement, people(agreement).iloc[:0], seeded(agreement.party_names, 3))
    assert release.published.model.estimated_records >= 1


def test_the_release_is_read_back_and_has_a_page(tmp_path) -> None:
    agreement = agreement_with(rounds=3, delta="1e-6")
    release = released(agreement, people(agreement), seeded(agreement.party_names, 3))
    release.write(tmp_path / "release")
    again = cp.load_release(tmp_path / "release")
    assert again.digest() == release.digest() and again.published.model == release.published.model
    page = cp.report(again).html
    assert "What was measured" in page and "<svg" in page and "all together cost 2" in page
    assert {"records.csv", "records.parquet", "measurements.json", "model.json", "measured"} <= {
        file.name for file in (tmp_path / "release").iterdir()
    }


def test_every_measured_table_has_a_file_with_its_columns_counts_and_error(tmp_path) -> None:
    agreement = agreement_with(rounds=2, tables="class-triples", delta="1e-6")
    release = released(agreement, people(agreement), seeded(agreement.party_names, 3))
    release.write(tmp_path / "release")
    files = sorted((tmp_path / "release" / "measured").glob("[0-9]*.csv"))
    tables = release.published.tables
    assert len(files) == len(tables) >= 5 and files[0].name == "001-job-by-default.csv"
    for file, table, name in zip(files, tables, release.tables, strict=True):
        found, rows = pd.read_csv(file), pd.read_parquet(file.with_suffix(".parquet"))
        assert file.stem == name
        assert list(found.columns) == list(rows.columns) == [*table.columns, "noisy_count", "within_95_percent"]
        assert found["noisy_count"].tolist() == rows["noisy_count"].tolist() == table.values.tolist()
        (disclosure,) = (own for own in release.certificate.disclosures if own.place == table.place)
        assert (found["within_95_percent"] == disclosure.noise.within_95_percent).all()
        domains = [agreement.columns[column] for column in table.columns]
        labels = [[domain.label((code, code + 1)) for code in range(domain.size)] for domain in domains]
        for frame in (found, rows):
            of_cells = frame[list(table.columns)].astype(str).itertuples(index=False, name=None)
            assert list(of_cells) == list(product(*labels))


@pytest.mark.parametrize("change", ["edit", "remove", "leave the folder"])
def test_a_table_in_the_folder_that_is_not_the_published_one_is_noticed(tmp_path, change) -> None:
    agreement = agreement_with(rounds=0)
    folder = released(agreement, people(agreement), seeded(agreement.party_names, 3)).write(tmp_path / "release")
    file = folder / "measured" / "001-job-by-default.csv"
    if change == "edit":
        file.write_text(file.read_text().replace("cook", "look"))
    elif change == "remove":
        file.unlink()
    else:
        file.rename(tmp_path / "elsewhere.csv")
        file.symlink_to(tmp_path / "elsewhere.csv")
    said = {"edit": "digest differs", "remove": "is missing", "leave the folder": "outside of the folder"}
    with pytest.raises(cp.ReleaseError, match=said[change]):
        cp.load_release(folder)


def test_names_of_files_are_ones_that_every_file_system_takes() -> None:
    assert table_name(7, ["../a b", "c/d"]) == "007-a-b-by-c-d"
    assert table_name(12, ["年齢"]) == "012"
    assert len(table_name(1, ["x" * 300])) < 100


@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("relation", NEIGHBORS)
def test_what_a_run_opened_costs_no_more_than_was_reserved(relation, delta) -> None:
    mapping = agreement_with(rounds=30, delta=delta).model_dump(by_alias=True)
    mapping["privacy"]["neighbors"] = relation
    agreement = cp.agreement_from_mapping(mapping)
    reserved = plan_of(agreement).cost()
    release = released(agreement, people(agreement), seeded(agreement.party_names, 4))
    stated = release.certificate.epsilon.public
    assert Fraction(stated[relation]) <= 2
    for neighbors in NEIGHBORS:
        assert Fraction(stated[neighbors]) <= reserved.under(neighbors)
    if delta is not None:  # one budget, charged as a whole
        assert Fraction(stated[relation]) == 2
    assert Fraction(release.certificate.delta_bound) <= (Fraction(delta) if delta else Fraction(1, 10**9))


def test_where_noise_is_large_the_plan_says_that_no_table_is_chosen() -> None:
    mapping = agreement_with(rounds=7).model_dump(by_alias=True)
    mapping["records"]["expected"] = 200
    agreement = cp.agreement_from_mapping(mapping)
    assert len(plan_of(agreement).disclosures()) == 1
    assert any("no table is chosen" in warning for warning in cp.describe(agreement).warnings)
    mapping["records"]["expected"] = 500  # of rho little is lost by trying, so there it takes larger noise
    assert len(plan_of(cp.agreement_from_mapping(mapping)).disclosures()) == 1
    mapping["privacy"]["delta"] = "1e-6"
    assert len(plan_of(cp.agreement_from_mapping(mapping)).disclosures()) == 2


def test_describe_says_what_is_sure_and_the_most_that_rounds_open() -> None:
    said = cp.describe(agreement_with(rounds=7, delta="1e-6")).to_dict()
    assert said["rounds_at_most"] == 7 and said["candidates"] == 6
    assert said["first_tables"] == [[name, "default"] for name in ("job", "region", "age", "income")]
    assert said["most_values_that_rounds_open"] >= 7
    few, many = said["round_noise_deviation_in_people"]
    assert 0 < few < many


def test_offsets_that_are_out_of_bounds_end_the_run(monkeypatch) -> None:
    def too_large(self: Any, fitted: Any, number: int, budget: Any, among: Any) -> np.ndarray:
        return np.full(len(self.plan.candidates) + 1, 2**41)

    agreement = agreement_with(rounds=2)
    monkeypatch.setattr(run._Run, "_offsets", too_large)
    with pytest.raises(EngineError, match="out of bounds"):
        released(agreement, people(agreement), seeded(agreement.party_names, 3))


# --- A model that every party fits by itself -------------------------------------------------------------------------


@dataclass
class AnotherLastBit:
    """A party's end of the computation that goes on with other numbers than it should."""

    computer: Any

    def confirm_same(self, what: str, numbers: np.ndarray) -> None:
        self.computer.confirm_same(what, numbers ^ 1)


@pytest.mark.parametrize("liar", ["p0", "p1"])
def test_a_party_that_goes_on_with_another_last_bit_of_the_model_ends_the_run(monkeypatch, liar) -> None:
    """Whoever could publish last bits of its own choice could hide records in them."""
    agree = run.agree_on_model

    def with_a_liar(problem: Any, start: Any, before: Any, computer: Any) -> Any:
        return agree(problem, start, before, AnotherLastBit(computer) if computer.party == liar else computer)

    agreement = agreement_with(rounds=2)
    monkeypatch.setattr(run, "agree_on_model", with_a_liar)
    with pytest.raises(EngineError, match="computed different numbers of the model"):
        released(agreement, people(agreement), seeded(agreement.party_names, 3))


# --- What is refused before anything is spent -------------------------------------------------------------------------


def values(n: int) -> list[str]:
    return [f"v{number}" for number in range(n)]


def test_a_table_with_too_many_cells_is_refused() -> None:
    said = problems_of(**{"attributes.job": {"kind": "categorical", "values": values(5000)}})
    assert "the table of 'job' by 'default' has 10,000 cells, and a table that is measured has at most 8,192" in said


def test_more_columns_than_fit_are_refused() -> None:
    mapping = repartition(small_mapping(mechanism={"name": "marginals"}, **{"records.identifier": None}), "horizontal")
    mapping["attributes"] |= {f"c{n}": {"kind": "categorical", "values": ["a", "b"]} for n in range(80)}
    with pytest.raises(cp.AgreementError, match="at most 64 columns, the class included, and these are 85"):
        cp.agreement_from_mapping(mapping)


def test_a_class_with_fifty_values_is_refused_unless_columns_are_measured_alone() -> None:
    changes = {"class.values": values(50)}
    assert "at most 32 values, and these are 50" in problems_of(**changes)
    agreement = changed(**changes, mechanism={"name": "marginals", "first": "columns"})
    assert plan_of(agreement).disclosures()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"tables": [["job", "weight"]]}, "there is no column 'weight'. Columns: 'job', 'region'"),
        ({"tables": [["job", "job"]]}, "name one to 4 different columns"),
        ({"tables": [["job", "region"], ["region", "job"]]}, "a table is listed twice"),
        ({"tables": ["job", "region"]}, "write a list of lists of columns"),
        ({"tables": "triples"}, "pairs"),
        ({"tables": [["job", "region"]], "rounds": 3}, "listed tables are measured without a choice"),
        ({"tables": "class-triples", "first": "columns"}, 'goes with first = "class-tables"'),
        ({"rounds": 101}, "rounds"),
        ({"model_cells": 10}, "model_cells"),
    ],
)
def test_keys_that_mean_nothing_are_refused(keys, said) -> None:
    assert said in problems_of(mechanism={"name": "marginals", **keys})


def test_listed_tables_that_ask_for_too_large_a_model_are_refused() -> None:
    ring = [list(pair) for pair in combinations(("job", "region", "age", "income"), 2)]
    wide = {"kind": "categorical", "values": values(20)}
    attributes = {"attributes.job": wide, "attributes.region": wide}
    said = problems_of(**attributes, mechanism={"name": "marginals", "tables": ring, "model_cells": 1000})
    assert "ask for a model with" in said and "1,000 are allowed" in said


def test_masked_sums_cannot_choose_and_have_no_gaussian_noise() -> None:
    assert "masked-sum" in problems_of(engine={"name": "masked-sum"})
    keys = {"name": "marginals", "tables": [["job", "region"]]}
    assert "shares of Laplace noise" in problems_of(
        engine={"name": "masked-sum"}, mechanism=keys, **{"privacy.delta": "1e-6"}
    )


def test_a_delta_that_is_too_small_for_the_samplers_is_refused_before_anything_is_spent() -> None:
    agreement = agreement_with(delta="1e-12", rounds=100)
    with pytest.raises(cp.AgreementError, match="delta is too small for the samplers"):
        plan_of(agreement)


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_complete_column_has_no_missing_and_no_other_value_in_records_whatever_noise_does(is_complete):
    """With little epsilon most of a small count is noise, so cells that are not left out do get records."""
    mapping = repartition(mapping_by_default(mechanism={"name": "marginals"}), "horizontal", 2)
    mapping["privacy"]["epsilon"] = "0.2"
    for name, attribute in mapping["attributes"].items() if is_complete else ():
        mapping["attributes"][name] = with_first_values({name: attribute})[name]
    agreement = cp.agreement_from_mapping(mapping)
    table = people(cp.agreement_from_mapping(small_mapping()))
    table = table.astype({"region": object, "age": float})
    table.loc[::7, "region"], table.loc[1::7, "region"], table.loc[::5, "age"] = "", "elsewhere", np.nan
    release = released(agreement, table, seeded(agreement.party_names, 2))
    found = set()
    for name in agreement.attributes:
        values = release.records.column(name).to_pylist()
        found |= {(name, value) for value in values if value in (None, "(missing)", "other")}
    assert bool(found) is not is_complete
    assert any(domain.missing for domain in agreement.domains.values()) is not is_complete
