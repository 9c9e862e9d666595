"""The one list of mechanisms: an unknown name is an error wherever it comes up, and keys belong to one mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import copublish as cp
from copublish.agreement.settings import MechanismSettings, contradictions, known_settings
from copublish.kernel.ledger.ledger import Ledger
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.copula import Copula
from copublish.mechanisms.registry import mechanism_named, mechanism_of, mechanisms, plan_of, register
from copublish.mechanisms.specialization import Specialization
from copublish.party.local.simulation import simulate_fragments
from copublish.party.session import preflight
from copublish.release.prepare import prepare, prepare_simulation
from copublish.tools.planning.trials import with_mechanism
from support import small_mapping

NAMES = ("specialization", "distdiffgen", "arbdistdp", "marginals", "copula", "hpdp", "vhdp", "idp-ir")
"""All that agreements may name. A plug-in of another test may have added its own."""

UNKNOWN = ["k-anonymity", "Copula", "copula ", "", "specialisation"]


def assert_names_the_known(error: cp.AgreementError, unknown: str) -> None:
    (problem,) = error.problems
    assert problem.startswith(f"mechanism.name: {unknown!r} is not one of ")
    assert all(f"'{name}'" in problem for name in NAMES)


# --- An unknown name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_agreement_on_an_unknown_mechanism_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(small_mapping(mechanism={"name": name}))
    assert_names_the_known(caught.value, name)


@pytest.mark.parametrize("name", [7, None, True, ["copula"], {"copula": {}}])
def test_a_name_that_is_no_text_is_answered_with_the_known_ones(name: Any) -> None:
    mapping = small_mapping()
    mapping["mechanism"] = {"name": name}
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    (problem,) = caught.value.problems
    assert problem.startswith("mechanism.name: expected text in quotes") and "'copula'" in problem


def test_an_unknown_mechanism_does_not_hide_other_mistakes() -> None:
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(small_mapping(mechanism={"name": "none"}, **{"privacy.epsilon": 0}))
    assert sorted(problem.split(":")[0] for problem in caught.value.problems) == ["mechanism.name", "privacy.epsilon"]


def unchecked(name: str) -> cp.Agreement:
    """An agreement that nobody has checked: `model_copy` does not validate."""
    agreement = cp.agreement_from_mapping(small_mapping())
    return agreement.model_copy(update={"mechanism": MechanismSettings(name=name)})


NOTHING_READ = {"bank": "no such file", "loans": "no such file"}

WAYS: dict[str, Callable[[cp.Agreement], Any]] = {
    "plan_of": plan_of,
    "mechanism_of": mechanism_of,
    "describe": cp.describe,
    "check": cp.check,
    "check data": lambda agreement: cp.check(agreement, "bank", "no such file"),
    "plan": cp.plan,
    "prepare": prepare,
    "prepare_simulation": prepare_simulation,
    "simulate": lambda agreement: cp.simulate(agreement, NOTHING_READ),
    "simulate in processes": lambda agreement: cp.simulate(agreement, NOTHING_READ, engine="spu"),
    "simulate_fragments": lambda agreement: simulate_fragments(agreement, {}),
    "with_mechanism": lambda agreement: with_mechanism(agreement, "copula"),
}
"""Everything that asks for the agreed mechanism."""


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_mechanism_is_refused_where_validation_was_bypassed(way: str, name: str) -> None:
    with pytest.raises(cp.AgreementError) as caught:
        WAYS[way](unchecked(name))
    assert_names_the_known(caught.value, name)


def test_a_node_refuses_an_unknown_mechanism_before_it_writes_or_reserves(tmp_path: Path) -> None:
    ledger = Ledger(":memory:")
    with pytest.raises(cp.AgreementError) as caught:
        preflight(unchecked("none"), "bank", "no such file", ledger, out=tmp_path / "new" / "release", overwrite=False)
    assert_names_the_known(caught.value, "none")
    assert ledger.entries() == [] and not (tmp_path / "new").exists()


def test_settings_of_one_mechanism_under_the_name_of_another_are_refused() -> None:
    """Whoever bypasses validation does not get another mechanism's plan with a default in the place of settings."""
    agreement = cp.agreement_from_mapping(small_mapping(mechanism={"name": "copula"}))
    for name in NAMES:
        if name == "vhdp":
            continue  # which has no settings
        mixed = agreement.model_copy(update={"mechanism": MechanismSettings(name=name)})
        with pytest.raises(TypeError, match=f"the agreement is about '{name}'"):
            plan_of(mixed).method()


