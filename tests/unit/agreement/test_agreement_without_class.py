"""Agreements without a class, owners that hold the class and nothing else, and what is refused."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import pytest

import copublish as cp
from copublish.agreement.columns import PublicColumns
from copublish.agreement.settings import MechanismSettings, known_settings
from copublish.errors import AgreementError
from copublish.mechanisms.idp_ir import IdpIr
from support import repartition, small_mapping, with_first_values

NO_PROMISE = "idp-ir does not protect cluster membership; this is not differential privacy"

MECHANISMS: dict[str, dict[str, Any]] = {
    "marginals": {"name": "marginals"},
    "copula": {"name": "copula"},
    "hpdp": {"name": "hpdp"},
    "vhdp": {"name": "vhdp"},
    "idp-ir": {"name": "idp-ir", "k": 20, "acknowledge": NO_PROMISE},
}


def mapping_without_class(name: str, partition: str = "horizontal", **changes: Any) -> dict[str, Any]:
    mapping = small_mapping(mechanism=MECHANISMS[name], **{"class": None}, **changes)
    if name in ("vhdp", "idp-ir"):
        mapping["records"]["public"], mapping["privacy"]["neighbors"] = True, "replace"
    return repartition(mapping, partition)


def problems_of(mapping: dict[str, Any]) -> list[str]:
    with pytest.raises(AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    return list(caught.value.problems)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_agreement_without_a_class_has_its_attributes_as_columns(name):
    agreement = cp.agreement_from_mapping(mapping_without_class(name))
    assert agreement.class_ is None and agreement.class_name is None
    assert list(agreement.columns) == list(agreement.encoding) == list(agreement.attributes)
    assert not agreement.class_is_shared and agreement.columns_of("p0") == tuple(agreement.attributes)
    assert PublicColumns.of_agreement(agreement).class_name is None
    assert "class" not in json.loads(agreement.canonical()) and "class" not in agreement.parts()


def test_adding_a_class_gives_the_agreement_another_hash():
    without = mapping_without_class("marginals")
    named = {**without, "class": {"name": "default", "values": ["no", "yes"]}}
    assert cp.agreement_from_mapping(without).hash != cp.agreement_from_mapping(named).hash


def test_steps_that_need_a_class_raise_without_one():
    agreement = cp.agreement_from_mapping(mapping_without_class("marginals"))
    for ask in (lambda: agreement.required_class, lambda: agreement.class_domain, lambda: agreement.class_owner):
        with pytest.raises(ValueError, match="the agreement has no class"):
            ask()


def test_only_the_mechanism_that_predicts_the_class_needs_one():
    shipped = {name: known for name, known in known_settings().items() if known.__module__.startswith("copublish")}
    needing = {name for name, settings in shipped.items() if settings.needs_class}
    assert needing == {"specialization", "distdiffgen", "arbdistdp"}
    assert not MechanismSettings.needs_class
    (problem,) = problems_of(small_mapping(**{"class": None}))
    assert problem == (
        "class: it is missing, and the mechanism 'specialization' predicts it. Write a section [class] with a name and "
        "values, or take a mechanism that needs none"
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_column_in_all_is_refused_and_with_a_class_it_is_not(name):
    mapping = mapping_without_class(name)
    if name == "marginals":
        mapping["mechanism"] = {"name": "marginals", "rounds": 0}  # two columns have no table to choose
    mapping["attributes"] = {"age": mapping["attributes"]["age"]}
    assert problems_of(mapping) == [
        "attributes: a release has at least two columns, and this one has one. Add an attribute, or a section [class]"
    ]
    cp.agreement_from_mapping({**mapping, "class": {"name": "default", "values": ["no", "yes"]}})


def owners_of_columns(mechanism: str = "marginals") -> dict[str, Any]:
    """Three owners: one holds age, one region, and the third the class and nothing else."""
    mapping = small_mapping(mechanism=MECHANISMS[mechanism])
    mapping["parties"] = {"p0": {}, "p1": {}, "p2": {}}
    attributes = mapping["attributes"]
    mapping["attributes"] = {
        "age": {**attributes["age"], "held_by": "p0"},
        "region": {**attributes["region"], "held_by": "p1"},
    }
    mapping["class"]["held_by"] = "p2"
    return mapping


OF_COLUMNS = [{"name": "specialization"}, *(one for one in MECHANISMS.values() if one["name"] != "hpdp")]
"""Mechanisms whose owners may hold columns."""


@pytest.mark.parametrize("mechanism", OF_COLUMNS)
def test_an_owner_may_hold_the_class_and_nothing_else(mechanism):
    mapping = {**owners_of_columns(), "mechanism": mechanism}
    if mechanism["name"] in ("vhdp", "idp-ir"):
        mapping["records"]["public"], mapping["privacy"]["neighbors"] = True, "replace"
    if mechanism["name"] == "marginals":
        mapping["mechanism"] = {**mechanism, "tables": [["age", "region"]]}
    agreement = cp.agreement_from_mapping(mapping)
    assert agreement.columns_of("p2") == ("default",) and agreement.class_owner == "p2"


def test_an_owner_without_any_column_is_refused():
    mapping = owners_of_columns()
    mapping["class"]["held_by"] = "p1"
    assert problems_of(mapping) == ["parties.p2: this party holds no column. Name it in a 'held_by', or leave it out"]
    del mapping["class"]
    assert problems_of(mapping) == ["parties.p2: this party holds no column. Name it in a 'held_by', or leave it out"]


def test_an_owner_that_no_held_by_names_is_refused_although_all_hold_a_class_that_names_nobody():
    mapping = owners_of_columns()
    del mapping["class"]["held_by"]
    assert problems_of(mapping) == [
        "parties.p2: this party holds no attribute. Name it in a 'held_by', or leave it out"
    ]
    mapping["class"]["held_by"] = ["p0", "p1", "p2"]  # now it is said that p2 has the class
    assert cp.agreement_from_mapping(mapping).class_is_shared


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("marginals", {"mechanism.first": "class-tables"}, 'mechanism.first: "class-tables" needs a [class]'),
        ("marginals", {"mechanism.tables": "class-triples"}, 'mechanism.tables: "class-triples" needs a [class]'),
        ("marginals", {"privacy.class_disagreement": "0.1"}, "the agreement has no section [class]. Remove it"),
        ("copula", {"budget": {"allocation": "use-informative"}}, 'use-informative" needs a [class], the column that'),
        ("vhdp", {"budget": {"allocation": "use-informative"}}, 'use-informative" needs a [class], the column that'),
    ],
)
def test_what_is_about_the_class_is_refused_without_one(name, change, said):
    mapping = copy.deepcopy(mapping_without_class(name, "vertical"))
    for dotted, value in change.items():
        section, _, key = dotted.partition(".")
        mapping[section] = {**mapping.get(section, {}), key: value} if key else value
    (problem,) = problems_of(mapping)
    assert said in problem


@pytest.mark.parametrize("name", ["copula", "vhdp"])
def test_gains_about_a_named_column_need_no_class(name):
    budget = {"allocation": "use-informative", "label": "region"}
    assert cp.agreement_from_mapping(mapping_without_class(name, budget=budget)).budget_label == "region"


def test_hpdp_without_numbers_two_values_and_a_class_is_refused_and_with_one_of_them_not():
    mapping = mapping_without_class("hpdp")
    numbers = {"age": mapping["attributes"].pop("age"), "income": mapping["attributes"].pop("income")}
    (problem,) = problems_of(mapping)
    assert problem.startswith("attributes: without a [class] an hpdp release is about numbers")
    cp.agreement_from_mapping({**mapping, "class": {"name": "default", "values": ["no", "yes"]}})
    cp.agreement_from_mapping({**mapping, "attributes": {**mapping["attributes"], **numbers}})
    two = with_first_values({"sex": {"kind": "categorical", "values": ["f", "m"]}})
    cp.agreement_from_mapping({**mapping, "attributes": {**mapping["attributes"], **two}})


def test_in_idp_ir_an_owner_may_publish_the_class_alone_and_epsilon_is_divided_by_columns_that_there_are():
    mapping = {**owners_of_columns("idp-ir"), "mechanism": MECHANISMS["idp-ir"]}
    mapping["records"]["public"], mapping["privacy"]["neighbors"] = True, "replace"
    plan = IdpIr().plan(cp.agreement_from_mapping(mapping))
    assert plan.epsilon_of == dict.fromkeys(("age", "region", "default"), Fraction(1, 3))
    del mapping["class"], mapping["parties"]["p2"]
    plan = IdpIr().plan(cp.agreement_from_mapping(mapping))
    assert plan.epsilon_of == dict.fromkeys(("age", "region"), Fraction(1, 2))
