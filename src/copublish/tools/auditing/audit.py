"""The audit of an agreement, from the choice of tables to the verdict.

A verdict is another test than the numbers: a sound mechanism that uses its budget up is above it in up to one of twenty
audits at 95 %, so an accusation takes a level of 0.001, divided by how many numbers there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.derived import with_given_columns
from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.engines.choice import WITHOUT_ENGINE
from copublish.errors import AgreementError
from copublish.kernel.accounting.disclosures import Select
from copublish.kernel.accounting.membership import SIZE_LABEL
from copublish.kernel.noise.geometric import SystemCoins
from copublish.mechanisms.base import Plan
from copublish.progress import Progress, no_progress
from copublish.release.prepare import prepare, software_versions
from copublish.tools.auditing.coalitions import coalitions_of
from copublish.tools.auditing.common_people import NoisySize, claim_of_size, membership_pairs
from copublish.tools.auditing.game import fair_coins
from copublish.tools.auditing.odd_records import PUBLIC, Symbol, symbols_of
from copublish.tools.auditing.opened_words import NOTHING_MORE, audit_words
from copublish.tools.auditing.pair_choice import UNMOVED, telling_parts, worst_pair
from copublish.tools.auditing.result import CONFIDENCE, VERDICT_LEVEL, Audit, Number
from copublish.tools.auditing.secure import can_play_engine, secure_runs_of
from copublish.tools.auditing.single_disclosures import Part
from copublish.tools.auditing.statistics import Claim, Tested, claim_of, judged, learned_columns
from copublish.tools.auditing.tables import Pair, invalid_pairs, pairs_against, valid_pairs, with_plain_identifier
from copublish.tools.auditing.workers import Clock, Players

VIEWS, CHOOSING = 0.65, 0.15
"""Shares of the time for playing views and for choosing tables; the rest is for disclosures and whole runs."""

SECURE_RUNS = 4

RUNS_OF_A_PART = {"selection": 12_000, "sums": 8_000}
RUNS_OF_WORDS = 1000
COINS_OF_A_PART, FEWEST_RUNS = 40_000, 200
"""Of a table that has a coin for each cell; and how often everything is opened at least."""


def audit(
    agreement: Agreement | str | Path,
    *,
    minutes: float = 10,
    runs: int | None = None,
    views: Sequence[str] | None = None,
    workers: int | None = None,
    secure_runs: int = SECURE_RUNS,
    by_processor: bool = False,
    enough: float | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Play an agreed mechanism against worst-case neighbors, and tell how much of its epsilon shows in each view.

    Args:
        agreement: The agreement, or the path of its file. No data are read and nothing is charged.
        minutes: How long it may take, about.
        runs: How many runs each view gets; by default as many as the time allows.
        views: `public` and names of parties; by default all.
        workers: How many processes play; by default one for each core. 0 plays in this one.
        secure_runs: How many whole runs there are on the agreed engine, two for each pair of tables.
        by_processor: Whether minutes are those of processors, of all its processes together; else of the clock. Ten
            minutes on two cores are twenty.
        enough: Which share of the stated epsilon a mechanism exactly as stated would have to show for a view to get no
            more runs. Evidence says that without a look at any coin, so what is found holds as before.
        progress: Told about every step.

    Raises:
        AgreementError: If the agreement cannot be run, or promises nothing that could be audited.
    """
    stated = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    agreement = with_plain_identifier(with_given_columns(stated))  # its tables have one row for each person
    begin, clock = time.monotonic(), time.process_time if by_processor else time.monotonic
    plan = prepare(agreement)
    _refuse_without_promise(agreement, plan)
    wanted = tuple(views or (PUBLIC, *agreement.owners))
    if unknown := [view for view in wanted if view not in (PUBLIC, *agreement.party_names)]:
        raise AgreementError(f"The audit of '{agreement.name}'", [f"there is no view '{unknown[0]}'"])
    symbols = list(_symbols(agreement, wanted, progress))
    numbers: list[Number] = []
    blind = set(wanted)
    with Players(agreement, workers, by_processor=by_processor) as players:
        seconds = CHOOSING * 60 * minutes / len(wanted)
        playing = players.processor_seconds(VIEWS * 60 * minutes / len(wanted))
        groups = _groups(agreement, wanted, seconds, playing, progress, clock)
        for pair, seeing in groups:
            left = VIEWS * 60 * minutes / len(groups)
            phase, claim = f"views of {' and '.join(seeing)}", claim_of(plan, pair)
            tell = partial(progress, phase)
            found = players.play(pair, runs, left, tell, partial(_is_enough, claim, enough))
            others = dict(found.others)
            if found.told.size:
                others["learned from records"] = learned_columns(found.coins, found.told)
            tested = judged(found.coins, found.law, claim, others, alpha=1 - CONFIDENCE)
            for view in seeing if found.law.any() else ():
                blind.discard(view)
                name = view if view == PUBLIC else f"party '{view}'"
                if pair.seen_by is not None:
                    name += ", membership" if pair.is_listed else ", membership of people whom it does not list"
                number = _number(name, "view", claim, tested, found.runs, found.coins_per_run, pair)
                numbers.append(replace(number, sizes=np.abs(found.law)))
    parts, unmoved, not_audited = telling_parts(agreement, seconds, progress, clock)
    not_audited += [f"what '{view}' sees: {UNMOVED}" for view in wanted if view in blind]
    for coalition in coalitions_of(agreement):
        for part, pair in parts:
            colluding = replace(part, coalition=coalition)
            n = _runs_of(colluding, minutes)
            progress(f"coalition of {len(coalition)}", 0, 1)
            tested = colluding.audit(n, alpha=1 - CONFIDENCE)
            name = "coalition of " + " and ".join(f"'{member}'" for member in coalition)
            name += f": {part.disclosure.label}" if len(parts) > 1 else ""
            numbers.append(_number(name, "view", part.claim, tested, n, part.coins_per_run(), pair))
    numbers += _of_size(agreement, wanted, minutes)
    for place, (part, pair) in enumerate(parts):
        progress("disclosures", place, len(parts))
        n = _runs_of(part, minutes)
        tested = part.audit(n, alpha=1 - CONFIDENCE)
        made = part.disclosure
        numbers.append(_number(made.label, "disclosure", part.claim, tested, n, part.coins_per_run(), pair))
    for part, pair in (*parts, *unmoved):
        n = _at_least(RUNS_OF_WORDS, minutes)
        if isinstance(part.disclosure, Select) and (words := audit_words(part, n)) is not None:
            name = f"words that are opened beside the index: {part.disclosure.label}"
            numbers.append(_number(name, "disclosure", NOTHING_MORE, words, n, 1, pair))
    progress("disclosures", len(parts), len(parts))
    secure = []
    if not can_play_engine(agreement):
        secure_runs = 0
    progress("runs on the agreed engine", 0, max(1, secure_runs))
    for compared in secure_runs_of(agreement, secure_runs):
        secure.append(compared)
        progress("runs on the agreed engine", 2 * len(secure), secure_runs)
    level = VERDICT_LEVEL / max(1, len(numbers))
    numbers = [replace(n, verdict="refuted" if n.tested.p_value < level else "consistent") for n in numbers]
    return Audit(
        agreement.name,
        stated.hash,
        software_versions(agreement),
        datetime.now(UTC).date().isoformat(),
        agreement.privacy.neighbors,
        tuple(n for n in numbers if n.kind == "view"),
        tuple(n for n in numbers if n.kind == "disclosure"),
        tuple(symbols),
        tuple(secure),
        (*_skipped(agreement), *not_audited),
        time.monotonic() - begin,
    )


