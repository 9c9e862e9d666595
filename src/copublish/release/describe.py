"""What a release would disclose and cost, from the agreement alone. Touches no data and costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from copublish.agreement.columns import coarse_grid_warnings, formula_warning, replaced_values
from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.agreement.parties import meeting_in_words
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.formatting import show_exact, state_disclosure
from copublish.kernel.accounting.statements import DisclosureStatement, EpsilonStatement, Noise
from copublish.kernel.certificate.build import bound_on_delta, delta_words, state_epsilon, state_shares, warning_of
from copublish.kernel.certificate.certificate import NoiseSharesStatement
from copublish.kernel.certificate.promise import not_protected, protected, view_of
from copublish.mechanisms.base import Plan
from copublish.release.consent import BeforeConsent, agreed_assumptions, before_consent, secrecy
from copublish.release.prepare import prepare
from copublish.release.readme import definition_list, html_table
from copublish.release.render.privacy_words import epsilon_rows, epsilon_words, membership_words, noise_words
from copublish.release.render.text_tables import add_row, text_table

WEAK_EPSILON = 3

EPSILON_HEADINGS = ("who looks", "one person added or removed", "one person's values replaced")


@dataclass(frozen=True, kw_only=True, repr=False)
class Description:
    """Everything that a run of an agreement would open. Prints as text, shows itself in a notebook.

    Attributes:
        warning: What is said first of a mechanism that is not differentially private.
        before_consent: What stands beside the question: what others learn, and what it rests on. In short.
        release, agreement_hash, parties, partition, mechanism: What is described.
        columns: The columns of the release, by who holds them.
        epsilon: By who looks and what changes.
        delta_bound, delta_is: A bound on delta, and what it stands for.
        headline: What the mechanism publishes, in a few words.
        of_mechanism: What only this mechanism has to say, as plain JSON values.
        noise_shares: Where owners add the noise in shares, how.
        disclosures: What is opened, or bounds on it.
        protected, not_protected: In plain words.
        views: What each party sees.
        secrecy: Who can see what on the agreed engine.
        assumptions: What it rests on.
        replaced: What becomes of missing and of unlisted values, in columns that have no category for them.
        warnings: What to think about before anything is spent.
        approvals: How many people of a party have to approve, where some have to.
        meeting: How every two parties meet on the network; nothing if the agreement does not say where they are.
    """

    warning: str | None
    before_consent: BeforeConsent
    release: str
    agreement_hash: str
    parties: tuple[str, ...]
    partition: str
    columns: Mapping[str, tuple[str, ...]]
    mechanism: str
    epsilon: EpsilonStatement
    delta_bound: str
    delta_is: str
    headline: Mapping[str, str]
    of_mechanism: Mapping[str, Any]
    noise_shares: NoiseSharesStatement | None
    disclosures: tuple[DisclosureStatement, ...]
    protected: tuple[str, ...]
    not_protected: tuple[str, ...]
    views: Mapping[str, tuple[str, ...]]
    secrecy: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    meeting: tuple[str, ...] = ()
    approvals: Mapping[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, str]:
        """What is at the top, in a few words each."""
        return {**dict(self._facts()), "Columns": self._columns}

    @property
    def _columns(self) -> str:
        return "; ".join(f"{', '.join(columns)} of {holder}" for holder, columns in self.columns.items())

    @property
    def opened(self) -> list[tuple[str, int, str, str, str]]:
        """Everything that is opened, those that are alike in one row: what, how often, price, noise, who knows it."""
        return [
            (group.what, group.times, epsilon_words(group.epsilon), noise_words(group.noise), group.known_to)
            for group in grouped(self.disclosures, self.epsilon.calibrated_to)
        ]

    @property
    def epsilons(self) -> list[tuple[str, str, str]]:
        """Epsilon by who looks, if one person is added or removed, and if one person's values are replaced."""
        return epsilon_rows(self.epsilon)

    @property
    def division(self) -> tuple[str, list[tuple[str, str, str, str]]] | None:
        """How epsilon is divided between columns, if it is: the rule, and every column's share, epsilon and noise."""
        allocation = self.of_mechanism.get("allocation")
        return None if allocation is None else (_rule_of_division(allocation), _rows_of_division(allocation))

    @property
    def seen(self) -> list[tuple[list[str], list[str]]]:
        """What each party sees, parties that see the same together."""
        return by_view(self.views)

    def to_dict(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return {
            **({} if self.warning is None else {"warning": self.warning}),
            "before_consent": self.before_consent.to_dict(),
            "release": self.release,
            "agreement_hash": self.agreement_hash,
            "parties": list(self.parties),
            "partition": self.partition,
            "columns": {holder: list(columns) for holder, columns in self.columns.items()},
            "mechanism": self.mechanism,
            "epsilon": self.epsilon.to_json(),
            "delta_bound": self.delta_bound,
            "delta_is": self.delta_is,
            **self.of_mechanism,
            **({} if self.noise_shares is None else {"noise_shares": self.noise_shares.to_json()}),
            "disclosures": [disclosure.to_json() for disclosure in self.disclosures],
            "protected": list(self.protected),
            "not_protected": list(self.not_protected),
            "views": {party: list(seen) for party, seen in self.views.items()},
            "secrecy": self.secrecy,
            "assumptions": list(self.assumptions),
            **({"replaced": list(self.replaced)} if self.replaced else {}),
            "warnings": list(self.warnings),
            **({"approvals": dict(self.approvals)} if self.approvals else {}),
            **({"meeting": list(self.meeting)} if self.meeting else {}),
        }

    def __rich__(self) -> RenderableType:
        return Group(*self._parts())

    def __str__(self) -> str:
        text = StringIO()
        Console(width=120, highlight=False, markup=False, emoji=False, file=text).print(self)
        return text.getvalue().rstrip()

    def __repr__(self) -> str:
        epsilon = f"epsilon {self.epsilon.agreed}"
        return f"Description({self.release!r}, {self.mechanism}, {epsilon}, {len(self.disclosures)} disclosures)"

    def _repr_html_(self) -> str:
        relation = self.epsilon.calibrated_to
        rows = [
            (group.what, group.times, group.epsilon, noise_words(group.noise), group.known_to)
            for group in grouped(self.disclosures, relation)
        ]
        facts = {**({"Warning": self.warning} if self.warning else {}), **dict(self._facts())}
        for number, said in enumerate(self.warnings):
            facts[f"To think about {number + 1}"] = said
        return (
            definition_list(facts)
            + html_table(DISCLOSURE_HEADINGS, rows)
            + ("" if self.division is None else html_table(DIVISION_HEADINGS, self.division[1]))
            + html_table(EPSILON_HEADINGS, epsilon_rows(self.epsilon))
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "Release", self.release
        yield "Parties", ", ".join(self.parties)
        yield "Mechanism", f"{self.mechanism}, {self.partition}"
        yield "Agreement", self.agreement_hash[:16]
        yield "Cost", f"epsilon {self.epsilon.agreed} ({self.epsilon.calibrated_to})"
        yield "Delta", f"at most {self.delta_bound} ({self.delta_is})"
        if self.epsilon.membership is not None:
            yield "Membership", membership_words(self.epsilon.membership)
        yield from self.headline.items()
        if self.approvals:
            yield "Approvals", ", ".join(f"{number} of {party}" for party, number in self.approvals.items())
        if (shares := self.noise_shares) is not None:
            yield "Noise", f"in shares of {shares.owners} owners, of whom {shares.colluders} may collude"
            yield "Adds up", f"{shares.aggregator}; variance times {shares.variance_factor}"

    def _parts(self) -> Iterator[RenderableType]:
        if self.warning is not None:
            yield Text(f"WARNING: {self.warning}\n", style="bold red")
        yield from self.first_parts()
        yield from self.other_parts()

    def first_parts(self) -> Iterator[RenderableType]:
        """What stands beside the question."""
        yield Text("Before you agree", style="bold")
        yield from (Text(f"  - {line}") for line in self.before_consent.lines)
        yield ""

    def other_parts(self) -> Iterator[RenderableType]:
        """Everything else, in full."""
        facts, grid = list(self._facts()), Table.grid(padding=(0, 2))
        for first, second in zip(facts[::2], [*facts[1::2], ("", "")], strict=False):
            add_row(grid, *first, *second)
        yield grid
        yield Text(f"Columns that are published: {self._columns}")
        yield ""
        yield disclosure_table(self.disclosures, self.epsilon.calibrated_to)
        if self.division is not None:
            rule, rows = self.division
            table = text_table(f"How epsilon is divided between columns: {rule}", DIVISION_HEADINGS)
            for row in rows:
                add_row(table, *row)
            yield ""
            yield table
        if "unused_selections" in self.of_mechanism:
            yield Text(self.of_mechanism["unused_selections"])
        yield ""
        yield epsilon_table(self.epsilon)
        for title, sentences in (("Protected", self.protected), ("Not protected", self.not_protected)):
            yield Text(f"\n{title}", style="bold")
            yield from (Text(f"  - {sentence}") for sentence in sentences)
        yield Text("\nWhat each party sees", style="bold")
        for parties, seen in by_view(self.views):
            yield Text(f"  {' and '.join(parties)}")
            yield from (Text(f"    - {item}") for item in seen)
        if self.replaced:
            yield Text("\nColumns that are taken to be complete", style="bold")
            yield from (Text(f"  - {sentence}") for sentence in self.replaced)
        yield Text("\nWhat it rests on", style="bold")
        yield from (Text(f"  - {sentence}") for sentence in (self.secrecy, *self.assumptions))
        if self.meeting:
            yield Text("\nHow they meet", style="bold")
            yield from (Text(f"  - {sentence}") for sentence in self.meeting)
        yield from (Text(f"\nWarning: {warning}", style="yellow") for warning in self.warnings)


def describe(agreement: Agreement | str | Path, *, party: str | None = None) -> Description:
    """Everything that a run of this agreement would open, its price, its noise and who learns what.

    Args:
        agreement: The agreement, or the path of its file. No data is touched.
        party: Who is asked to agree: its first lines speak of its own people.

    Raises:
        AgreementError: If it is no agreement that can be run, with every problem.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    return describe_plan(prepare(agreement), party)


def describe_plan(plan: Plan[Any], party: str | None = None) -> Description:
    """Everything that a plan opens, with first lines for one party, or for all."""
    agreement, cost = plan.agreement, plan.cost()
    epsilon, delta_bound = state_epsilon(agreement, cost), bound_on_delta(agreement, cost)
    return Description(
        warning=warning_of(agreement),
        before_consent=before_consent(agreement, epsilon, delta_bound, party),
        release=agreement.name,
        agreement_hash=agreement.hash,
        parties=agreement.party_names,
        partition=agreement.partition,
        columns=_columns_by_holder(agreement),
        mechanism=agreement.mechanism.name,
        epsilon=epsilon,
        delta_bound=delta_bound,
        delta_is=delta_words(agreement),
        headline=plan.headline(),
        of_mechanism=plan.describe(),
        noise_shares=state_shares(agreement),
        disclosures=tuple(state_disclosure(disclosure) for disclosure in plan.disclosures()),
        protected=tuple(protected(agreement, cost)),
        not_protected=tuple(not_protected(agreement)),
        views={party: tuple(view_of(agreement, party)) for party in agreement.parties},
        secrecy=secrecy(agreement),
        assumptions=agreed_assumptions(agreement),
        warnings=(
            *_weak_epsilon(agreement),
            *_large_delta(agreement),
            *plan.warnings(),
            *_coarse_grids(agreement),
            *_formulas(agreement),
        ),
        replaced=tuple(replaced_values(agreement)),
        meeting=tuple(meeting_in_words(agreement)),
        approvals={name: party.approvals for name, party in agreement.parties.items() if party.approvals},
    )


def _columns_by_holder(agreement: Agreement) -> dict[str, tuple[str, ...]]:
    """The columns of the release, the class included, by the parties whose cells they have."""
    found: dict[str, tuple[str, ...]] = {}
    for name in agreement.columns:
        holders = agreement.holders(name)
        who = "every owner" if holders == agreement.owners else " and ".join(holders)
        found[who] = (*found.get(who, ()), name)
    return found


def _weak_epsilon(agreement: Agreement) -> list[str]:
    if agreement.epsilon <= WEAK_EPSILON:
        return []
    return [f"epsilon {show_exact(agreement.epsilon)} is weak protection; 0.1 to 2 is usual."]


def _large_delta(agreement: Agreement) -> list[str]:
    delta, most = agreement.privacy.delta, Fraction(1, 10 * agreement.records.expected)
    if delta is None or Fraction(delta) <= most:
        return []
    return [
        f"delta {delta} is much for about {agreement.records.expected:,} records: it may mean a person who is shown "
        f"with that probability. At most {float(most):.1e}, one in ten times as many, is usual."
    ]


def _coarse_grids(agreement: Agreement) -> list[str]:
    """About grids, unless the mechanism reads numbers as such; then it knows whether their grids play a part."""
    return [] if agreement.mechanism.reads_numbers else coarse_grid_warnings(agreement.columns)


def _formulas(agreement: Agreement) -> list[str]:
    warning = formula_warning(agreement.columns)
    return [] if warning is None else [warning]


DISCLOSURE_HEADINGS = ("what", "times", "epsilon each", "noise", "known to")


@dataclass(frozen=True, kw_only=True)
class DisclosureGroup:
    """Disclosures of one step of a mechanism with one price and one noise."""

    what: str
    times: int
    epsilon: str
    noise: Noise
    known_to: str
    alike: tuple[DisclosureStatement, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that they are of, where they differ by it."""
        return [one.place.column for one in self.alike if one.place.column is not None] if self.times > 1 else []


def grouped(
    disclosures: Sequence[DisclosureStatement], relation: Neighbors, *, columns_together: bool = False
) -> list[DisclosureGroup]:
    """Disclosures that are alike, together, at the place of the first: numbered ones by what they have in common.

    Args:
        disclosures: Everything that is opened.
        relation: Under which prices are compared.
        columns_together: Whether those that differ by their column alone are alike.
    """
    alike: dict[tuple[str, str, Noise], list[DisclosureStatement]] = {}
    for one in disclosures:
        key = (_what(one, columns_together=columns_together), one.epsilon[relation], one.noise)
        alike.setdefault(key, []).append(one)
    return [
        DisclosureGroup(
            what=what if len(same) > 1 else _what(same[0]),
            times=len(same),
            epsilon=epsilon,
            noise=noise,
            known_to=same[0].known_to,
            alike=tuple(same),
        )
        for (what, epsilon, noise), same in alike.items()
    ]


def _what(disclosure: DisclosureStatement, *, columns_together: bool = False) -> str:
    """What became known; of several alike what they have in common."""
    column = disclosure.place.column
    if columns_together and column is not None:
        return disclosure.what.replace(f"'{column}'", "a column")
    return disclosure.place.common or disclosure.what


def disclosure_table(disclosures: Sequence[DisclosureStatement], relation: Neighbors) -> Table:
    """Everything that is opened, those that are alike in one row."""
    table = text_table("Everything that is opened", DISCLOSURE_HEADINGS)
    for group in grouped(disclosures, relation):
        add_row(table, group.what, group.times, epsilon_words(group.epsilon), noise_words(group.noise), group.known_to)
    return table


def epsilon_table(epsilon: EpsilonStatement) -> Table:
    """Epsilon for both relations, for the public and for the parties."""
    table = text_table("Epsilon, by who looks and what changes", EPSILON_HEADINGS)
    for row in epsilon_rows(epsilon):
        add_row(table, *row)
    return table


DIVISION_HEADINGS = ("column", "share", "epsilon", "noise")


def _rule_of_division(allocation: Mapping[str, Any]) -> str:
    rule = str(allocation["rule"])
    if "label" in allocation:
        rule += f" about '{allocation['label']}'; its tables take {allocation['tables']}"
    if "group_weights" in allocation:
        rule += f"; groups from those that tell most have weights {', '.join(allocation['group_weights'])}"
    return rule


def _rows_of_division(allocation: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Every column's share of epsilon and its noise, in people or in the column's own unit."""
    rows = []
    for name, column in allocation["columns"].items():
        ends = [column[end] for end in ("least", "most") if end in column] or [column]
        share = " to ".join(f"{end['share']:.1%}" for end in ends)
        epsilon = " to ".join(f"{float(Fraction(end['epsilon'])):.3g}" for end in ends)
        noise = "\nto ".join(noise_words(Noise.from_json(end["noise"])) for end in ends)
        rows.append((name, share, epsilon, noise))
    return rows


def by_view(views: Mapping[str, Sequence[str]]) -> list[tuple[list[str], list[str]]]:
    """Parties that see the same, together with what they see."""
    found: dict[tuple[str, ...], list[str]] = {}
    for party, seen in views.items():
        found.setdefault(tuple(seen), []).append(party)
    return [(parties, list(seen)) for seen, parties in found.items()]