# --- Keys ------------------------------------------------------------------------------------------------------------

KEYS: dict[str, tuple[str, ...]] = {
    "specialization": ("specializations", "score", "selection_share", "max_cells"),
    "marginals": ("rounds", "tables", "first", "records", "model_cells"),
    "copula": ("dependence_share",),
    "hpdp": ("noise", "records"),
    "vhdp": (),
    "idp-ir": ("k", "local_sensitivity", "category_order", "drop_missing", "acknowledge"),
}
"""The keys of the section [mechanism], written down by hand."""

FOREIGN = [
    (name, key)
    for name in NAMES
    for other, keys in KEYS.items()
    for key in keys
    if key not in KEYS[mechanism_named(name).name]
]


def test_the_keys_are_those_of_the_settings() -> None:
    for name, keys in KEYS.items():
        assert tuple(known_settings()[name].model_fields) == ("name", *keys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "key"), FOREIGN)
@pytest.mark.parametrize("value", [1, "max", None, {"a": 1}])
def test_keys_of_another_mechanism_mean_nothing_to_this_one(name: str, key: str, value: Any) -> None:
    mapping = small_mapping()
    mapping["mechanism"] = {"name": name, key: value}
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    own = ", ".join(("name", *KEYS[mechanism_named(name).name]))
    said = f"mechanism.{key}: it means nothing to the mechanism '{name}'. Remove it; keys allowed here: {own}"
    assert said in caught.value.problems


def test_several_foreign_keys_are_all_named_and_own_mistakes_with_them() -> None:
    section = {"name": "copula", "k": 5, "specializations": 3, "dependence_share": 7, "dependence": 1}
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(small_mapping(mechanism=section))
    assert {problem.split(":")[0]: problem.split(": ")[1] for problem in caught.value.problems} == {
        "mechanism.k": "it means nothing to the mechanism 'copula'. Remove it; keys allowed here",
        "mechanism.specializations": "it means nothing to the mechanism 'copula'. Remove it; keys allowed here",
        "mechanism.dependence_share": "must be at most 0.99, got 7",
        "mechanism.dependence": "there is no such key; did you mean 'dependence_share'?",
    }


def test_a_key_that_no_mechanism_has_is_answered_with_the_nearest_or_all() -> None:
    for key, said in (("specialisations", "did you mean 'specializations'?"), ("speed", "Keys allowed here: name, ")):
        with pytest.raises(cp.AgreementError) as caught:
            cp.agreement_from_mapping(small_mapping(mechanism={"name": "specialization", key: 3}))
        (problem,) = caught.value.problems
        assert problem.startswith(f"mechanism.{key}: there is no such key") and said in problem


# --- The list --------------------------------------------------------------------------------------------------------


def test_every_name_has_settings_and_one_mechanism() -> None:
    assert set(NAMES) <= set(known_settings())
    assert [mechanism_named(name).name for name in NAMES] == [
        *["specialization"] * 3,
        *("marginals", "copula", "hpdp", "vhdp", "idp-ir"),
    ]
    assert len(set(mechanisms())) == len(mechanisms())