def _refuse_without_promise(agreement: Agreement, plan: Plan[Any]) -> None:
    reason = agreement.mechanism.no_promise(agreement)
    if reason is not None or plan.cost().under(agreement.privacy.neighbors) is None:
        said = "it promises no epsilon under the agreed relation, so there is nothing to find out"
        raise AgreementError(f"The audit of '{agreement.name}'", [said if reason is None else f"{said}: {reason}"])


def _skipped(agreement: Agreement) -> Iterator[str]:
    if not can_play_engine(agreement):
        yield f"runs on the agreed engine: {WITHOUT_ENGINE}"
    if agreement.partition != "horizontal" and not agreement.hides_membership:
        yield "who is in the table, which the parties know; for their views another party's values are replaced"
    if agreement.membership_epsilon:
        yield "how much is sent on the agreed engine, which tells the noisy number of common people that is charged"
    if agreement.records.public:
        yield "the number of records, which is public"


def _of_size(agreement: Agreement, views: Sequence[str], minutes: float) -> Iterator[Number]:
    """What the number of common people tells alone."""
    owner = next((view for view in views if view in agreement.owners), agreement.owners[0])
    pair = next(membership_pairs(agreement, owner, SystemCoins(), is_listed=True))
    if (size := NoisySize.of(agreement, pair)) is not None:
        coins = fair_coins(_at_least(RUNS_OF_A_PART["selection"], minutes))
        seen, claim = size.seen(coins), claim_of_size(agreement, pair)
        others = {"number of common people": size.beyond_the_middle(seen)}
        tested = judged(coins, size.evidence(seen), claim, others, alpha=1 - CONFIDENCE)
        yield _number(SIZE_LABEL, "disclosure", claim, tested, len(coins), 1, pair)


