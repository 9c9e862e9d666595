"""What papers print for Adult and Nursery, to read a plan against.

What an epsilon means, in words and in people, and the epsilon for an error that people can bear. No data.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.mechanisms.registry import mechanisms
from copublish.mechanisms.shared.papers import BA, LA, Paper
from copublish.mechanisms.shared.tuning import Setting
from copublish.release.describe import Description, describe
from copublish.tools.evaluation.values import benchmark_of


@dataclass(frozen=True)
class Reference:
    """One accuracy that a paper prints for its own algorithm.

    Attributes:
        label: What it is, in words that say whose data it is about.
        algorithm: The paper's.
        citation: Of the paper.
        figure: Where in it.
        data_set: Which table it is about.
        is_planned_data: Whether the plan is about that table. If not, the accuracy cannot be compared.
        epsilon: The budget.
        accuracy: What is printed.
        kept: How much of what raw data give beyond the largest class, by the paper's own BA and LA: all that can be
            compared between data sets.
        note: How the paper puts it, where it is not plain.
    """

    label: str
    algorithm: str
    citation: str
    figure: str
    data_set: str
    is_planned_data: bool
    epsilon: str
    accuracy: float
    kept: float
    note: str


def references_for(agreement: Agreement, *, is_made_up: bool) -> list[dict[str, Any]]:
    """Everything that is printed, as JSON values; made-up data are nobody's, whatever the columns are called."""
    planned = None if is_made_up else benchmark_of(agreement)
    return [
        asdict(reference)
        for known in mechanisms()
        for paper in known.papers
        for reference in _printed_in(paper, planned)
    ]


def _printed_in(paper: Paper, planned: str | None) -> list[Reference]:
    found = []
    for (figure, table, series, epsilon), printed in paper.printed.items():
        if figure not in paper.figures or not series.startswith(f"{paper.algorithm} "):
            continue  # what a paper prints for others' algorithms is not its claim
        ba, la = (paper.printed[paper.baselines, table, name, ""].percent for name in (BA, LA))
        data_set = table.capitalize()
        found.append(
            Reference(
                label=f"printed for {data_set} in the {paper.algorithm} paper",
                algorithm=paper.algorithm,
                citation=paper.citation,
                figure=figure.rpartition("-fig")[2],
                data_set=data_set,
                is_planned_data=table == planned,
                epsilon=epsilon,
                accuracy=round(printed.percent / 100, 4),
                kept=round((printed.percent - la) / (ba - la), 3),
                note=printed.note,
            )
        )
    return sorted(found, key=lambda reference: (reference.data_set, float(reference.epsilon), reference.accuracy))


def kept(accuracy: float, ba: float, la: float) -> float | None:
    """How much of BA - LA an accuracy keeps; nothing where raw data give no more than the largest class."""
    return (accuracy - la) / (ba - la) if ba > la else None


TRIED = tuple(
    format(Decimal(digits).scaleb(power).normalize(), "f") for power in range(-7, 0) for digits in range(10, 101)
)
"""Budgets of two digits, rising: what an error is turned into."""


@dataclass(frozen=True)
class CountError:
    """By how much noise moves counts of one kind: in 95 of 100 cases by at most so many people."""

    what: str
    people: float


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What an epsilon means for one agreement.

    Attributes:
        epsilon: The budget.
        sure: How sure an onlooker can become, in a sentence.
        delta: A bound on delta, and what it stands for.
        errors: Counts that are published, what takes the largest share of epsilon first.
    """

    epsilon: str
    sure: str
    delta: str
    delta_is: str
    errors: tuple[CountError, ...]


def how_sure(epsilon: str, neighbors: Literal["add-remove", "replace"] = "add-remove") -> str:
    """How sure somebody who wavered can become by a release of this epsilon, in a sentence.

    Privacy:
        Guarantee: by epsilon-DP the odds of two neighboring tables change by a factor of e^epsilon at most, so even
        odds become at most e^epsilon to 1. With a delta this fails with at most that probability.
    """
    most = math.ceil(100 / (1 + math.exp(-float(Fraction(epsilon)))))
    if neighbors == "replace":
        return (
            f"Somebody who thought 50:50 between two possible sets of values of a person can become at most {most} % "
            "sure of one of them."
        )
    return f"Somebody who thought 50:50 can become at most {most} % sure that a person is in the data."


def meaning(agreement: Agreement, epsilon: str) -> Meaning:
    """What an epsilon would mean for an agreement with everything else as it is.

    Raises:
        AgreementError: If the mechanism cannot do with it.
    """
    described = describe(Setting(epsilon).apply(agreement))
    return Meaning(
        epsilon=epsilon,
        sure=how_sure(epsilon, agreement.privacy.neighbors),
        delta=described.delta_bound,
        delta_is=described.delta_is,
        errors=_errors(described),
    )


def _errors(described: Description) -> tuple[CountError, ...]:
    relation = described.epsilon.calibrated_to
    found: dict[tuple[str, float], Fraction] = {}
    for one in described.disclosures:
        if one.noise.scale_in_people is not None and one.noise.within_95_percent is not None:
            what = one.place.common or one.what
            price = Fraction(one.epsilon[relation]) if _is_number(one.epsilon[relation]) else Fraction(0)
            found.setdefault((what, one.noise.within_95_percent), price)
    ordered = sorted(found, key=lambda key: -found[key])
    return tuple(CountError(what, people) for what, people in ordered)


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def epsilon_for_error(agreement: Agreement, people: float) -> str:
    """The smallest epsilon, of two digits, with which published counts are off by at most so many people.

    In 95 of 100 cases; of several kinds of counts, those that take the largest share of epsilon.

    Raises:
        EvaluationError: If this mechanism publishes no counts, or no epsilon up to 10 is enough.
    """
    low, high = 0, len(TRIED)
    while low < high:
        middle = (low + high) // 2
        off_by = _error_at(agreement, TRIED[middle])
        if off_by is None or off_by > people:
            low = middle + 1
        else:
            high = middle
    if low == len(TRIED):
        off_by = _error_at(agreement, TRIED[-1])
        if off_by is None:
            raise EvaluationError(
                f"The mechanism '{agreement.mechanism.name}' publishes no counts whose error is known in people."
            )
        raise EvaluationError(
            f"No epsilon up to 10 keeps counts within {people:g} people in 95 of 100 cases: at 10 it is {off_by:g}."
        )
    return TRIED[low]


def _error_at(agreement: Agreement, epsilon: str) -> float | None:
    try:
        errors = meaning(agreement, epsilon).errors
    except AgreementError:  # so little that the mechanism cannot do with it
        return None
    return errors[0].people if errors else None
