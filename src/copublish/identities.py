"""Identities and signing keys: how the other parties know an organization."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.errors import PassphraseError
    from copublish.party.keys.identity import list_identities, make_identity, own_fingerprint
    from copublish.party.keys.signing_key import SigningKey, signing_key
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.errors": ("PassphraseError",),
            "copublish.party.keys.identity": ("list_identities", "make_identity", "own_fingerprint"),
            "copublish.party.keys.signing_key": ("SigningKey", "signing_key"),
        },
    )

__all__ = [
    "PassphraseError",
    "SigningKey",
    "list_identities",
    "make_identity",
    "own_fingerprint",
    "signing_key",
]
