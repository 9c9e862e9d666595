"""What `copublish verify` finds in releases that all parties signed, and that still say less or something else.

Every changed folder is signed again by all parties. So digests and signatures hold, and the check in question alone can
notice. The last tests switch the checks off to show it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.release import recompute, verify
from copublish.release.evidence.signatures import SIGNATURES_FILE, Signatures, digests_of, release_digest
from copublish.release.measurements import parquet_file, read_parquet
from copublish.release.verify import verify_release
from support import SMALL
from support.signed import NAMES, Signers

ACKNOWLEDGED = "idp-ir does not protect cluster membership; this is not differential privacy"

PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}
HORIZONTAL = {
    "partition": "horizontal",
    "attributes": {
        name: {key: said for key, said in column.items() if key != "held_by"}
        for name, column in SMALL["attributes"].items()
    },
}
CHANGES: dict[str, dict[str, Any]] = {
    "specialization": {"mechanism.specializations": 3},
    "marginals": {"mechanism": {"name": "marginals", "rounds": 1}, "privacy.epsilon": 8},
    "copula": {"mechanism": {"name": "copula"}, "budget": {"allocation": "use-informative"}},
    "hpdp": {"mechanism": {"name": "hpdp"}, **HORIZONTAL},
    "vhdp": {"mechanism": {"name": "vhdp"}, "budget": {"allocation": "use-informative"}, **PUBLIC},
    "idp-ir": {
        "mechanism": {"name": "idp-ir", "k": 5, "acknowledge": ACKNOWLEDGED},
        "class.held_by": "bank",
        **PUBLIC,
    },
}
LIMITS = {"vhdp": Limit(Fraction(50), "replace"), "idp-ir": Limit(None, "replace")}

DRAWN = ("specialization", "marginals", "copula", "hpdp")
"""Mechanisms that make records from a model."""

MEASURED = (*DRAWN, "vhdp")
"""Mechanisms that publish measurements: `vhdp` the tables that divided its budget."""

SHOWN = 120
"""Characters of a disclosure's words."""

Files = dict[str, bytes]


@dataclass(frozen=True)
class Signed:
    """A release with the parties that can sign it again."""

    signers: Signers
    files: Files

    def again(self, folder: Path, change: Callable[[Files], None]) -> Path:
        """Write the files with a change, as if the parties had published and signed them like that."""
        files = dict(self.files)
        change(files)
        certificate = json.loads(files["certificate.json"])
        certificate["files"] = {name: digest for name, digest in digests_of(files).items() if name in self._named}
        files["certificate.json"] = json.dumps(certificate).encode()
        digests = digests_of(files)
        signed = Signatures.from_content(files[SIGNATURES_FILE])
        statement = replace(signed.statement, digest=release_digest(digests), files=digests)
        signatures = {name: self.signers.identities[name].sign(statement.message) for name in NAMES}
        files[SIGNATURES_FILE] = replace(signed, statement=statement, signatures=signatures).content()
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder

    @property
    def _named(self) -> list[str]:
        return list(json.loads(self.files["certificate.json"])["files"])

    @property
    def measurements(self) -> Any:
        return json.loads(self.files["measurements.json"])


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Signed]:
    """A signed release of a mechanism, made once."""
    made: dict[str, Signed] = {}

    def of(mechanism: str) -> Signed:
        if mechanism not in made:
            signers = Signers(tmp_path_factory.mktemp(mechanism), changes=CHANGES[mechanism])
            if mechanism in LIMITS:
                for name in NAMES:
                    ledger = Ledger(signers.ledger_file(name))
                    ledger.set_limit("people", LIMITS[mechanism])
                    ledger.close()
            made[mechanism] = Signed(signers, signers.publish()["bank"].files())
        return made[mechanism]

    return of


def problems(folder: Path, *, recompute: bool = False) -> dict[str, str]:
    return {one.what: one.said for one in verify_release(folder, recompute=recompute).findings if not one.is_well}


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(app, list(map(str, arguments)))


def nothing(files: Files) -> None:
    """No change."""


def described(change: Callable[[Any], object], files: Files) -> None:
    """Change what `measurements.json` says."""
    content = json.loads(files["measurements.json"])
    change(content)
    files["measurements.json"] = json.dumps(content).encode()


def certified(change: Callable[[Any], object], files: Files) -> None:
    """Change what the certificate says."""
    content = json.loads(files["certificate.json"])
    change(content)
    files["certificate.json"] = json.dumps(content).encode()


@pytest.mark.parametrize("mechanism", CHANGES)
def test_what_is_signed_again_without_a_change_holds(signed, tmp_path: Path, mechanism: str) -> None:
    folder = signed(mechanism).again(tmp_path / "again", nothing)
    assert problems(folder, recompute=True) == {}
    done = command("verify", folder, "--recompute")
    assert done.exit_code == 11 and "ok  measurements: everything that was opened" in done.stdout
    said = "follow from the model" if mechanism in DRAWN else "stand for people and follow from no model"
    assert f"ok  records: {said}" in done.stdout
    assert "ok  records" not in command("verify", folder).stdout  # unless it is asked for