def test_a_name_is_given_once() -> None:
    class OtherSettings(MechanismSettings):
        name: Literal["copula"]

    class Other(Specialization):
        settings = OtherSettings

    before = dict(known_settings())
    with pytest.raises(ValueError) as caught:
        register(Other())
    assert str(caught.value) == (
        "Other cannot be registered: there is a mechanism 'copula' already (copublish.mechanisms.copula.Copula): take "
        "another name in the field 'name' of its settings, or uninstall the package of one of the two. Change the "
        "class and register it again; until then no agreement can name it"
    )
    assert dict(known_settings()) == before
    register(Specialization())  # the same one again is no other one
    assert mechanism_named("copula").name == "copula"


def test_a_second_name_that_is_taken_registers_neither() -> None:
    class OtherSettings(MechanismSettings):
        name: Literal["free-name", "distdiffgen", "hpdp"]

    class Other(Specialization):
        settings = OtherSettings

    before = dict(known_settings())
    with pytest.raises(ValueError, match=r"a mechanism 'distdiffgen' already.*; there is a mechanism 'hpdp' already"):
        register(Other())
    assert dict(known_settings()) == before
    with pytest.raises(cp.AgreementError):
        mechanism_named("free-name")


class NoSettings(Mechanism):
    """Has all methods and none of the attributes."""

    plan = publish = lambda self, _: None


class OddSettings(NoSettings):
    settings, version, words = {"name": "odd"}, 1, Specialization.words


class OwnSettings(MechanismSettings):
    name: Literal["never-registered"]


class NoWords(NoSettings):
    settings, version = OwnSettings, 1


class OddWords(NoWords):
    words: ClassVar = {"title": "Records", "kind": "synthetic", "made": "A.", "kept": "B.", "lost": "C."}


class EmptyWords(NoWords):
    words = replace(Specialization.words, lost=" ", title="")


class NoVersion(NoSettings):
    settings, words = OwnSettings, Specialization.words


class OddVersion(NoVersion):
    version = "1"


class OddModel(NoWords):
    words, model = Specialization.words, dict


