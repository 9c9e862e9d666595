"""MeanSSE of records matched with their own rows: against a loop, and through files as a run leaves them."""

from __future__ import annotations

import json
import math
import stat

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import copublish as cp
from copublish.agreement.domain import NumericalDomain
from copublish.errors import EvaluationError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.publishing import FOLDER, map_file, read_record_map
from copublish.tools.evaluation.matched import loss_of, matched_loss
from support import fragment_frames, random_table
from support.idp_ir import idp_ir_mapping

pytestmark = pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")


@pytest.fixture(scope="module", params=["horizontal", "vertical"])
def run(request, tmp_path_factory):
    """A release written to a folder, with every owner's rows and ledger."""
    folder = tmp_path_factory.mktemp(request.param)
    mapping = idp_ir_mapping(request.param, 2)
    mapping["records"] |= {"identifier": "id"}
    mapping["attributes"]["income"]["decimals"] = 2
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(8)
    frames = fragment_frames(agreement, random_table(agreement, 61, generator), generator)
    ledgers, data = {}, {}
    for party, frame in frames.items():
        (folder / party).mkdir()
        data[party] = folder / party / "rows.csv"
        frame.to_csv(data[party], index=False)
        ledgers[party] = folder / party / "ledger.db"
        book = Ledger(ledgers[party])
        book.set_limit(agreement.dataset, Limit(None, "replace"))
        book.close()
    release = cp.simulate(agreement, data, ledger_files=ledgers)
    release.write(folder / "release")
    return agreement, cp.load_release(folder / "release"), data, ledgers


def naive(agreement, rows, records, own):
    """MeanSSE by the paper's formula, record by record, and with standard deviations."""
    columns = [column for column in agreement.columns if column in rows]

    def value(column, cell):
        domain = agreement.columns[column]
        return float(cell) if isinstance(domain, NumericalDomain) else float(domain.values.index(str(cell)))

    originals = [[value(column, rows[column][row]) for column in columns] for row in own.rows]
    published = [[value(column, records[column][record]) for column in columns] for record in own.records]
    n, size = len(originals), len(columns)
    variances = []
    for place in range(size):
        mean = sum(row[place] for row in originals) / n
        variances.append(sum((row[place] - mean) ** 2 for row in originals) / (n - 1))
    printed = corrected = 0.0
    for row, record in zip(originals, published, strict=True):
        terms = [((a - b) / variance) ** 2 for a, b, variance in zip(row, record, variances, strict=True)]
        printed += (math.sqrt(sum(terms)) / size) ** 2 / n
        scaled = [(a - b) ** 2 / variance for a, b, variance in zip(row, record, variances, strict=True)]
        corrected += sum(scaled) / size / n
    return printed, corrected


def test_every_owner_gets_the_mean_sse_of_a_loop_over_its_records(run):
    agreement, release, data, ledgers = run
    records = release.records.to_pandas()
    for party, file in data.items():
        kept = map_file(ledgers[party], release, party)
        loss = matched_loss(release, file, kept)
        rows = pd.read_csv(file)
        printed, corrected = naive(agreement, rows, records, read_record_map(kept, release))
        assert loss.mean_sse_as_printed == pytest.approx(printed)
        assert loss.mean_sse == pytest.approx(corrected)
        assert loss.records == len(rows)
        assert list(loss.by_column) == [column for column in agreement.columns if column in rows]


def test_matched_records_are_at_least_as_far_apart_as_sorted_columns(run):
    """By the rearrangement inequality, whatever the noise."""
    _, release, data, ledgers = run
    own = read_record_map(map_file(ledgers["p1"], release, "p1"), release)
    rows, records = pd.read_csv(data["p1"])[["income"]], release.records.to_pandas()[["income"]].iloc[own.records]
    domains = {"income": release.published.columns.domains["income"]}
    in_order = loss_of(rows.sort_values("income"), records.sort_values("income"), domains)
    assert matched_loss(release, data["p1"], map_file(ledgers["p1"], release, "p1")).by_column[
        "income"
    ].mean_square >= in_order.by_column["income"].mean_square * (1 - 1e-12)


def test_the_map_lies_beside_the_ledger_for_its_owner_alone_and_not_in_the_release(run):
    _, release, _, ledgers = run
    for party, ledger in ledgers.items():
        file = map_file(ledger, release, party)
        assert file.parent == ledger.parent / FOLDER
        assert [path.name for path in file.parent.iterdir()] == [file.name]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    written = {path.name for path in (next(iter(ledgers.values())).parent.parent / "release").rglob("*")}
    assert not any("map" in name for name in written)


def test_other_data_another_order_and_missing_columns_are_noticed(run, tmp_path):
    _, release, data, ledgers = run
    kept = map_file(ledgers["p0"], release, "p0")
    rows = pd.read_csv(data["p0"])
    for wrong, said in (
        (rows.iloc[::-1], "the same in another order"),
        (rows.head(20), "other rows"),
        (rows.assign(age=rows["age"].to_numpy()[np.r_[1, 0, 2 : len(rows)]]), "other rows"),
        (rows.drop(columns="age"), "no column 'age', which party 'p0' put in"),
    ):
        with pytest.raises(EvaluationError, match=said):
            matched_loss(release, wrong, kept)