# --- Something that was opened is missing ----------------------------------------------------------------------------


def without_files(number: int, files: Files) -> None:
    """Leave out the files of a table, and nothing else."""
    table = json.loads(files["measurements.json"])["measured"][number]["table"]
    for name in [name for name in files if name.startswith(f"measured/{table}.")]:
        del files[name]


def without_a_word(number: int, files: Files) -> None:
    """Leave out a measurement with all that is said of it."""
    if "table" in json.loads(files["measurements.json"])["measured"][number]:
        without_files(number, files)
    described(lambda content: content["measured"].pop(number), files)


def name_of(release: Signed, number: int) -> str:
    """What the certificate calls the disclosure of a measurement, as far as a finding shows it."""
    place = release.measurements["measured"][number]["place"]
    (what,) = (
        made["what"]
        for made in json.loads(release.files["certificate.json"])["disclosures"]
        if made["place"] == place and made["kind"] == "measure"
    )
    return str(what)[:SHOWN]


@pytest.mark.parametrize("mechanism", MEASURED)
def test_each_measurement_that_is_left_out_is_named(signed, tmp_path: Path, mechanism: str) -> None:
    release = signed(mechanism)
    assert release.measurements["measured"]
    for number in range(len(release.measurements["measured"])):
        folder = release.again(tmp_path / str(number), partial(without_a_word, number))
        found = problems(folder)
        assert found.keys() == {"measurements"}
        assert f"of '{name_of(release, number)}' " in found["measurements"]
        assert "values were opened and" in found["measurements"]


@pytest.mark.parametrize("mechanism", MEASURED)
def test_each_table_without_its_file_is_named(signed, tmp_path: Path, mechanism: str) -> None:
    release = signed(mechanism)
    tables = [number for number, own in enumerate(release.measurements["measured"]) if "table" in own]
    assert tables
    for number in tables:
        found = problems(release.again(tmp_path / str(number), partial(without_files, number)))
        assert found.keys() == {"measurements"} and name_of(release, number) in found["measurements"]


def test_the_command_names_the_missing_table_for_people_and_for_programs(signed, tmp_path: Path) -> None:
    release = signed("marginals")
    folder = release.again(tmp_path / "incomplete", partial(without_a_word, 1))
    tables = [own["entries"] for own in release.measurements["measured"] if own["place"]["step"] == "first tables"]
    assert len(tables) == 4  # one disclosure opened them
    opened, left = sum(tables), sum(tables) - tables[1]
    said = f"of '{name_of(release, 1)}' {opened} values were opened and {left} are published"
    done = command("verify", folder)
    assert done.exit_code == 7 and f"NO  measurements: {said}" in done.stdout
    assert "do not rely on it. Ask a party for its copy" in done.stderr
    done = command("verify", folder, "--format", "json")
    told = json.loads(done.stdout)
    assert done.exit_code == 7 and not told["ok"]
    assert [one for one in told["findings"] if not one["ok"]] == [{"what": "measurements", "ok": False, "found": said}]


# --- A law is falsified ----------------------------------------------------------------------------------------------


def falsified(noise: Any) -> None:
    """Noise that is said to be half as large, or values that are said to be kept more often."""
    key = next(key for key in ("scale_in_people", "scale_in_own_unit", "kept") if key in noise)
    noise[key] = noise[key] / 2


@pytest.mark.parametrize("mechanism", MEASURED)
def test_each_falsified_law_of_a_measurement_is_named(signed, tmp_path: Path, mechanism: str) -> None:
    release = signed(mechanism)
    for number in range(len(release.measurements["measured"])):
        change = partial(described, lambda content, number=number: falsified(content["measured"][number]["noise"]))
        found = problems(release.again(tmp_path / str(number), change))
        assert found == {
            "measurements": f"the law of '{name_of(release, number)}' is not the one that the certificate states"
        }


@pytest.mark.parametrize("mechanism", MEASURED)
def test_a_law_that_the_certificate_alone_says_is_named(signed, tmp_path: Path, mechanism: str) -> None:
    release = signed(mechanism)
    place = release.measurements["measured"][0]["place"]

    def change(content: Any) -> None:
        for made in content["disclosures"]:
            if made["place"] == place:
                falsified(made["noise"])

    found = problems(release.again(tmp_path / "other", partial(certified, change)))
    assert found.keys() == {"measurements"} and f"the law of '{name_of(release, 0)}'" in found["measurements"]


