"""idp-ir without a secure engine: three owners of columns, joined by pseudonyms at an aggregator that has no data."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
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
