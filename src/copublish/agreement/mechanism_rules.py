"""Rules of agreements about the mechanisms, and the limits of each: what fits its budget and the engine's integers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from copublish.agreement.budget import broken_budget_rules, least_shares
from copublish.agreement.domain import NumericalDomain
from copublish.agreement.idp_ir_rules import broken_idp_ir_rules
from copublish.agreement.mechanism import KEYS_OF_MECHANISM, MAKERS_OF_NUMBERS

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

MAX_GAIN_CANDIDATES = 2**14
"""Splits on offer in one round: the engine's 62-bit integers hold a gain's noise and this many numbers beside it."""

MAX_COPULA_COLUMNS = 64
"""Columns of a copula release, the class included: their pairs share one budget."""

MIN_COPULA_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums of products may no longer fit the engine's 62-bit integers."""

MAX_VHDP_COLUMNS = 64
"""Columns of a vhdp release, the class included."""

MIN_VHDP_EPSILON, MAX_VHDP_SCALE = Fraction(1, 1000), 2**53
"""The largest scale of noise on numbers, in steps of their last decimal: it has to fit 62-bit integers."""

MAX_COORDINATES = 256
"""Of an hpdp release: numbers and the values of categories. Every two of them have a sum in one budget."""

MAX_STEPS = 2**53
"""Between a number's bounds, in its last agreed decimal, where numbers are read as such."""

MIN_HPDP_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums may no longer fit the engine's 62-bit integers."""