def test_the_command_names_the_falsified_law_for_people_and_for_programs(signed, tmp_path: Path) -> None:
    release = signed("specialization")
    change = partial(described, lambda content: falsified(content["measured"][-1]["noise"]))
    folder = release.again(tmp_path / "falsified", change)
    said = f"the law of '{name_of(release, -1)}' is not the one that the certificate states"
    done = command("verify", folder)
    assert done.exit_code == 7 and f"NO  measurements: {said}" in done.stdout
    done = command("verify", folder, "--format", "json")
    assert done.exit_code == 7
    assert {"what": "measurements", "ok": False, "found": said} in json.loads(done.stdout)["findings"]


@pytest.mark.parametrize("column", ["job", "region", "age", "income", "default"])
@pytest.mark.parametrize("way", ["falsified", "left out"])
def test_the_law_of_each_column_of_perturbed_rows_is_compared(signed, tmp_path: Path, column: str, way: str) -> None:
    def change(content: Any) -> None:
        falsified(content["noise_of_rows"][column])
        if way == "left out":
            del content["noise_of_rows"][column]

    found = problems(signed("vhdp").again(tmp_path / "other", partial(described, change)))
    assert found.keys() == {"measurements"} and f"{column}" in found["measurements"]


OTHERS: dict[str, tuple[str, Callable[[Files], object], str]] = {
    "a law where there is none": (
        "idp-ir",
        partial(described, lambda c: c.update(noise_of_rows={"age": {"law": "discrete Laplace on every value"}})),
        "a law of noise is of 'age', of which the certificate states none",
    ),
    "a place that was not opened": (
        "marginals",
        partial(described, lambda c: c["measured"].append(c["measured"][0] | {"place": {"step": "x"}, "table": "9"})),
        "of a disclosure that the certificate does not have",
    ),
    "a measurement twice": (
        "marginals",
        partial(described, lambda c: c["measured"].append(c["measured"][0])),
        "values were opened and",
    ),
    "one file for two tables": (
        "copula",
        partial(described, lambda c: c["measured"][1].update(table=c["measured"][0]["table"])),
        "a table is named by two measurements",
    ),
    "fewer entries": (
        "marginals",
        partial(described, lambda c: c["measured"][0].update(entries=1)),
        "values were opened and",
    ),
    "no place": ("hpdp", partial(described, lambda c: c["measured"][0].pop("place")), "cannot be read (KeyError: "),
    "no list": ("hpdp", partial(described, lambda c: c.update(measured=7)), "cannot be read (TypeError: "),
    "a list": ("hpdp", lambda files: files.update({"measurements.json": b"[]"}), "cannot be read (TypeError: "),
    "deep lists": (
        "copula",
        partial(described, lambda c: c["measured"][0].update(table=[["a"]])),
        "values were opened and 0 are published",
    ),
    "no file": ("hpdp", lambda files: files.pop("measurements.json"), "there is no 'measurements.json'"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_whatever_else_is_not_what_was_opened_is_found(signed, tmp_path: Path, case: str) -> None:
    mechanism, change, why = OTHERS[case]
    found = problems(signed(mechanism).again(tmp_path / "other", change))
    assert found.keys() == {"measurements"} and why in found["measurements"]


# --- Records that do not follow from the model -----------------------------------------------------------------------


def other_records(change: Callable[[pa.Table], pa.Table], files: Files) -> None:
    """Publish other records, as Parquet."""
    records = change(read_parquet(files["records.parquet"]))
    files["records.parquet"] = parquet_file(iter([records]))
    if "records.csv" in files:
        files["records.csv"] = recompute.csv_file(records)


def one_value(number: int, records: pa.Table) -> pa.Table:
    """One record with another value of the class that other records have, too."""
    column = records.column("default").combine_chunks()
    values = column.to_pylist()
    values[number] = next(value for value in ("no", "yes") if value != values[number])
    return records.set_column(
        records.column_names.index("default"), "default", pa.array(values, pa.string()).cast(column.type)
    )


RECORDS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "first": partial(one_value, 0),
    "last": partial(one_value, -1),
    "one more": lambda records: pa.concat_tables([records, records.slice(0, 1)]),
    "one less": lambda records: records.slice(0, records.num_rows - 1),
    "none": lambda records: records.slice(0, 0),
    "turned around": lambda records: records.take(pa.array(range(records.num_rows - 1, -1, -1))),
}


@pytest.mark.parametrize("mechanism", DRAWN)
@pytest.mark.parametrize("case", RECORDS)
def test_records_that_do_not_follow_from_the_model_are_found(signed, tmp_path: Path, mechanism: str, case: str) -> None:
    before = read_parquet(signed(mechanism).files["records.parquet"])
    assert not RECORDS[case](before).equals(before)  # a single record would be the same turned around
    folder = signed(mechanism).again(tmp_path / "other", partial(other_records, RECORDS[case]))
    assert problems(folder) == {}  # without --recompute nobody could know
    found = problems(folder, recompute=True)
    assert found.keys() == {"records"} and "differ from the model's" in found["records"]


@pytest.mark.parametrize("mechanism", DRAWN)
def test_the_command_finds_one_record_for_people_and_for_programs(signed, tmp_path: Path, mechanism: str) -> None:
    folder = signed(mechanism).again(tmp_path / "other", partial(other_records, RECORDS["last"]))
    assert command("verify", folder).exit_code == 11
    done = command("verify", folder, "--recompute")
    assert done.exit_code == 7 and "NO  records: some of the records from 1 to " in done.stdout
    assert "This release does not hold" in done.stderr
    done = command("verify", folder, "--recompute", "--format", "json")
    (wrong,) = (one for one in json.loads(done.stdout)["findings"] if not one["ok"])
    assert done.exit_code == 7 and wrong["what"] == "records" and "differ from the model's" in wrong["found"]


def another_model(files: Files) -> None:
    """One record more of the first cell that has some, or another key."""
    model = json.loads(files["model.json"])
    if model["key"]:
        model["key"] = f"{'0' * 62}{model['key'][:2]}"
    else:
        model["counts"][-1] += 1
    files["model.json"] = json.dumps(model).encode()


@pytest.mark.parametrize("mechanism", DRAWN)
def test_a_model_that_does_not_give_the_records_is_found(signed, tmp_path: Path, mechanism: str) -> None:
    folder = signed(mechanism).again(tmp_path / "other", another_model)
    assert problems(folder) == {}
    assert problems(folder, recompute=True).keys() == {"records"}


@pytest.mark.parametrize("model", [b"{}", b'{"records": 1, "key": "no hexadecimal number"}', b"[]"])
def test_a_model_that_is_none_is_an_answer_and_no_crash(signed, tmp_path: Path, model: bytes) -> None:
    folder = signed("copula").again(tmp_path / "other", lambda files: files.update({"model.json": model}))
    done = command("verify", folder, "--recompute")
    assert done.exit_code == 7 and "NO  records: " in done.stdout and done.exception.__class__ is SystemExit


@pytest.mark.parametrize(
    ("mechanism", "table"),
    [("copula", "records"), ("vhdp", "records"), ("marginals", "measured/001-job-by-default")],
)
def test_a_table_in_csv_that_says_something_else_is_found(signed, tmp_path: Path, mechanism: str, table: str) -> None:
    def change(files: Files) -> None:
        first, *lines = files[f"{table}.csv"].splitlines(keepends=True)
        files[f"{table}.csv"] = b"".join([first, lines[1], *lines[1:]])

    folder = signed(mechanism).again(tmp_path / "other", change)
    assert problems(folder) == {}
    assert problems(folder, recompute=True) == {"records": f"'{table}.csv' differs from '{table}.parquet'"}


def test_a_table_that_is_left_out_cannot_be_counted_with_another_one(signed, tmp_path: Path) -> None:
    """Of one disclosure that opens several tables one is left out, and another one is said to have its values, too."""

    def change(files: Files) -> None:
        left_out: list[dict[str, Any]] = []

        def without_one(content: dict[str, Any]) -> None:
            first, second, *_ = content["measured"]
            assert first["place"] == second["place"]
            left_out.append(content["measured"].pop(0))
            second["entries"] += first["entries"]

        described(without_one, files)
        for ending in ("csv", "parquet"):
            del files[f"measured/{left_out[0]['table']}.{ending}"]

    folder = signed("marginals").again(tmp_path / "other", change)
    assert "values were opened" in problems(folder)["measurements"]


# --- Nothing else would have noticed ---------------------------------------------------------------------------------


def test_without_the_comparison_of_measurements_all_would_hold(signed, tmp_path: Path, monkeypatch) -> None:
    folder = signed("copula").again(tmp_path / "incomplete", partial(without_a_word, 0))
    assert not verify_release(folder).is_well
    monkeypatch.setattr(verify, "incomplete", lambda certificate, files: iter(()))
    assert verify_release(folder).is_well


def test_without_the_comparison_of_records_all_would_hold(signed, tmp_path: Path, monkeypatch) -> None:
    folder = signed("copula").again(tmp_path / "other", partial(other_records, RECORDS["first"]))
    assert not verify_release(folder, recompute=True).is_well
    monkeypatch.setattr(recompute, "_other_records", lambda release: None)
    assert verify_release(folder, recompute=True).is_well


def test_a_change_that_nobody_signed_is_found_before(signed, tmp_path: Path) -> None:
    """So the folders above hold because they were signed again."""
    folder = signed("copula").again(tmp_path / "other", nothing)
    (folder / "measurements.json").write_bytes(signed("copula").files["measurements.json"] + b" ")
    assert problems(folder).keys() == {"files and certificate"}