def test_rows_after_those_of_the_run_do_no_harm(run):
    _, release, data, ledgers = run
    kept, rows = map_file(ledgers["p0"], release, "p0"), pd.read_csv(data["p0"])
    longer = pd.concat([rows, rows.head(3)])
    assert matched_loss(release, longer, kept) == matched_loss(release, rows, kept)


def test_the_map_of_another_release_or_no_map_is_refused(run, tmp_path):
    _, release, data, ledgers = run
    kept = map_file(ledgers["p0"], release, "p0")
    table = pq.read_table(kept)
    (key,) = [key for key in table.schema.metadata if key.startswith(b"copublish")]
    about = json.loads(table.schema.metadata[key])

    def written(name, changed, **more):
        file = tmp_path / name
        pq.write_table(changed.replace_schema_metadata({key: json.dumps({**about, **more})}), file)
        return file

    doubled = pa.table({"row": table["row"], "record": pa.array([0] * table.num_rows)})
    (tmp_path / "text.parquet").write_text("no map")
    for file, said in (
        (written("other.parquet", table, release_digest="0" * 64), "of another release"),
        (written("later.parquet", table, record_map_format=2), "no record map of this version"),
        (written("doubled.parquet", doubled), "no record map of this version"),
        (written("column.parquet", table.drop_columns(["record"])), "no record map that can be read"),
        (tmp_path / "text.parquet", "no record map that can be read"),
        (tmp_path / "none.parquet", "no record map that can be read"),
    ):
        with pytest.raises(EvaluationError, match=said):
            matched_loss(release, data["p0"], file)


def test_scores_have_it_beside_the_rest_and_need_the_raw_rows(run):
    agreement, release, data, ledgers = run
    kept = map_file(ledgers["p0"], release, "p0")
    alone = cp.evaluate(release, raw=data["p0"], record_map=kept)
    assert alone.to_dict()["matched"] == matched_loss(release, data["p0"], kept).to_dict()
    assert "nothing predicted" in repr(alone) and "nothing" in alone._repr_html_()
    for missing in ({}, {"raw": data["p0"]}):
        with pytest.raises(EvaluationError, match="no records to test on"):
            cp.evaluate(release, **missing)
    with pytest.raises(EvaluationError, match="row of the raw records"):
        cp.evaluate(release, data["p0"], record_map=kept)
    if agreement.partition == "horizontal":
        scores = cp.evaluate(
            release, data["p0"], raw=data["p0"], classifiers=["decision-tree"], record_map=kept
        ).to_dict()
        assert scores["matched"] == matched_loss(release, data["p0"], kept).to_dict()


def test_a_run_that_fails_at_the_last_step_leaves_no_map(tmp_path, monkeypatch):
    from copublish.party import publishing

    release = type("Release", (), {"digest": lambda self: "a" * 64, "certificate": type("C", (), {"release": "r"})})()
    own = publishing.RecordMap("p0", ("a",), {}, np.array([0]), np.array([0]), "d")
    keep = publishing.kept_beside(tmp_path / "ledger.db")
    with pytest.raises(RuntimeError), keep(release, own):
        assert publishing.map_file(tmp_path / "ledger.db", release, "p0").exists()
        raise RuntimeError
    assert list((tmp_path / FOLDER).iterdir()) == []
    with keep(release, None), publishing.kept_beside(None)(release, own):
        assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_folder_that_cannot_be_written_ends_the_run(tmp_path):
    from copublish.errors import ReleaseError
    from copublish.party import publishing

    release = type("Release", (), {"digest": lambda self: "a" * 64, "certificate": type("C", (), {"release": "r"})})()
    own = publishing.RecordMap("p0", ("a",), {}, np.array([0]), np.array([0]), "d")
    (tmp_path / FOLDER).write_text("in the way")
    keep = publishing.kept_beside(tmp_path / "ledger.db")
    with pytest.raises(ReleaseError, match="record map cannot be written"), keep(release, own):
        pass


def test_constant_columns_are_no_part_of_mean_sse():
    domains = {
        column: cp.agreement_from_mapping(idp_ir_mapping("horizontal")).domains[column] for column in ("age", "income")
    }
    rows = pd.DataFrame({"age": [20.0, 20, 20], "income": [1.0, 2, 3]})
    records = pd.DataFrame({"age": [30.0, 30, 30], "income": [2.0, 2, 2]})
    loss = loss_of(rows, records, domains)
    assert loss.by_column["age"].mean_square == 100
    assert loss.mean_sse == pytest.approx(2 / 3) and loss.wrong_categories is None
    assert loss_of(rows[["age"]], records[["age"]], {"age": domains["age"]}).mean_sse is None
