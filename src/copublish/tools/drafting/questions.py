"""What a release must answer: questions in plain words become required tables and cut points of a draft."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from pydantic import ValidationError

from copublish.agreement.attributes import USUAL_CELLS, Grid
from copublish.agreement.domain import format_number
from copublish.agreement.loading import FILL_IN, is_placeholder
from copublish.errors import AgreementError, visible
from copublish.mechanisms.registry import mechanism_named, mechanism_names
from copublish.tools.drafting.comments import Comment, Path
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.question_words import AskedQuestion, CutPoint, KnownColumn, read_question

ASKED = "# asked: "
"""How a comment begins that says which question something is there for."""

THEN = "auto"
"""How the other tables are chosen, after the required ones."""


def with_questions(draft: Draft, questions: Sequence[str], *, whole: Collection[str] = ()) -> Draft:
    """A draft that asks for the tables and the cut points that questions need.

    Each question stays in the file, as a comment beside what it is the reason for.

    Args:
        draft: The draft. Only columns that it has can be asked about.
        questions: One in each text, like 'mean cost by stage', 'age under 30' or 'age, sex, region'.
        whole: Columns that are known to have whole numbers, so that 'over 30' begins at 31.

    Raises:
        AgreementError: With a sentence for every question that cannot be read. The draft stays as it was.

    Privacy:
        Nothing of data is read. A question becomes public with the agreement.
    """
    lines = [line for question in questions for line in question.splitlines() if line.strip()]
    if not lines:
        return draft
    asking = _Asking(draft, whole)
    problems = list(asking.ask(lines))
    if problems:
        raise AgreementError("The questions", problems)
    return asking.draft


def takes_questions(draft: Draft) -> bool:
    """Whether the mechanism of a draft measures tables that can be required."""
    return _takes_questions(draft.content.get("mechanism", {}).get("name"))


def _takes_questions(mechanism: object) -> bool:
    return mechanism in mechanism_names() and "tables" in mechanism_named(str(mechanism)).settings.model_fields


class _Asking:
    def __init__(self, draft: Draft, whole: Collection[str]) -> None:
        self.draft = replace(draft, content=deepcopy(draft.content))
        self.whole = whole
        self.content: Content = self.draft.content
        self.attributes: Content = self.content.get("attributes", {})

    def ask(self, lines: Sequence[str]) -> Iterator[str]:
        """Do what every question needs, and yield the problems of those that cannot be met."""
        if problem := self._wrong_mechanism():
            yield problem
            return
        known = dict(self._known())
        for line in lines:
            try:
                question = read_question(line, known)
            except ValueError as exc:
                yield f"{exc}{self._elsewhere()}"
                continue
            cuts = [problem for cut in question.cuts if (problem := self._cut(question, cut))]
            yield from (f"'{visible(question.line)}': {problem}" for problem in cuts)
            self._require(question)

    def _wrong_mechanism(self) -> str | None:
        if takes_questions(self.draft):
            return None
        able = [other for other in mechanism_names() if _takes_questions(other)]
        name = self.content.get("mechanism", {}).get("name", FILL_IN)
        said = "the draft names no mechanism" if name == FILL_IN else f"the draft names the mechanism '{visible(name)}'"
        return f"questions need the mechanism '{able[0]}', which measures tables, and {said}. Choose '{able[0]}'"

    def _known(self) -> Iterator[tuple[str, KnownColumn]]:
        for name, section in self.attributes.items():
            yield name, KnownColumn(_values(section), str(section.get("kind", "")))
        label = self.content.get("class", {}).get("name", FILL_IN)
        if label != FILL_IN:
            yield label, KnownColumn(_values(self.content["class"]), "categorical")

    def _elsewhere(self) -> str:
        """What to do about a column of a party whose draft is not here."""
        if len(self.content.get("parties", {})) > 1 or self.content.get("partition") == "horizontal":
            return ""
        return (
            " A column of another party can be asked about when the drafts are merged: copublish merge "
            "MINE THEIRS --question '...'"
        )

    def _cut(self, question: AskedQuestion, cuts: Sequence[CutPoint]) -> str | None:
        """Put the edges of a cut, or of both ends of a range, into a column's grid; a problem if they do not fit."""
        column = cuts[0].column
        section = self.attributes[column]
        if section.get("kind", FILL_IN) != "numerical":  # open, and a cut says that it is a number
            holders = {"held_by": section["held_by"]} if "held_by" in section else {}
            section = {"kind": "numerical", "bounds": FILL_IN, "grid": {"round": USUAL_CELLS}, "missing": "category"}
            section |= holders
            self.attributes[column] = section
        edges = sorted({edge for cut in cuts for edge in self._edges(cut, section)})
        if (bounds := _bounds(section)) is not None:
            if not any(_divides(cut, bounds) for cut in cuts):
                listed = " and ".join(dict.fromkeys(format_number(cut.number) for cut in cuts))
                return (
                    f"a cut at {listed} leaves nothing on one side: '{column}' has the bounds "
                    f"[{format_number(bounds[0])}, {format_number(bounds[1])}]"
                )
            edges = [edge for edge in edges if bounds[0] < edge <= bounds[1]]
        self._comment(("attributes", column, "grid"), question.line)
        _add_edges(section, edges)
        return None

    def _edges(self, cut: CutPoint, section: Content) -> list[Decimal]:
        """Where cells have to begin: at the number, or at the first one behind it.

        A cell has its lower end and not its upper one. Where it is not known whether numbers are whole, a number that
        may be the last of its cell has a cell of its own.
        """
        step = self._step(cut.column, section)
        if step is not None:
            if cut.side == "at":
                return [(cut.number / step).to_integral_value(ROUND_CEILING) * step]
            return [((cut.number / step).to_integral_value(ROUND_FLOOR) + 1) * step]
        may_be_last = cut.side == "behind" and cut.number == cut.number.to_integral_value()
        return [cut.number, cut.number + 1] if may_be_last else [cut.number]

    def _step(self, column: str, section: Content) -> Decimal | None:
        """The least difference of two numbers of a column; nothing if it is not known."""
        decimals = section.get("decimals")
        if isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= MOST_DECIMALS:
            return Decimal(1).scaleb(-decimals)
        return Decimal(1) if column in self.whole or section.get("grid") == {"step": 1} else None

    def _require(self, question: AskedQuestion) -> None:
        """Have the table of a question measured; single columns are measured anyway."""
        if len(question.columns) == 1:
            (column,) = question.columns
            if not question.cuts:
                self._comment(("attributes", column) if column in self.attributes else ("class",), question.line)
            return
        mechanism = self.content["mechanism"]
        said = mechanism.get("tables")
        table = list(question.columns)
        if isinstance(said, list):  # all that is measured
            mechanism["tables"] = _with_table(said, table)
        else:
            listed = said.get("must", []) if isinstance(said, Mapping) else []
            # "pairs" are what is chosen from by default.
            then = said.get("then", THEN) if isinstance(said, Mapping) else THEN if said in (None, "pairs") else said
            must = _with_table(listed if isinstance(listed, list) else [], table)
            mechanism["tables"] = {"must": must, "then": then}
        self._comment(("mechanism", "tables"), question.line)

    def _comment(self, path: Path, line: str) -> None:
        text = ASKED + "".join(c if c.isprintable() else " " for c in line)
        if not any(one.path == path and one.text == text for one in self.draft.comments):
            comments = (*self.draft.comments, Comment(path, text, "above"))
            self.draft = replace(self.draft, comments=comments)


