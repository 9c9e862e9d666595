"""Certificates, measurements and models are what their JSON says, for every mechanism; folders give them back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from copublish import Certificate, FragmentError, Release, load_release
from copublish.mechanisms.registry import mechanisms
from copublish.release.measurements import describe
from copublish.types import TypedJson
from support.any_release import any_release, cases_of
from support.profiles import examples

MECHANISMS = ["marginals", "specialization", "copula", "hpdp", "vhdp", "idp-ir"]

FEW = examples(8)


@st.composite
def releases(draw: st.DrawFn, mechanism: str) -> Release:
    case = draw(st.sampled_from(cases_of(mechanism)))
    share, seed = draw(st.sampled_from([1.0, 0.7, 0.5, 0.2, 0.05, 0.0])), draw(st.integers(0, 10**6))
    try:
        return any_release(case, share, seed)
    except FragmentError:  # idp-ir needs enough people for a cluster
        assume(False)
        raise


def assert_same_again(stated: TypedJson) -> None:
    said = stated.to_json()
    read = json.loads(json.dumps(said, allow_nan=False))
    assert read == said, "plain JSON values and nothing else"
    again = type(stated).from_json(read)
    assert again == stated
    assert again.to_json() == said


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(data=st.data())
@FEW
def test_measurements_models_and_certificates_are_read_back_as_they_were(mechanism: str, data: st.DataObject) -> None:
    release = data.draw(releases(mechanism))
    assert release.mechanism.name == release.certificate.mechanism == mechanism
    assert type(release.published.model) is release.mechanism.model
    assert_same_again(release.published.model)
    assert_same_again(describe(release.published))
    assert_same_again(release.certificate)
    assert_same_again(replace(release.certificate, files={"records.parquet": "ab" * 32}))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(data=st.data())
@examples(3)
def test_a_folder_gives_the_release_back(
    mechanism: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    release = data.draw(releases(mechanism))
    assert_same_release(release, load_release(release.write(tmp_path_factory.mktemp("written") / "release")))


def assert_same_release(one: Release, other: Release) -> None:
    assert one.certificate == other.certificate
    assert one.published.columns == other.published.columns
    assert one.published.model == other.published.model
    assert describe(one.published) == describe(other.published)
    for mine, theirs in zip(one.published.measured, other.published.measured, strict=True):
        assert mine.values.tolist() == theirs.values.tolist(), mine.place
    assert one.mechanism is other.mechanism and one.tables == other.tables
    for name in ("records", *one.tables):
        assert one.table(name).equals(other.table(name)), name
    assert one.digest() == other.digest()
    assert one.files() == other.files()


def test_every_mechanism_of_the_package_is_among_them() -> None:
    own = [known.name for known in mechanisms() if type(known).__module__.startswith("copublish.")]
    assert own == MECHANISMS


def test_another_value_is_another_certificate() -> None:
    certificate = any_release("hpdp laplace").certificate
    said = certificate.to_json()
    said["epsilon"]["public"]["replace"] = "3"
    assert Certificate.from_json(said) != certificate
