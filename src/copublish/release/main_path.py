"""The main path of one release, top to bottom, as it runs at each party."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from datetime import date as date_type
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, describe_domain, format_number
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.errors import EngineError, LostAtTheLastStepError, PartyLostError
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.copula.publish import describe_copula, synthetic_records
from copublish.mechanisms.copula.run import CopulaResult
from copublish.mechanisms.hpdp.publish import describe_hpdp, records_table
from copublish.mechanisms.hpdp.run import HpdpResult
from copublish.mechanisms.idp_ir.publish import describe_idp_ir, microaggregated_table
from copublish.mechanisms.idp_ir.run import IdpIrResult
from copublish.mechanisms.registry import VERSIONS, Result, agree_that_records_fit, plan_of, run_mechanism
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.run import SpecializationResult
from copublish.mechanisms.vhdp.publish import describe_vhdp, perturbed_table
from copublish.mechanisms.vhdp.run import VhdpResult
from copublish.privacy.certificate import Circumstances, build_certificate
from copublish.privacy.ledger import Ledger
from copublish.progress import Progress
from copublish.release.alignment import align_records
from copublish.release.folder import COUNT, NOISY_COUNT, GeneralizedRelease, RecordsRelease, Release

Staged = Callable[[Release], AbstractContextManager[Callable[[], None]]]


def publish_release(
    agreement: Agreement,
    fragment: Fragment,
    engine: Engine,
    ledger: Ledger,
    progress: Progress,
    staged: Staged = lambda release: nullcontext(lambda: None),
) -> Release:
    """Run one agreed release at this party and return what may be published.

    Args:
        agreement: What all parties agreed on.
        fragment: This party's rows.
        engine: Its end of the engine.
        ledger: Its ledger.
        progress: Told about every step.
        staged: Puts a release on disk under a temporary name; what it yields gives it its own name.

    Privacy:
        Guarantee: the agreement's epsilon, as the mechanism's plan splits it; the certificate states it for both
            relations.
        Reveals: what `view_of` in privacy/certificate.py lists, to each party; the release, to everyone.
        On failure: nothing is published; a reserved charge stays spent.
    """
    refuse_differences(agreement, engine)
    plan = plan_of(agreement)
    cost = plan.cost()
    ledger.refuse_if_over(agreement.dataset, cost)
    # A party that cannot pay stops everyone here, before anything is learned or reserved.
    engine.exchange("can pay", topic="budget")
    progress("alignment", 0, 1)
    alignment = align_records(agreement, fragment, engine)
    agree_that_records_fit(agreement, alignment.table.fragment, engine)
    progress("alignment", 1, 1)
    with ledger.reserve(agreement.dataset, agreement.name, agreement.hash, cost) as charge:
        gate = RevealGate(engine, charge, agreement.records.public)
        result = run_mechanism(alignment.table, engine, gate, progress, alignment.public_total)
        # From here on: released values only.
        progress("writing", 0, 1)
        date = _date(
            engine.exchange(datetime.now(UTC).date().isoformat(), topic="date")[0]
        )  # one clock: the same bytes
        circumstances = Circumstances(
            engine.name,
            engine.secrecy,
            engine.assumptions,
            software_versions(),
            date,
            alignment.public_total,
            plan.method(),
        )
        certificate = build_certificate(agreement, [disclosure for disclosure, _ in gate.opened], circumstances)
        release = release_of(agreement, result, certificate)
        if len(set(engine.exchange(release.digest(), topic="release"))) > 1:
            raise EngineError("The parties ended with different releases. Nothing is published.")
        with staged(release) as publish:
            _wait_until_all_have_it(engine)
            publish()
            charge.complete()
        progress("writing", 1, 1)
    return release


def _wait_until_all_have_it(engine: Engine) -> None:
    """Tell that the release is on disk here, and wait for the others: a party whose disk is full stops everyone."""
    try:
        engine.exchange("on disk", topic="release on disk")
    except PartyLostError as exc:
        raise LostAtTheLastStepError(
            "Another party was lost at the last step. Nothing is published here; others may have published."
        ) from exc


def _date(said: object) -> str:
    """Return the first party's date, which goes into everybody's certificate, if it is one."""
    try:
        return date_type.fromisoformat(str(said)).isoformat()
    except ValueError:
        raise EngineError("The first party's date is not a date. Nothing is published.") from None


def refuse_differences(agreement: Agreement, engine: Engine) -> None:
    """Raise unless all parties have the same agreement and software, before any data is touched."""
    facts = {f"agreement: {part}": hash_ for part, hash_ in agreement.parts().items()} | software_versions()
    for other in engine.exchange(facts, topic="rendezvous"):
        if not isinstance(other, dict):
            raise EngineError("A party did not say what it has agreed to. Nothing was computed.")
        different = sorted(key for key in facts.keys() | other.keys() if facts.get(key) != other.get(key))
        if different:
            raise EngineError(
                f"The parties differ in: {', '.join(different)}. Nothing was computed. All parties need the same "
                "agreement and the same versions."
            )


@cache
def software_versions() -> dict[str, str]:
    """Return the versions that a release depends on, for the certificate and for parties to compare."""
    packages = ("copublish", "numpy", "pyarrow", "spu")
    versions = {package: importlib.metadata.version(package) for package in packages}
    return {**versions, "mechanism": ", ".join(f"{name} {version}" for name, version in VERSIONS.items())}


def release_of(agreement: Agreement, result: Result, certificate: dict[str, Any]) -> Release:
    """Return what a mechanism released as it is published."""
    if isinstance(result, CopulaResult):
        table, cells = synthetic_records(result)
        return _records_release(agreement, certificate, "copula", table, describe_copula(result, cells))
    if isinstance(result, HpdpResult):
        return _records_release(agreement, certificate, "hpdp", records_table(result), describe_hpdp(result))
    if isinstance(result, VhdpResult):
        return _records_release(agreement, certificate, "vhdp", perturbed_table(result), describe_vhdp(result))
    if isinstance(result, IdpIrResult):
        table = microaggregated_table(result)
        return _records_release(agreement, certificate, "idp-ir", table, describe_idp_ir(result))
    cut = {**describe_cut(agreement, result.cut), **describe_score(result)}
    return GeneralizedRelease(certificate, counts_table(agreement, result), cut)


def _records_release(
    agreement: Agreement, certificate: dict[str, Any], mechanism: str, table: pa.Table, details: dict[str, Any]
) -> RecordsRelease:
    """Return a release of records that also says, as a cut does, how other data spell missing values."""
    spellings = list(agreement.records.missing_spellings)
    return RecordsRelease(certificate, mechanism, table, {**details, "missing_spellings": spellings})


def counts_table(agreement: Agreement, result: SpecializationResult) -> pa.Table:
    """Return the leaf counts as a table with one row per leaf and class."""
    n_leaves, n_classes = result.counts.shape
    columns: dict[str, pa.Array] = {}
    repeat = n_leaves * n_classes
    for name, domain in result.cut.domains.items():
        labels = [domain.label(part) for part in result.cut.parts[name]]
        repeat //= len(labels)
        columns[name] = _repeated(labels, repeat, n_leaves * n_classes)
    columns[agreement.class_.name] = _repeated(list(agreement.class_.values), 1, n_leaves * n_classes)
    columns[COUNT] = pa.array(result.counts.ravel())
    columns[NOISY_COUNT] = pa.array(result.noisy_counts.ravel())
    return pa.table(columns)


def _repeated(labels: list[str], repeat: int, length: int) -> pa.Array:
    codes = np.repeat(np.arange(len(labels), dtype=np.int32), repeat)
    indices = np.tile(codes, length // len(codes))
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(labels, pa.string()))


def describe_cut(agreement: Agreement, cut: Cut) -> dict[str, Any]:
    """Return the cut as plain JSON values, with all that is needed to generalize other data."""
    return {
        "cut_format": 1,
        "class": {"name": agreement.class_.name, "values": list(agreement.class_.values)},
        "missing_spellings": list(agreement.records.missing_spellings),
        "attributes": {
            name: {
                "domain": describe_domain(domain),
                "values": [_describe_part(domain, part) for part in cut.parts[name]],
            }
            for name, domain in cut.domains.items()
        },
    }


def describe_score(result: SpecializationResult) -> dict[str, Any]:
    """Return the class counts that were opened for the score, and what it made of them; nothing if there are none."""
    if result.noisy_class_counts is None:
        return {}
    weights = {f"class_{name}": values.tolist() for name, values in result.score.public.items()}
    return {"score": {"name": result.score.name, "noisy_class_counts": result.noisy_class_counts.tolist(), **weights}}


def _describe_part(domain: Domain, part: CodeRange) -> dict[str, Any]:
    described: dict[str, Any] = {"label": domain.label(part), "codes": list(part)}
    if isinstance(domain, CategoricalDomain):
        described["members"] = list(domain.members(part))
    elif part[0] < domain.number_codes:
        lower, upper = domain.bounds(part)
        described |= {"lower": format_number(lower), "upper": format_number(upper)}
    return described