def _number(name: str, kind: Any, claim: Claim, tested: Tested, runs: int, coins: int, pair: Pair) -> Number:
    return Number(name, kind, claim, tested, runs, coins, pair, "consistent")


def _symbols(agreement: Agreement, views: Sequence[str], progress: Progress) -> Iterator[Symbol]:
    """Compare whole runs; who knows its own rows is shown pairs that differ elsewhere."""
    relation = agreement.privacy.neighbors
    cases: list[tuple[Pair, list[str]]] = []
    others = [view for view in views if view != PUBLIC]
    for pair in invalid_pairs(agreement, relation):
        seeing = [PUBLIC] * (PUBLIC in views)
        if agreement.partition == "horizontal":
            seeing += [view for view in others if view != pair.where]
        cases.append((pair, seeing))
    if agreement.partition != "horizontal":
        for view in others:
            own = set(agreement.columns_of(view)) if view in agreement.owners else set()
            for pair in invalid_pairs(agreement, "replace"):
                *common, old = pair.tables[0]
                new = {name: old[name] if name in own else value for name, value in pair.tables[1][-1].items()}
                if new != old and new.keys() == old.keys():
                    cases.append((replace(pair, tables=((*common, old), (*common, new)), relation="replace"), [view]))
            if agreement.hides_membership and view in agreement.owners:
                cases += [(replace(pair, seen_by=view), [view]) for pair in invalid_pairs(agreement, "add-remove")]
    for place, (pair, seeing) in enumerate(cases):
        progress("whole runs", place, len(cases))
        if seeing:
            yield from symbols_of(agreement, pair, seeing)
    progress("whole runs", len(cases), len(cases))


def _groups(
    agreement: Agreement, views: Sequence[str], seconds: float, playing: float, progress: Progress, clock: Clock
) -> list[tuple[Pair, list[str]]]:
    """Pairs of tables to play, each with the views that its runs serve.

    Who does not hold the record of horizontal data sees of it what the public sees. Owners of columns know who is in
    the table, so each has pairs of its own, of which another one's values differ.
    """
    found: list[tuple[Pair, list[str]]] = []
    if PUBLIC in views or agreement.partition == "horizontal":
        pairs = list(valid_pairs(agreement, agreement.privacy.neighbors, SystemCoins()))
        worst = worst_pair(agreement, pairs, seconds, playing, partial(progress, "choosing tables"), clock)
        found.append((worst, [PUBLIC] * (PUBLIC in views)))
    for view in (view for view in views if view != PUBLIC):
        if agreement.partition == "horizontal":
            pair = found[0][0]
            if view == pair.where:
                other = next(owner for owner in agreement.owners if owner != view)
                found.append((replace(pair, where=other), [view]))
            else:
                found[0][1].append(view)
            continue
        kinds = [pairs_against(agreement, view, SystemCoins())]
        if agreement.hides_membership and view in agreement.owners:
            kinds += [membership_pairs(agreement, view, SystemCoins(), is_listed=listed) for listed in (True, False)]
        for pairs in filter(None, map(list, kinds)):
            worst = worst_pair(agreement, pairs, seconds, playing, partial(progress, f"tables for {view}"), clock)
            found.append((worst, [view]))
    return [(pair, seeing) for pair, seeing in found if seeing]


def _is_enough(claim: Claim, share: float | None, sizes: NDArray[np.float64]) -> bool:
    return share is not None and claim.expected(sizes, (1 - CONFIDENCE) / 2) >= share * claim.epsilon


def _runs_of(part: Part, minutes: float) -> int:
    if part.has_coin_for_each_cell:
        most = COINS_OF_A_PART // max(1, part.coins_per_run())
    else:
        most = RUNS_OF_A_PART["selection" if isinstance(part.disclosure, Select) else "sums"]
    return _at_least(most, minutes)


def _at_least(most: int, minutes: float) -> int:
    """So many runs in five minutes and more, fewer in less."""
    return max(FEWEST_RUNS, int(most * min(1.0, minutes / 5)))