def broken_mechanism_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule of its mechanism that the agreement breaks."""
    yield from _numbers_read(agreement)
    yield from _keys(agreement)
    yield from broken_budget_rules(agreement)
    yield from _candidates(agreement)
    yield from _copula(agreement)
    yield from _gaussian(agreement)
    yield from _hpdp(agreement)
    yield from _vhdp(agreement)
    yield from broken_idp_ir_rules(agreement)


def _numbers_read(agreement: Agreement) -> Iterator[str]:
    if not agreement.mechanism.reads_numbers:
        return
    for name, domain in agreement.domains.items():
        if isinstance(domain, NumericalDomain):
            farthest = max(abs(domain.lower), abs(domain.upper)).scaleb(domain.decimals_of_numbers)
            if farthest > MAX_STEPS:
                yield (
                    f"attributes.{name}.bounds: with their decimals they have more digits than numbers are read with "
                    f"(up to {MAX_STEPS:,} of the last decimal). Take fewer decimals and a coarser grid"
                )


def _keys(agreement: Agreement) -> Iterator[str]:
    name = agreement.mechanism.name
    known = ("name", *KEYS_OF_MECHANISM[name])
    for key in type(agreement.mechanism).model_fields:
        is_said = key in agreement.mechanism.model_fields_set and getattr(agreement.mechanism, key) is not None
        if key not in known and is_said:
            yield (
                f"mechanism.{key}: it means nothing to the mechanism '{name}'. Remove it; keys allowed here: "
                f"{', '.join(known)}"
            )
    for column, attribute in agreement.attributes.items():
        if name not in MAKERS_OF_NUMBERS and attribute.kind == "numerical" and attribute.decimals is not None:
            yield (
                f"attributes.{column}.decimals: it says how published numbers are written, and the mechanism '{name}' "
                "makes none. Remove it"
            )


def _copula(agreement: Agreement) -> Iterator[str]:
    if agreement.mechanism.name != "copula":
        return
    if agreement.epsilon < MIN_COPULA_EPSILON:
        yield (
            f"privacy.epsilon: a copula release needs at least {float(MIN_COPULA_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    columns = (*agreement.attributes, agreement.class_.name)
    if len(columns) > MAX_COPULA_COLUMNS:
        yield (
            f"attributes: a copula release has at most {MAX_COPULA_COLUMNS} columns, the class included, and these are "
            f"{len(columns)}. Leave some out: every pair of columns shares one budget"
        )
    yield from _constant_columns(agreement)


def _constant_columns(agreement: Agreement) -> Iterator[str]:
    for name, domain in agreement.domains.items():
        if domain.size < 2:
            yield f"attributes.{name}: it has one value alone, so there is nothing to measure. Remove it"


def _vhdp(agreement: Agreement) -> Iterator[str]:
    if agreement.mechanism.name != "vhdp":
        return
    if agreement.privacy.neighbours != "replace" or not agreement.records.public:
        yield (
            "mechanism.name: a vhdp release has one row for every person, so it shows how many there are, and it "
            'protects values, not membership. Write neighbours = "replace" in [privacy] and public = true in '
            "[records], or take the mechanism 'copula'"
        )
    if agreement.partition == "arbitrary":
        yield (
            "partition: in a vhdp release the owner of a column, or of a row, adds its noise, so cells cannot be "
            "spread. Take vertical or horizontal data, or the mechanism 'copula'"
        )
    if agreement.epsilon < MIN_VHDP_EPSILON:
        yield (
            f"privacy.epsilon: a vhdp release needs at least {float(MIN_VHDP_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    n_columns = len(agreement.columns)
    if n_columns > MAX_VHDP_COLUMNS:
        yield (
            f"attributes: a vhdp release has at most {MAX_VHDP_COLUMNS} columns, the class included, and these are "
            f"{n_columns}. Leave some out: all columns share one budget"
        )
    least = {} if any(broken_budget_rules(agreement)) else least_shares(agreement)
    for name, domain in agreement.domains.items():
        if isinstance(domain, NumericalDomain) and name in least:
            # Half of a column's budget is for its numbers where the other half hides which of them are missing.
            steps = (1 + domain.missing) * domain.steps
            if steps > MAX_VHDP_SCALE * agreement.epsilon * least[name]:
                yield (
                    f"attributes.{name}: its noise would be too large for whole numbers of its last decimal. Write "
                    "fewer decimals, narrower bounds or a larger weight, or raise privacy.epsilon"
                )
    yield from _constant_columns(agreement)


def _gaussian(agreement: Agreement) -> Iterator[str]:
    is_gaussian = agreement.mechanism.noise == "gaussian"
    if agreement.privacy.delta is not None and not is_gaussian:
        yield (
            "privacy.delta: only Gaussian noise needs it. Remove it, or take the mechanism 'hpdp' and write noise = "
            '"gaussian" in [mechanism]'
        )
    if is_gaussian and agreement.mechanism.name == "hpdp" and agreement.privacy.delta is None:
        yield 'privacy.delta: noise = "gaussian" needs one. Write it, like delta = "1e-6", or take noise = "laplace"'
    if is_gaussian and agreement.engine.name == "masked-sum":
        yield (
            "mechanism.noise: without a secure engine owners can only add shares of Laplace noise. Write noise = "
            '"laplace" and remove privacy.delta, or take another engine'
        )


def _hpdp(agreement: Agreement) -> Iterator[str]:
    if agreement.mechanism.name != "hpdp":
        return
    if agreement.partition != "horizontal":
        yield (
            'partition: the mechanism hpdp is for owners of whole rows. Write partition = "horizontal", or take the '
            "mechanism 'copula'"
        )
    if agreement.epsilon < MIN_HPDP_EPSILON:
        yield (
            f"privacy.epsilon: an hpdp release needs at least {float(MIN_HPDP_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    size = 0
    for name, domain in agreement.columns.items():
        attribute = agreement.attributes.get(name)
        if attribute is not None and attribute.kind == "numerical":
            size += 1 + domain.missing
            if attribute.domain(name).steps > MAX_STEPS:
                yield f"attributes.{name}.decimals: too many for numbers between these bounds. Take fewer"
        else:
            size += 1 if domain.size == 2 else domain.size
    yield from _constant_columns(agreement)
    if size > MAX_COORDINATES:
        sums = size * (size + 1) // 2
        yield (
            f"attributes: an hpdp release has at most {MAX_COORDINATES} coordinates (numbers, and values of categories "
            f"with more than two of them), and these are {size:,}: {sums:,} sums, for which the engine would need "
            f"about {_gibibytes(sums):.1f} GiB. Leave columns out, or put rare values together"
        )


def _gibibytes(sums: int) -> float:
    """Return about how much memory the noise of so many sums takes: twice 40 coins of 62 bits, held four times."""
    return sums * 2 * 40 * 62 / 8 * 4 / 2**30


def _candidates(agreement: Agreement) -> Iterator[str]:
    if "score" not in KEYS_OF_MECHANISM[agreement.mechanism.name]:
        return
    candidates = sum(domain.max_splits for domain in agreement.domains.values())
    if agreement.mechanism.score != "max" and candidates > MAX_GAIN_CANDIDATES:
        yield (
            f"mechanism.score: '{agreement.mechanism.score}' compares at most {MAX_GAIN_CANDIDATES:,} splits, and "
            f'these attributes have {candidates:,}. Take coarser grids or fewer attributes, or write score = "max"'
        )