INCOMPLETE: dict[str, tuple[Any, str]] = {
    "a class": (
        Specialization,
        r"it is a class, and an object is registered: register\(Specialization\(\)\)",
    ),
    "another object": (object(), "object cannot be registered: it does not derive from .*Mechanism"),
    "no attributes": (NoSettings(), "its class lacks 'settings', 'version', 'words'"),
    "settings of another kind": (OddSettings(), "'settings' has to be a class that derives from MechanismSettings"),
    "no words": (NoWords(), "NoWords cannot be registered: its class lacks 'words'. Change the class and register it"),
    "words of another kind": (OddWords(), "'words' has to be an object of copublish.mechanisms.published.Words"),
    "words that say nothing": (EmptyWords(), "'words' has to say something in 'title', 'lost'"),
    "no version": (NoVersion(), "its class lacks 'version'"),
    "a version of another kind": (OddVersion(), "'version' has to be a whole number"),
    "a model of another kind": (OddModel(), "'model' has to be a class that derives from .*published.Model"),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_an_incomplete_mechanism_is_refused_with_what_it_lacks(case: str) -> None:
    incomplete, words = INCOMPLETE[case]
    before = dict(known_settings())
    with pytest.raises(ValueError, match=words):
        register(incomplete)
    assert dict(known_settings()) == before


@pytest.mark.parametrize("member", ["plan", "publish"])
def test_a_mechanism_without_a_method_cannot_even_be_made(member: str) -> None:
    methods = {name: lambda self, *_: None for name in ("plan", "publish") if name != member}
    lacking = type("Lacking", (Mechanism,), {"settings": OwnSettings, "version": 1, "words": Copula.words, **methods})
    with pytest.raises(TypeError, match=f"Lacking with abstract method '?{member}"):
        lacking()


class SoundSettings(MechanismSettings):
    name: Literal["not-to-be-registered"]


def no_promise(self: MechanismSettings, agreement: cp.Agreement) -> None:
    return None


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"__annotations__": {"name": "str"}}, "it has no name"),
    "a name that looks like another": (
        {"__annotations__": {"name": Literal["idp_ir", "own"]}},
        "a name has lower-case letters, digits and hyphens only, and begins with a letter, unlike 'idp_ir'",
    ),
    "a name in capitals": ({"__annotations__": {"name": Literal["Copula"]}}, "unlike 'Copula'"),
    "an empty name": ({"__annotations__": {"name": Literal[""]}}, "it has no name"),
    "a trait that agreements could set": (
        {"__annotations__": {"draws_records": bool}, "draws_records": True},
        "'draws_records' would be a key of agreements",
    ),
    "a trait that depends on the agreement": (
        {"publishes_each_record": property(lambda self: True)},
        "'publishes_each_record' has to be True or False",
    ),
    "counts alone and numbers": ({"counts_alone": True, "reads_numbers": True}, "('counts_alone'), or numbers"),
    "no partition": ({"partitions": ()}, "'partitions' has to name some of 'horizontal'"),
    "an unknown partition": ({"partitions": ("diagonal",)}, "'partitions' has to name some of"),
    "records published and drawn": (
        {"publishes_each_record": True, "draws_records": True},
        "published one by one ('publishes_each_record') or drawn",
    ),
    "Gaussian noise that nobody can ask for": (
        {"uses_gaussian_noise": property(lambda self: True)},
        "'how_to_get_gaussian_noise' says what to write exactly if",
    ),
    "a way to noise that it does not have": (
        {"how_to_get_gaussian_noise": "noise = 'gaussian'"},
        "'how_to_get_gaussian_noise' says what to write exactly if",
    ),
    "noise that follows delta without a word about it": (
        {"noise_follows_delta": True},
        "'how_to_get_gaussian_noise' says what to write exactly if",
    ),
    "noise that follows both": (
        {
            "noise_follows_delta": True,
            "uses_gaussian_noise": property(lambda self: True),
            "how_to_get_gaussian_noise": "noise = 'gaussian'",
        },
        "follows the agreed delta ('noise_follows_delta') or the settings",
    ),
    "a budget without a promise": (
        {"no_promise": no_promise, "spends_by_column": True},
        "no epsilon that columns could divide",
    ),
    "a delta without a promise": (
        {
            "no_promise": no_promise,
            "uses_gaussian_noise": property(lambda self: True),
            "how_to_get_gaussian_noise": "noise = 'gaussian'",
        },
        "no delta that Gaussian noise could be for",
    ),
}


@pytest.mark.filterwarnings("ignore:Field name .* shadows:UserWarning")  # which is what one of the cases is about
@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_traits_that_contradict_each_other_are_refused_and_nothing_is_registered(case: str) -> None:
    changes, words = CONTRADICTIONS[case]
    class_ = type("OddSettings", (SoundSettings,), {"__module__": __name__, **changes})

    class Odd(Specialization):
        settings = class_

    before = dict(known_settings())
    with pytest.raises(ValueError) as caught:
        register(Odd())
    assert str(caught.value).startswith("Odd cannot be registered: ") and words in str(caught.value)
    assert "Change the class and register it again" in str(caught.value)
    assert dict(known_settings()) == before


def test_a_mechanism_may_not_promise_what_its_settings_do_not() -> None:
    class Unpromising(SoundSettings):
        no_promise = no_promise

    class Odd(Specialization):
        settings, promises = Unpromising, True

    with pytest.raises(ValueError, match="'promises' has to say whether its settings have a promise"):
        register(Odd())


def test_traits_of_every_mechanism_agree() -> None:
    assert {known.name: list(contradictions(known.settings)) for known in mechanisms()} == {
        known.name: [] for known in mechanisms()
    }
    assert list(contradictions(SoundSettings)) == []


def test_an_agreement_that_names_a_mechanism_costs_what_it_says() -> None:
    agreement = cp.agreement_from_mapping(small_mapping(mechanism={"name": "distdiffgen"}))
    assert mechanism_of(agreement).name == "specialization" and agreement.mechanism.name == "distdiffgen"
    assert plan_of(agreement).cost().add_remove == Fraction(1)
