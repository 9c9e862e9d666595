"""idp-ir without a secure engine: three owners of columns, joined by pseudonyms at an aggregator that has no data."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.publishing import map_file, read_record_map
from copublish.tools.evaluation.matched import matched_loss
from support import fragment_frames, no_noise, random_table, seeded
from support.idp_ir import idp_ir_mapping, naive_values
from support.messages import all_of, publish_by_masked_sums


@pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
def test_owners_of_columns_are_joined_by_pseudonyms_at_the_aggregator():
    mapping = idp_ir_mapping("vertical", 3)
    mapping["parties"]["helper"] = {"data": False}
    mapping["engine"] = {"name": "masked-sum", "aggregator": "helper"}
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(1)
    table = random_table(agreement, 40, generator)
    table["age"], table["income"] = generator.permutation(40) + 18, generator.permutation(40)  # no ties
    frames = fragment_frames(agreement, table, generator)
    frames = {party: frame for party, frame in frames.items() if party != "helper"}
    silent = all_of(publish_by_masked_sums(agreement, frames, no_noise(agreement.party_names)))
    records = silent["helper"].to_pandas()
    assert all(release.files() == silent["helper"].files() for release in silent.values())
    expected = zip(naive_values(table["age"].tolist(), 5), naive_values(table["income"].tolist(), 5), strict=True)
    assert sorted(zip(records["age"], records["income"], strict=True)) == sorted(expected)
    noisy = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 1)))["p0"]
    assert (
        next(iter(noisy.certificate.to_json())) == "warning"
        and noisy.certificate.to_json()["engine"]["name"] == "masked-sum"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
def test_owners_in_processes_of_their_own_keep_maps_of_their_rows_alone(tmp_path):
    mapping = idp_ir_mapping("horizontal", 2)
    mapping["parties"]["helper"] = {"data": False}
    mapping["engine"] = {"name": "masked-sum", "aggregator": "helper"}
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    frames = {party: frame for party, frame in frames.items() if party != "helper"}
    ledgers = {party: tmp_path / party / "ledger.db" for party in frames}
    for file in ledgers.values():
        file.parent.mkdir()
        book = Ledger(file)
        book.set_limit(agreement.dataset, Limit(None, "replace"))
        book.close()
    release = cp.simulate(agreement, frames, engine="masked-sum", ledger_files=ledgers)
    named = []
    for party, frame in frames.items():
        own = read_record_map(map_file(ledgers[party], release, party), release)
        assert own.rows.tolist() == list(range(len(frame)))
        named += own.records.tolist()
        assert matched_loss(release, frame, map_file(ledgers[party], release, party)).records == len(frame)
    assert sorted(named) == list(range(release.records.num_rows))
