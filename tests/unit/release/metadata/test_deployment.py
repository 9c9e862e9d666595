"""The entry for the deployments registry has the fields of the registry's schema, and says what the agreement says."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from copublish.release.metadata.deployment import slug, yaml_text
from support.described_releases import DESCRIBED, PRIVATE, files_of
from support.recorded_releases import CASES

TEXTS = ("a list of texts",)

SCHEMA: dict[str, Any] = {
    "url_slug!": str,
    "status!": ["Converted", "Draft", "Pending", "Changes Required", "Approved"],
    "tier!": [1, 2, 3],
    "deployment!": {
        "basic!": {
            **dict.fromkeys(("name!", "description!", "intended_use!", "data_product_region!"), str),
            "data_curators!": TEXTS,
            "data_product_type!": [
                *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
                *("Interactive API", "SQL queries"),
            ],
            "publication_date!": str,
            "data_product_sector": ["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"],
        },
        "dp_variant": {
            "variant_name": ["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"],
            "data_domain": str,
            "unprotected_quantities": str,
        },
        "privacy_loss": {
            **dict.fromkeys(("privacy_unit", "privacy_unit_details", "privacy_parameters_details"), str),
            "privacy_parameters": {"epsilon": (int, float), "delta": (int, float, str), "rho": (int, float)},
        },
        "deployment_model": {
            "model_name": ["Local", "Central", "Shuffle", "Federated", "Varies"],
            "release_type": ["One release", "Many releases"],
            "data_source_type": ["Static", "Dynamic"],
            "access_type": ["Interactive", "Non-interactive"],
            **dict.fromkeys(("model_name_details", "actors", "release_type_details"), str),
            **dict.fromkeys(("data_source_type_details", "access_type_details"), str),
        },
        "accounting": {"post_processing": str, "composition": str},
        "implementation": dict.fromkeys(
            ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"), str
        ),
        "administrative": {"sources": str, "notes": str, "registry_authors!": TEXTS},
    },
}
"""The fields of the registry's schema as of 2026, those that it requires with an exclamation mark, and their values."""


def problems(said: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Where a value is not as a schema of the form above has it."""
    if isinstance(schema, dict):
        if not isinstance(said, dict):
            yield f"{place}: no mapping"
            return
        fields = {key.rstrip("!"): inner for key, inner in schema.items()}
        yield from (f"{place}/{key}: unknown" for key in said if key not in fields)
        yield from (f"{place}/{key[:-1]}: missing" for key in schema if key.endswith("!") and key[:-1] not in said)
        for key in said.keys() & fields.keys():
            yield from problems(said[key], fields[key], f"{place}/{key}")
    elif isinstance(schema, list):
        if said not in schema:
            yield f"{place}: {said!r} is none of {schema}"
    elif schema is TEXTS:
        if not (isinstance(said, list) and said and all(isinstance(text, str) for text in said)):
            yield f"{place}: no list of texts"
    elif not isinstance(said, schema) or isinstance(said, bool):
        yield f"{place}: of type {type(said).__name__}"


def entry(case: str) -> Any:
    return yaml.safe_load(files_of(case)["deployment.yaml"])


@pytest.mark.parametrize("case", PRIVATE)
def test_the_entry_has_the_fields_and_values_of_the_registry(case):
    said = entry(case)
    assert list(problems(said, SCHEMA)) == []
    basic = said["deployment"]["basic"]
    assert date.fromisoformat(basic["publication_date"])
    assert (basic["name"], basic["data_curators"]) == ("recorded", list(CASES[case].agreement["parties"]))
    told = said["deployment"]["privacy_loss"]["privacy_parameters"]
    assert told["epsilon"] <= float(CASES[case].agreement["privacy"]["epsilon"])
    assert 0 < float(told["delta"]) < 1e-3


BROKEN: dict[str, tuple[Callable[[Any], object], str]] = {
    "another field": (
        lambda said: said["deployment"]["basic"].update(surprise=1),
        "/deployment/basic/surprise: unknown",
    ),
    "a field less": (lambda said: said.pop("status"), "/status: missing"),
    "another value": (lambda said: said.update(tier=0), "/tier: 0 is none of"),
    "another type": (lambda said: said["deployment"]["accounting"].update(composition=2), "composition: of type int"),
    "nobody": (lambda said: said["deployment"]["basic"].update(data_curators=[]), "data_curators: no list of texts"),
    "no mapping": (lambda said: said.update(deployment="x"), "/deployment: no mapping"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_entry_that_is_not_so_is_noticed(what):
    said, (spoil, expected) = copy.deepcopy(entry(PRIVATE[0])), BROKEN[what]
    spoil(said)
    (problem,) = problems(said, SCHEMA)
    assert expected in problem


def test_a_release_without_a_promise_has_no_entry():
    without = [case for case in DESCRIBED if "deployment.yaml" not in files_of(case)]
    assert without == [case for case in DESCRIBED if case not in PRIVATE] != []


def test_addresses_are_made_by_the_registrys_rule():
    """As in an entry that the registry shows."""
    curators = ("Microsoft", "International Organization for Migration")
    assert slug("CTDC Global Victim-Perpetrator Synthetic Dataset", curators, "2023-03-01") == (
        "ctdc-global-victim-perpetrator-synthetic-dataset-microsoft-international-organization-for-migration-2023"
    )


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = (
    TEXT | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.lists(TEXT, min_size=1, max_size=3)
)
SECTIONS = st.dictionaries(st.sampled_from(["name", "tier", "basic"]), VALUES, min_size=1)


@given(st.dictionaries(st.sampled_from(["deployment", "status", "tier"]), VALUES | SECTIONS, min_size=1))
def test_what_is_written_as_yaml_is_read_back(document):
    assert yaml.safe_load(yaml_text(document)) == document


@pytest.mark.parametrize(
    "value",
    ["no", "2026-11-16", "1e5", "~", "a: b", "- a", "\x85\u2028\x7f\ufeff", "a-b-2026", "1-2", 1e-07, 1e22, 2.5e-09],
)
def test_what_yaml_could_take_for_something_else_stays_what_it_is(value):
    assert yaml.safe_load(yaml_text({"key": value})) == {"key": value}
