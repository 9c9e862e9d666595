"""Building the certificate of a release from its agreement, what was opened, and how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.accounting.formatting import epsilon_or_not, show_bound, show_exact, state_disclosure
from copublish.kernel.accounting.membership import added_towards_owner, exchanged_towards_owner
from copublish.kernel.accounting.statements import (
    UNBOUNDED,
    UNPROTECTED,
    ByRelation,
    EpsilonStatement,
    MembershipStatement,
)
from copublish.kernel.certificate.certificate import (
    AuditStatement,
    Basic,
    Certificate,
    ClassDisagreement,
    Contributions,
    Curator,
    Deployment,
    DeploymentModel,
    EngineStatement,
    Implementation,
    NoiseSharesStatement,
    Parameters,
    PrivacyLoss,
    PublicFacts,
    Variant,
)
from copublish.kernel.certificate.promise import assumptions, computes_jointly, not_protected, protected, view_of
from copublish.kernel.noise.shared_laplace import NoiseShares

SAMPLERS_DELTA = "the sampler's part"


@dataclass(frozen=True, kw_only=True)
class Method:
    """What a mechanism does, in words.

    Attributes:
        product: What is published.
        mechanisms: How values are opened.
        post_processing: What is made of them.
        model: Where noise is added, if not where the engine does.
    """

    product: str
    mechanisms: str
    post_processing: str
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What the certificate says about how a release was made, besides the agreement and the disclosures."""

    mechanism: str
    method: Method
    engine: str
    secrecy: str
    engine_assumptions: Sequence[str]
    software: dict[str, str]
    publication_date: str
    public_total: int | None
    class_disagreement: ClassDisagreement | None = None
    audit: AuditStatement | None = None
    key_exchange: tuple[str, ...] | None = None


def build_certificate(
    agreement: Agreement, disclosures: Sequence[Disclosure], circumstances: Circumstances
) -> Certificate:
    """The certificate of a release."""
    cost = cost_of(disclosures, number_of_records_is_public=agreement.records.public)
    no_promise = agreement.mechanism.no_promise(agreement)
    return Certificate(
        warning=None if no_promise is None else no_promise.warning,
        release=agreement.name,
        mechanism=circumstances.mechanism,
        agreement_hash=agreement.hash,
        epsilon=state_epsilon(agreement, cost),
        delta_bound=bound_on_delta(agreement, cost),
        delta_is=delta_words(agreement),
        samplers_delta=not agreement.uses_gaussian_noise and no_promise is None,
        disclosures=tuple(state_disclosure(disclosure) for disclosure in disclosures),
        protected=tuple(protected(agreement, cost)),
        not_protected=tuple(not_protected(agreement)),
        public_facts=PublicFacts(number_of_records=circumstances.public_total if agreement.records.public else None),
        class_disagreement=circumstances.class_disagreement,
        contributions=Contributions(
            partition=agreement.partition,
            columns={party: agreement.columns_of(party) for party in agreement.parties},
            derived={name: a.derived.words for name, a in agreement.attributes.items() if a.derived is not None}
            or None,
        ),
        assumptions=tuple(all_assumptions(agreement, circumstances.engine, circumstances.engine_assumptions)),
        views={party: tuple(view_of(agreement, party)) for party in agreement.parties},
        engine=_engine(agreement, circumstances),
        deployment=_deployment(agreement, cost, circumstances),
        software=circumstances.software,
        audit=circumstances.audit,
    )


def warning_of(agreement: Agreement) -> str | None:
    """What has to be said first about a release of this agreement; nothing if it is differentially private."""
    no_promise = agreement.mechanism.no_promise(agreement)
    return None if no_promise is None else no_promise.warning


def delta_words(agreement: Agreement) -> str:
    """What delta bounds, in words."""
    if agreement.mechanism.no_promise(agreement) is not None:
        return "no bound: nothing is guaranteed"
    if agreement.uses_gaussian_noise:
        return "of Gaussian noise, as agreed, with the sampler's part in it"
    return SAMPLERS_DELTA


def bound_on_delta(agreement: Agreement, cost: Cost) -> str:
    """A bound on delta; 1, which bounds nothing, where nothing is guaranteed."""
    return show_bound(cost.delta) if agreement.mechanism.no_promise(agreement) is None else "1"


def state_epsilon(agreement: Agreement, cost: Cost) -> EpsilonStatement:
    """Epsilon for both relations, for the public and for the other parties.

    Where records are joined the other parties know who is in the table, so only the values of a person's cells are
    protected from them: the relation replace. Where membership is hidden, an owner learns a noisy number besides.
    """
    if agreement.mechanism.no_promise(agreement) is not None:
        return EpsilonStatement(
            calibrated_to=agreement.privacy.neighbors,
            agreed=UNBOUNDED,
            public={"add-remove": UNBOUNDED, "replace": UNBOUNDED},
            insiders={"add-remove": UNBOUNDED, "replace": UNBOUNDED},
            insiders_know_members=False,
        )
    public: ByRelation = {"add-remove": epsilon_or_not(cost.add_remove), "replace": epsilon_or_not(cost.replace)}
    if agreement.hides_membership:
        return EpsilonStatement(
            calibrated_to=agreement.privacy.neighbors,
            agreed=show_exact(agreement.epsilon),
            public=public,
            insiders={**public, "add-remove": epsilon_or_not(added_towards_owner(agreement, cost))},
            insiders_know_members=False,
            membership=_state_membership(agreement, cost),
        )
    insiders_know_members = agreement.partition != "horizontal"
    return EpsilonStatement(
        calibrated_to=agreement.privacy.neighbors,
        agreed=show_exact(agreement.epsilon),
        public=public,
        insiders={**public, "add-remove": UNPROTECTED} if insiders_know_members else public,
        insiders_know_members=insiders_know_members,
    )


