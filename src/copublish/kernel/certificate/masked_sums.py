"""What is different about a release by masked sums, in words for descriptions and certificates."""

from __future__ import annotations

from copublish.agreement.model import Agreement
from copublish.kernel.noise.shared_laplace import NoiseShares


def how_noise_is_drawn(agreement: Agreement) -> str:
    """Who draws the noise."""
    if NoiseShares.of(agreement) is None:
        return "All noise is drawn jointly"
    return "All noise is the sum of shares that the owners of data draw"


def assumptions_about_noise(agreement: Agreement) -> list[str]:
    """Assumptions of noise in shares; nothing if a secure engine draws it."""
    shares = NoiseShares.of(agreement)
    if shares is None:
        return []
    owners = f"At most {shares.colluders} of the {len(shares.owners)} owners of data put together what they know"
    return [
        f"{owners}{_with_aggregator(agreement, shares)}.",
        f"The coins of the other owners, at least {shares.enough}, are uniform and secret.",
    ]


def limits_of_masked_sums(agreement: Agreement) -> list[str]:
    """Those from whom nothing is protected."""
    shares = NoiseShares.of(agreement)
    if shares is None:
        return []
    return [
        f"Anything from {_more_than(shares.colluders)} owners of data that collude{_counted(agreement, shares)}: too "
        "much of the noise would be known to them."
    ]


def seen_by_aggregator(agreement: Agreement, party: str) -> list[str]:
    """View of a party because it adds up for the others."""
    if agreement.engine.name != "masked-sum" or party != agreement.aggregator:
        return []
    shares, seen = NoiseShares.of(agreement), []
    if shares is not None and len(shares.owners) == 2 and party in shares.owners:
        # It has the one key there is.
        seen.append("the other owner's sums with its noise: the sums that are opened without this party's own")
    elif shares is not None:
        seen.append("every owner's sums under masks, which look random to it")
    return seen


def _with_aggregator(agreement: Agreement, shares: NoiseShares) -> str:
    """Words for the aggregator in a coalition: it brings a share of the noise if it owns data, and otherwise none."""
    if agreement.aggregator in shares.owners:
        return _counted(agreement, shares)
    # Where it compares pseudonyms it must collude with nobody, as is said beside this.
    adds_up = f", with '{agreement.aggregator}', which adds up the masked sums and holds no data, or without it"
    return "" if agreement.helper == agreement.aggregator else adds_up


def _counted(agreement: Agreement, shares: NoiseShares) -> str:
    """Say that an aggregator which owns data is one of the owners; nothing if it owns none."""
    is_owner = agreement.aggregator in shares.owners
    return f", '{agreement.aggregator}', which adds up the masked sums, counted among them" if is_owner else ""


def _more_than(colluders: int) -> str:
    return "two or more" if colluders == 1 else f"more than {colluders}"