MOST_DECIMALS = 12


def _values(section: Content) -> tuple[str, ...]:
    values = section.get("values")
    return tuple(map(str, values)) if isinstance(values, list) else ()


def _bounds(section: Content) -> tuple[Decimal, Decimal] | None:
    """The bounds of a column, if they are known and two numbers."""
    bounds = section.get("bounds")
    if not isinstance(bounds, list) or len(bounds) != 2 or not all(isinstance(one, int | Decimal) for one in bounds):
        return None
    lower, upper = map(Decimal, bounds)
    return (lower, upper) if lower.is_finite() and upper.is_finite() else None


def _divides(cut: CutPoint, bounds: tuple[Decimal, Decimal]) -> bool:
    """Whether there are numbers on both sides of a cut."""
    lower, upper = bounds
    return lower < cut.number <= upper if cut.side == "at" else lower <= cut.number < upper


def _add_edges(section: Content, edges: Sequence[Decimal]) -> None:
    """Have a grid divide at numbers at which it does not yet."""
    said = section.get("grid")
    grid: Content = dict(said) if isinstance(said, Mapping) and not is_placeholder(said) else {"round": USUAL_CELLS}
    missing = set(edges) - _thresholds(grid, section)
    if missing:
        also = grid.get("also", [])
        listed = also if isinstance(also, list) else []
        together = {Decimal(edge) for edge in listed if isinstance(edge, int | Decimal)} | missing
        grid["also"] = [_number(edge) for edge in sorted(together)]
        section["grid"] = grid


def _thresholds(grid: Content, section: Content) -> set[Decimal]:
    bounds, decimals = _bounds(section), section.get("decimals")
    if bounds is None:
        return set()
    try:
        return set(Grid(**grid).thresholds(*bounds, decimals if isinstance(decimals, int) else None))
    except (ValidationError, ValueError, TypeError, ArithmeticError):
        return set()  # the agreement's own rules say what is wrong


def _number(edge: Decimal) -> int | Decimal:
    return int(edge) if edge == edge.to_integral_value() else edge


def _with_table(tables: Sequence[Any], table: Sequence[str]) -> list[Any]:
    """Tables with one more, without those that another one holds."""
    if any(isinstance(other, list) and set(table) <= set(map(str, other)) for other in tables):
        return list(tables)
    kept = [other for other in tables if not (isinstance(other, list) and set(map(str, other)) <= set(table))]
    return [*kept, list(table)]