def _state_membership(agreement: Agreement, cost: Cost) -> MembershipStatement:
    """How owners hide from each other who is common, and what another owner learns."""
    lengths = agreement.records.at_most or {}
    return MembershipStatement(
        helper=agreement.helper,
        at_most={owner: lengths[owner] for owner in agreement.owners},
        size_epsilon=show_exact(agreement.membership_epsilon),
        size_delta_bound=show_bound(agreement.membership_delta),
        another_person=epsilon_or_not(exchanged_towards_owner(agreement, cost)),
        delta_bound=show_bound(cost.delta + agreement.membership_delta),
    )


def state_shares(agreement: Agreement) -> NoiseSharesStatement | None:
    """Who adds up, how many may collude, and what that costs; nothing if a secure engine draws the noise."""
    shares = NoiseShares.of(agreement)
    if shares is None:
        return None
    return NoiseSharesStatement(
        owners=len(shares.owners),
        colluders=shares.colluders,
        aggregator=agreement.aggregator,
        variance_factor=str(shares.variance_factor),
    )


def _engine(agreement: Agreement, circumstances: Circumstances) -> EngineStatement:
    played: dict[str, Any] = {}
    if circumstances.engine == "spu":  # who computed, and who shared its inputs with those
        played = {
            "protocol": agreement.engine.agreed_protocol.upper(),
            "compute_nodes": agreement.compute_nodes,
            "guests": agreement.guests,
        }
    return EngineStatement(
        name=circumstances.engine,
        secrecy=state_secrecy(agreement, circumstances.engine, circumstances.secrecy),
        noise_shares=state_shares(agreement),
        key_exchange=circumstances.key_exchange,
        **played,
    )


def all_assumptions(agreement: Agreement, engine: str, of_engine: Sequence[str]) -> list[str]:
    """Assumptions of the guarantee and of an engine's secrecy."""
    if engine == "spu" and not computes_jointly(agreement):
        of_engine = ("All parties follow the protocol (semi-honest); a party that deviates could learn more.",)
    return assumptions(agreement, of_engine)


def state_secrecy(agreement: Agreement, engine: str, of_engine: str) -> str:
    """The secrecy of a run: an engine's own words are about what it computes."""
    secrecy = of_engine
    alone = "Every owner perturbs its own values before it tells them to all parties, and knows their noise."
    if agreement.publishes_each_record and engine != "ideal" and computes_jointly(agreement):
        secrecy = f"{alone} For what is counted jointly before: {of_engine}"
    elif agreement.publishes_each_record and engine == "spu":
        secrecy = f"{alone} Nothing is computed on secrets; the engine helps to align records, if they are joined."
    no_promise = agreement.mechanism.no_promise(agreement)
    return secrecy if no_promise is None else f"{no_promise.use_of_the_engine} {secrecy}"


def _data_domain(agreement: Agreement) -> str:
    and_class = "" if agreement.class_ is None else f" and the class '{agreement.class_.name}'"
    return f"{len(agreement.attributes)} attributes{and_class}"


def _deployment(agreement: Agreement, cost: Cost, circumstances: Circumstances) -> Deployment:
    replace = agreement.privacy.neighbors == "replace"
    epsilon = cost.replace if replace else cost.add_remove
    no_promise = agreement.mechanism.no_promise(agreement)
    return Deployment(
        basic=Basic(
            name=agreement.name,
            data_curators=tuple(Curator(data_curator_name=party) for party in agreement.parties),
            description=agreement.description,
            data_product_type=circumstances.method.product,
            publication_date=circumstances.publication_date,
        ),
        dp_variant=Variant(
            variant_name="Approximate DP" if no_promise is None else "None: not differentially private",
            variant_details=_variant(agreement) if no_promise is None else no_promise.warning,
            data_domain=_data_domain(agreement),
            unprotected_quantities="; ".join(not_protected(agreement)),
        ),
        privacy_loss=PrivacyLoss(
            privacy_unit="Person",
            privacy_unit_details=(
                "Neighboring tables differ in the values of one person's record."
                if replace
                else "Neighboring tables differ by the presence of one person's record."
            ),
            privacy_parameters=Parameters(
                epsilon=None if epsilon is None else float(epsilon), delta=bound_on_delta(agreement, cost)
            ),
        ),
        deployment_model=DeploymentModel(
            model_name=_model_name(circumstances),
            actors=", ".join(agreement.parties),
            release_type="One release",
            access_type="Non-interactive",
        ),
        implementation=Implementation(
            mechanisms=circumstances.method.mechanisms,
            composition=_composition(agreement) if no_promise is None else "None: no finite epsilon holds.",
            post_processing=circumstances.method.post_processing,
        ),
    )


def _composition(agreement: Agreement) -> str:
    if agreement.mechanism.noise_follows_delta and agreement.uses_gaussian_noise:
        return "Zero-concentrated DP: rho added up as exact fractions by a filter, converted to epsilon once."
    return "Sequential composition, added up as exact fractions."


def _variant(agreement: Agreement) -> str:
    if agreement.uses_gaussian_noise:
        return (
            "Zero-concentrated DP (rho stands with the disclosure), stated as epsilon at the agreed delta. Delta "
            "includes the sampler's distance to the exact noise."
        )
    return "Pure epsilon-DP but for the sampler's distance to the exact noise, bounded by delta."


def _model_name(circumstances: Circumstances) -> str:
    if circumstances.engine == "ideal":
        return "Simulated"
    by_engine = "Secure multi-party computation"
    if circumstances.engine == "masked-sum":
        by_engine = "Secure aggregation of sums with noise from every owner"
    return circumstances.method.model or by_engine
