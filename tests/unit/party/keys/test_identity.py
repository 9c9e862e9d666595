"""Identities: made, read, shown, and told apart."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from copublish.errors import MeetingError
from copublish.party.keys.identity import (
    certificate_problem,
    certificates_in,
    fingerprint,
    load_identity,
    make_identity,
    new_identity,
)
from copublish.party.keys.signing_key import TOKEN_FILE, load_signer
from copublish.release.evidence.signing import common_name, pem_of
from support.certificates import Authority, self_signed
from support.profiles import examples


def test_the_fingerprint_is_what_openssl_prints(tmp_path):
    identity = new_identity("bank", tmp_path / "id", days=30)
    command = ["openssl", "x509", "-in", tmp_path / "id" / "certificate.pem", "-noout", "-fingerprint", "-sha256"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split("=")[1]
    assert identity.fingerprint == f"sha256:{printed.replace(':', '').lower()}"


def test_an_identity_is_read_as_it_was_made_and_its_key_is_private(tmp_path):
    made = new_identity("bank", tmp_path / "a" / "b", days=30)
    read = load_identity(tmp_path / "a" / "b")
    assert (read.name, read.fingerprint) == ("bank", made.fingerprint)
    assert read.key_file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


def test_an_identity_is_never_replaced(tmp_path):
    made = new_identity("bank", tmp_path, days=30)
    with pytest.raises(MeetingError, match="never replaced"):
        new_identity("bank", tmp_path, days=30)
    assert load_identity(tmp_path).fingerprint == made.fingerprint


def test_a_missing_identity_says_how_to_make_one(tmp_path):
    with pytest.raises(MeetingError, match="copublish identity new"):
        load_identity(tmp_path / "nothing")


def test_a_key_that_others_can_read_is_refused(tmp_path):
    new_identity("bank", tmp_path, days=30)
    (tmp_path / "key.pem").chmod(0o640)
    with pytest.raises(MeetingError, match="chmod 600"):
        load_identity(tmp_path)


@pytest.mark.parametrize("rights", [0o770, 0o707, 0o720, 0o702])
def test_a_folder_in_which_others_can_put_a_key_is_refused(tmp_path, rights):
    new_identity("bank", tmp_path / "id", days=30)
    (tmp_path / "id").chmod(rights)
    for look in (load_identity, load_signer, certificates_in):
        with pytest.raises(MeetingError, match=f"chmod go-w {tmp_path / 'id'}"):
            look(tmp_path / "id")
    (tmp_path / "id").chmod(0o755)
    assert load_identity(tmp_path / "id").name == "bank"


def test_a_folder_with_the_place_of_a_token_is_refused_in_the_same_way(tmp_path):
    (tmp_path / TOKEN_FILE).write_text("{}")
    tmp_path.chmod(0o777)
    with pytest.raises(MeetingError, match="Others can change what is in"):
        load_signer(tmp_path)


@pytest.mark.parametrize("name", ["b" * 65, "b" * 5000, "bank\n", "", "a b"])
def test_a_name_that_no_certificate_can_have_is_refused_with_words(tmp_path, monkeypatch, name):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    with pytest.raises(MeetingError, match="up to 64 letters") as refused:
        make_identity(name)
    assert len(str(refused.value)) < 300
    assert make_identity("b" * 64)


def test_a_key_of_another_certificate_is_refused(tmp_path):
    new_identity("bank", tmp_path / "a", days=30)
    new_identity("bank", tmp_path / "b", days=30)
    (tmp_path / "a" / "certificate.pem").write_bytes((tmp_path / "b" / "certificate.pem").read_bytes())
    with pytest.raises(MeetingError, match="does not belong"):
        load_identity(tmp_path / "a")


def test_an_expired_identity_is_refused_at_home(tmp_path):
    self_signed("bank", tmp_path, ended_days_ago=3)
    with pytest.raises(MeetingError, match="expired on"):
        load_identity(tmp_path)


@examples(60)
@given(
    st.sampled_from(["key.pem", "certificate.pem"]),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(0, 4000),
)
def test_damaged_files_are_a_clean_error(tmp_path_factory, name, changes, keep):
    folder = tmp_path_factory.mktemp("damaged")
    new_identity("bank", folder, days=30)
    secret = (folder / "key.pem").read_text().splitlines()[1:-1]
    content = bytearray((folder / name).read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    (folder / name).write_bytes(content[:keep])
    try:
        load_identity(folder)  # a change in a comment or a line end may be harmless
    except MeetingError as exc:
        assert not any(line in str(exc) for line in secret)


def test_a_certificate_whose_name_is_no_text_has_none(tmp_path):
    """Found by `make fuzz`: the name is read when it is asked for, and not with the certificate."""
    whole = new_identity("bank", tmp_path, days=30).certificate.public_bytes(Encoding.DER)
    damaged = x509.load_der_x509_certificate(whole.replace(b"bank", b"\xffank"))
    assert common_name(x509.load_der_x509_certificate(whole)) == "bank"
    assert common_name(damaged) == ""
    (tmp_path / "certificate.pem").write_text(pem_of(damaged))
    assert load_identity(tmp_path).name == ""


def problem(chain, **pins):
    return certificate_problem(tuple(chain), "bank", **{"pinned": None, "authority": None, **pins})


def test_a_pinned_certificate_is_accepted_and_any_other_named(tmp_path):
    ours, other = (new_identity("bank", tmp_path / name, days=30).certificate for name in "ab")
    assert problem([ours], pinned=fingerprint(ours)) is None
    assert "another certificate" in problem([other], pinned=fingerprint(ours))
    assert "no certificate" in problem([], pinned=fingerprint(ours))
    # Showing the right certificate after one's own proves nothing: the handshake proves the first one's key.
    assert "another certificate" in problem([other, ours], pinned=fingerprint(ours))


def test_an_expired_certificate_is_named_as_such(tmp_path):
    old = self_signed("bank", tmp_path, ended_days_ago=2)
    assert "expired on" in problem([old], pinned=fingerprint(old))


@pytest.mark.parametrize("hours", [-20, 20])
def test_clocks_that_differ_by_hours_are_no_reason_to_fail(tmp_path, hours):
    """A certificate that ended an hour ago, or starts in 20 hours, by our clock."""
    start = datetime.now(UTC) + timedelta(hours=hours)
    fresh = self_signed("bank", tmp_path, start=start, days=30 if hours > 0 else 0.8)
    assert problem([fresh], pinned=fingerprint(fresh)) is None


def test_an_authority_vouches_for_the_party_it_names_and_for_nobody_else(tmp_path):
    ours, stranger = Authority("ours"), Authority("stranger")
    bank, loans = ours.issue("bank"), ours.issue("loans")
    pin = fingerprint(ours.certificate)
    assert problem([bank, ours.certificate], authority=pin) is None
    assert "another name" in problem([loans, ours.certificate], authority=pin)
    assert "without that of the authority" in problem([bank], authority=pin)
    assert "without that of the authority" in problem([stranger.issue("bank"), stranger.certificate], authority=pin)
    assert "did not issue" in problem([stranger.issue("bank"), ours.certificate], authority=pin)
    assert "without" in problem([bank, ours.certificate], authority=None)


def test_a_certificate_that_copies_the_authority_s_name_is_not_issued_by_it():
    ours, impostor = Authority("ours"), Authority("ours")
    assert "did not issue" in problem(
        [impostor.issue("bank"), ours.certificate], authority=fingerprint(ours.certificate)
    )


def test_no_usable_name_is_no_name():
    key = ec.generate_private_key(ec.SECP256R1())
    authority = Authority("ours")
    names = [x509.NameAttribute(NameOID.COMMON_NAME, name) for name in ("bank", "loans")]
    double = authority.sign(x509.Name(names), key.public_key())
    assert "another name" in problem([double, authority.certificate], authority=fingerprint(authority.certificate))
