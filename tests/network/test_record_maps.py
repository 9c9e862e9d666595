"""A run between machines leaves each party the map of its own rows, beside its ledger, and says where it is."""

from __future__ import annotations

import json
import stat

import pandas as pd
import pytest

import copublish as cp
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT
from copublish.party.publishing import FOLDER, read_record_map
from copublish.tools.evaluation.matched import matched_loss
from support.node import DATASET, NAMES, TwoParties, free_port

RECORDS = 200


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
def test_each_party_keeps_its_own_map_and_finds_its_rows_with_it(tmp_path):
    hosts = {name: f"127.0.0.1:{free_port()}" for name in NAMES}
    parties = TwoParties(tmp_path, hosts, records=RECORDS)
    text = parties.agreement_text(
        ("public = false", "public = true"),
        ('neighbors = "add-remove"', 'neighbors = "replace"'),
        ('name = "default"', 'name = "default"\nheld_by = "loans"'),
    )
    text = text[: text.index("[mechanism]")]
    text += f'[mechanism]\nname = "idp-ir"\nk = 1\nacknowledge = "{ACKNOWLEDGEMENT}"\n'
    parties.write_agreement(text)
    for name in NAMES:
        book = Ledger(parties.home(name) / "ledger.db")
        book.set_limit(DATASET, Limit(None, "replace"))
        book.close()
    person_of = {}
    for name, (code, output, errors) in parties.run_both().items():
        assert code == 0, errors
        home = parties.home(name)
        (file,) = (home / FOLDER).iterdir()
        assert json.loads(output)["record_map"] == str(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        release = cp.load_release(home / "release")
        assert not any("map" in file for file in parties.files(name))
        assert file.name.startswith(f"credit-default-{name}-")
        assert file.name not in (home / "run.jsonl").read_text(), "a log gets passed around"
        own = read_record_map(file, release)
        rows = pd.read_parquet(home / "data.parquet")
        person_of[name] = dict(zip(own.records, rows["customer_id"].iloc[own.rows], strict=True))
        loss = matched_loss(release, home / "data.parquet", file)
        assert set(own.columns) <= set(loss.by_column) <= set(rows.columns)
        assert loss.records == release.records.num_rows == len(person_of[name])
    assert person_of["bank"] == person_of["loans"], "both maps name the same person for a record"
