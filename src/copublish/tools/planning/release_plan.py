"""The result of a plan, for programs, notebooks and plots, and the curves over epsilon that are drawn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic.dataclasses import dataclass as typed

from copublish.release.readme import definition_list, html_table
from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.prediction import METRICS
from copublish.tools.evaluation.utility import SummaryScores
from copublish.tools.planning.costs import PredictedCost
from copublish.tools.planning.trials import RankedTrial, TrialScores
from copublish.types import TypedJson

if TYPE_CHECKING:
    from copublish.tools.planning.plots import Plot


Rows = list[Mapping[str, Any]]

RAW = "raw data"


def curves_of(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Curves that are drawn: a mechanism, or the trivial baseline, and its trials by ascending epsilon."""
    found: dict[str, Rows] = {}
    for trial in [*plan["trials"], *plan["baseline"]]:
        found.setdefault(trial["mechanism"], []).append(trial)
    return {name: sorted(rows, key=lambda row: float(row["epsilon"])) for name, rows in found.items()}


def rows_at_agreed_epsilon(plan: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What stands side by side: raw data, mechanisms by area, and the trivial baseline last."""
    here = {
        name: row
        for name, rows in curves_of(plan).items()
        for row in rows
        if row["epsilon"] == plan["agreed"]["epsilon"]
    }
    ordered = sorted(here, key=lambda name: (name == BASELINE, -here[name]["area"]))
    return {RAW: plan["raw"], **{name: here[name] for name in ordered}}


def ticks_of(plan: Mapping[str, Any]) -> list[float]:
    """The budgets that were tried."""
    return sorted({float(trial["epsilon"]) for trial in plan["trials"]})


def label_of(plan: Mapping[str, Any], name: str) -> str:
    """The name of a curve and what has to be said about it."""
    if name == BASELINE:
        return f"{name} (trivial baseline)"
    said = []
    rows = curves_of(plan)[name]
    if len(plan["mechanisms"]) > 1 and name == plan["agreed"]["mechanism"]:
        said.append("agreed")
    if "delta" in plan["agreed"] and rows[0]["delta"] is None:
        said.append("without delta")
    return f"{name} ({', '.join(said)})" if said else name


@typed(frozen=True, kw_only=True)
class AgreedSetting(TypedJson):
    """What is agreed: the mechanism, its budget and its keys that a plan tries."""

    mechanism: str
    epsilon: str
    delta: str | None
    tuned: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, the tuned keys beside the others; delta only where one is agreed."""
        delta = {} if self.delta is None else {"delta": self.delta}
        return {"mechanism": self.mechanism, "epsilon": self.epsilon, **delta, **self.tuned}


@typed(frozen=True, kw_only=True)
class LargestClass(TypedJson):
    """What always saying the most frequent class gives."""

    accuracy: float


@typed(frozen=True, kw_only=True)
class PlanGround(TypedJson):
    """What a plan was made on.

    Attributes:
        plan_format: Number of the format of its JSON.
        warning: That a plan must not touch private data.
        agreement_warnings: What `describe` warns of.
        release: Name of the release.
        target: The predicted column.
        target_is_class: Whether that is the agreed class.
        data: Whether data were made up or public.
        training_records: Records that were released.
        test_records: Records that classifiers were tested on.
        rules: What was changed in the public data, as a run changes it.
        resampled: Whether as many public records were drawn as the agreement expects.
        runs: Releases of each setting.
        metrics: Scores, by name.
        classifiers: What predicted.
        ranked_by: The score that trials are ranked by.
        raw: Scores of raw data.
        largest_class: Always saying the most frequent class.
        baseline_is: The trivial baseline in words.
        agreed: What is agreed.
        mechanisms: Those that were tried, the agreed one first.
        not_permitted: Rules that forbid the others, by mechanism.
    """

    plan_format: int
    warning: str
    agreement_warnings: tuple[str, ...]
    release: str
    target: str
    target_is_class: bool
    data: Literal["made up", "like"]
    training_records: int
    test_records: int
    rules: tuple[Mapping[str, Any], ...]
    resampled: bool
    runs: int
    metrics: tuple[str, ...]
    classifiers: tuple[str, ...]
    ranked_by: str
    raw: SummaryScores
    largest_class: LargestClass
    baseline_is: str
    agreed: AgreedSetting
    mechanisms: tuple[str, ...]
    not_permitted: Mapping[str, Sequence[str]]


@typed(frozen=True, kw_only=True)
class PlanAdvice(TypedJson):
    """What to take.

    Attributes:
        recommendation: The trial to take; None for made-up data, which cannot tell.
        can_tell: Whether one setting is better than all others.
        as_good: Settings that cannot be told apart from the best one.
        advice: The recommendation in words, of a mechanism with settings.
        verdict: Sentences on what mechanisms are worth.
        limits: How many settings the agreement has room for, as the mechanism has it.
    """

    recommendation: TrialScores | None
    can_tell: bool
    as_good: tuple[Mapping[str, Any], ...]
    advice: str | None
    verdict: tuple[str, ...]
    limits: Mapping[str, Any] | None


@typed(frozen=True, kw_only=True)
class PlanFindings(TypedJson):
    """What the trials of a plan gave.

    Attributes:
        settings: Trials of settings at the agreed budget, the agreed one first.
        refinements: What was chosen, and trials that vary it.
        trials: All mechanisms over all budgets.
        baseline: The trivial baseline over all budgets.
        ranking: Trials at the agreed budget by area.
        decision: What to take.
        secure_run: The predicted cost of a secure run.
    """

    settings: tuple[TrialScores, ...]
    refinements: tuple[TrialScores, ...]
    trials: tuple[TrialScores, ...]
    baseline: tuple[TrialScores, ...]
    ranking: tuple[RankedTrial, ...]
    decision: PlanAdvice
    secure_run: PredictedCost

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, the advice beside the trials."""
        own = super().to_json()
        advice, secure_run = own.pop("decision"), own.pop("secure_run")
        return {**own, **advice, "secure_run": secure_run}


@dataclass(frozen=True, repr=False)
class ReleasePlan:
    """What trials of a release gave, and what to take.

    Attributes:
        ground: What it was tried on.
        found: What trials gave.
    """

    ground: PlanGround
    found: PlanFindings

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {**self.ground.to_json(), **self.found.to_json()}

    def plot(self, path: str | Path | None = None) -> Plot:
        """The trade-off between the area under the ROC curve and epsilon; with a path also written, .png or .svg."""
        from copublish.tools.planning.plots import Plot, plan_figure

        plot = Plot(plan_figure(self.to_dict()))
        if path is not None:
            plot.write(path)
        return plot

    def __repr__(self) -> str:
        best = self.found.decision.recommendation
        take = "nothing recommended from made-up data" if best is None else f"take {best.mechanism}"
        return f"ReleasePlan({self.ground.release!r}, {len(self.found.trials)} trials, {take})"

    def _repr_html_(self) -> str:
        headings = ("at the agreed epsilon", "area", "balanced accuracy", "log loss", "accuracy", "pairs are off by")
        rows = [
            (name, *(_score(row[metric]) for metric in METRICS), _score(row["distances"]["tables_2"]["value"]))
            for name, row in rows_at_agreed_epsilon(self.to_dict()).items()
        ]
        facts = {
            "Release": self.ground.release,
            "Data": self.ground.data,
            "Take": self.found.decision.advice or "",
            "Because": " ".join(self.found.decision.verdict),
            "Think about": " ".join(self.ground.agreement_warnings),
            "Note": self.ground.warning,
        }
        return definition_list({key: value for key, value in facts.items() if value}) + html_table(headings, rows)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
