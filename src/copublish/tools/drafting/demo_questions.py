"""Questions about the demo's made-up people, answered by their release and by the people themselves.

Only people who do not exist have a truth that may be printed: what stands beside a real release is its interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from copublish.errors import ReleaseError
from copublish.tools.drafting.demo import made_up_data

if TYPE_CHECKING:
    import pandas as pd

    from copublish.release.questions.estimate import Estimate
    from copublish.release.statistics import ReadableRelease


@dataclass(frozen=True)
class Question:
    """A question about a column.

    Attributes:
        kind: What is asked.
        column: About which column.
        value: The value whose share is asked for.
        among: Values of other columns that people must have.
    """

    kind: Literal["mean", "median", "share"]
    column: str
    value: str = ""
    among: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The question."""
        where = "".join(f", {column} {value}" for column, value in self.among.items())
        return f"{self.kind} of {self.column}{f' {self.value}' if self.value else ''}{where}"

    def answer(self, release: ReadableRelease) -> Estimate | None:
        """The release's answer; nothing where no table that was measured has these columns together."""
        try:
            if self.kind == "share":
                return release.share(self.column, self.value, among=self.among)
            ask = release.mean if self.kind == "mean" else release.median
            return ask(self.column, among=self.among)
        except ReleaseError:
            return None

    def truth(self, people: pd.DataFrame) -> float:
        """The answer of the people themselves."""
        for column, value in self.among.items():
            people = people[people[column] == value]
        numbers = people[self.column]
        if self.kind == "share":
            return float((numbers == self.value).mean())
        return float(numbers.mean() if self.kind == "mean" else numbers.median())


def _of(column: str) -> tuple[Question, Question]:
    return Question("mean", column), Question("median", column)


QUESTIONS: tuple[Question, ...] = (
    *_of("age"),
    *_of("balance"),
    *_of("amount"),
    *_of("months"),
    Question("share", "job", "retired"),
    Question("share", "purpose", "home"),
    Question("share", "default", "yes"),
    *(Question("mean", "amount", among={"job": job}) for job in ("student", "clerk", "manager")),
)
"""Means, medians and shares; the last ones need columns of both owners: jobs of the bank, amounts of the lender."""


def joined_people(n_records: int) -> pd.DataFrame:
    """The made-up people whom both owners know, with all columns."""
    bank, loans = made_up_data(n_records)
    return bank.merge(loans.drop(columns="default"), on="customer_id")
