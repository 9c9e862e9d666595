"""The iDP-IR paper's aggregator for owners of columns: it joins perturbed records by pseudonymous identifiers.

Owners agree on a key that the aggregator does not have, so it sees pseudonyms and no names. Owners get the joined
records back, with the pseudonyms, and know whose they are: each then knows everybody's clusters at the others (E37).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from copublish.engines.comparing.pseudonyms import Pseudonyms, have_repeated, positions_of, pseudonyms_of
from copublish.errors import FragmentError
from copublish_reproduction.idp_ir import IdpIr
from copublish_reproduction.microdata import Microdata, refuse_common_columns, refuse_unusable


@dataclass(frozen=True)
class Submission:
    """What one owner sends: perturbed records under pseudonyms, in any order."""

    pseudonyms: Pseudonyms
    records: Microdata


def release_by_pseudonym(
    mechanism: IdpIr,
    owners: Mapping[str, Microdata],
    identifiers: Mapping[str, Sequence[str]],
    key: bytes,
    generator: np.random.Generator,
) -> Submission:
    """The columns of all owners joined by person; epsilon is divided by owners first and then by attributes.

    Args:
        mechanism: What each owner runs.
        owners: Their columns, each in an order of its own.
        identifiers: Whose record each row is.
        key: Known to the owners alone.
        generator: Of the noise.

    Raises:
        AgreementError: If two owners have the same attribute.
        FragmentError: If records are too few or break the schema, or the owners have other people.
    """
    refuse_common_columns(owners)
    for name, data in owners.items():
        refuse_unusable(name, data, mechanism.cluster_size)
    share = mechanism.epsilon / len(owners)
    return join_submissions(
        {
            name: Submission(
                pseudonyms_of(identifiers[name], len(identifiers[name]), key), mechanism.protect(data, share, generator)
            )
            for name, data in owners.items()
        }
    )


def join_submissions(submissions: Mapping[str, Submission]) -> Submission:
    """Join perturbed records at the aggregator, by ascending pseudonym.

    Raises:
        FragmentError: If an owner lists somebody twice, or other people than the first owner.
    """
    first = np.sort(next(iter(submissions.values())).pseudonyms)
    for name, submission in submissions.items():
        if have_repeated(submission.pseudonyms) or not np.array_equal(np.sort(submission.pseudonyms), first):
            raise FragmentError(name, ["Owners of columns list every person once, and all of them the same people."])
    parts = [s.records.rows(positions_of(first, s.pseudonyms)) for s in submissions.values()]
    attributes = tuple(attribute for part in parts for attribute in part.attributes)
    return Submission(first, Microdata(attributes, np.concatenate([part.values for part in parts], axis=1)))
