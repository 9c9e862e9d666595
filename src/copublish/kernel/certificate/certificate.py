"""The certificate: what a release guarantees, to whom, and under which assumptions.

It may also hold numbers from an audit of its agreement; those come from made-up tables. Fields under `deployment` are
named after the Differential Privacy Deployments Registry where it has them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from copublish.agreement.settings import Partition
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import DisclosureStatement, EpsilonStatement, Noise
from copublish.types import TypedJson


@dataclass(frozen=True, kw_only=True)
class AuditedNumber(TypedJson):
    """What was found of a view or of a disclosure.

    Attributes:
        name: Of which.
        stated: Epsilon, as it is promised.
        found: The largest epsilon that runs proved to be needed.
        expected: What a mechanism exactly as stated would have shown.
        runs: How often it was played.
    """

    name: str
    stated: float
    found: float
    expected: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class AuditStatement(TypedJson):
    """An audit that all parties had before the run, and that one of them made and signed.

    Attributes:
        made_by: Who made it. No other party has repeated it.
        date: When it was made.
        versions: Of the software that was audited.
        relation: How the made-up tables were neighbors.
        confidence: Of every number found.
        verdict: A refuted agreement is not run.
        verdict_level: How likely it is at most that a sound mechanism is refuted.
        views: For the public, parties and coalitions.
        disclosures: For everything that is opened, alone.
        whole_runs: How many whole runs were compared, on records that are not as agreed.
        secure_runs: How many of them between processes, on the agreed engine.
        skipped: What is not protected and was not audited.

    Privacy:
        A function of the agreement, of software and of coins. It states no guarantee: an audit can refute a promise and
        never prove it.
    """

    made_by: str
    date: str
    versions: dict[str, str]
    relation: str
    confidence: float
    verdict: Literal["consistent"]
    verdict_level: float
    views: tuple[AuditedNumber, ...]
    disclosures: tuple[AuditedNumber, ...]
    whole_runs: int
    secure_runs: int
    skipped: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A hash by which parties find out whether they have the same one."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> str:
        """The same in a few sentences."""
        found = "; ".join(f"{one.name}: {one.found:.2f} of {one.stated:.2f}" for one in self.views)
        return (
            f"An audit of the agreement on made-up tables ({self.date}), made by '{self.made_by}' and not repeated by "
            f"others, is consistent with what is stated. Epsilon found of epsilon stated, with {self.confidence:.0%} "
            f"confidence: {found}. An audit can refute a promise and never prove it."
        )


CERTIFICATE_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class NoiseSharesStatement(TypedJson):
    """Who adds up masked sums, how many owners may collude, and what that costs."""

    owners: int
    colluders: int
    aggregator: str
    variance_factor: str


@dataclass(frozen=True, kw_only=True)
class EngineStatement(TypedJson):
    """Where the release was computed.

    Attributes:
        name: The engine.
        secrecy: Who could see what.
        noise_shares: Where owners add the noise in shares, how.
        protocol: Of the secure engine.
        compute_nodes: The parties that ran it.
        guests: The parties that shared their inputs with those.
        key_exchange: How the parties' connections agreed on keys, as OpenSSL names groups of TLS; none without TLS.
    """

    name: str
    secrecy: str
    noise_shares: NoiseSharesStatement | None = None
    protocol: str | None = None
    compute_nodes: tuple[str, ...] | None = None
    guests: tuple[str, ...] | None = None
    key_exchange: tuple[str, ...] | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether all data were seen by one process."""
        return self.name == "ideal"


@dataclass(frozen=True, kw_only=True)
class PublicFacts(TypedJson):
    """Facts about the data that the release states without noise; none where the agreement keeps them secret."""

    number_of_records: int | None


@dataclass(frozen=True, kw_only=True)
class ClassDisagreement(TypedJson):
    """On how many records the class columns of two parties differ, with noise.

    Attributes:
        class_name: The class.
        holders: The two parties.
        counts: The one of them whose column counts in joint tables.
        noisy_count: The number of records, with noise: it can be below 0.
        within_95_percent: How far it is off at most in 95 of 100 cases.
    """

    class_name: str
    holders: tuple[str, str]
    counts: str
    noisy_count: int
    within_95_percent: int

    @property
    def words(self) -> str:
        """The same in a sentence."""
        first, second = self.holders
        return (
            f"The columns '{self.class_name}' of '{first}' and '{second}' differ on about {max(0, self.noisy_count):,} "
            f"records (measured with noise: {self.noisy_count:,}, off by at most {self.within_95_percent:,} in 95 of "
            f"100 cases). Joint tables take that of '{self.counts}'."
        )


@dataclass(frozen=True, kw_only=True)
class Contributions(TypedJson):
    """What each party brought, as the agreement says it: nothing here depends on anybody's data.

    Attributes:
        partition: How the table is divided among the parties.
        columns: The columns of which a party holds cells, by party; none for one that helped to compute.
        derived: How columns follow from a party's event tables, in words, by column; none where none does.
    """

    partition: Partition
    columns: dict[str, tuple[str, ...]]
    derived: dict[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Curator(TypedJson):
    """An organization."""

    data_curator_name: str


@dataclass(frozen=True, kw_only=True)
class Basic(TypedJson):
    """What was published, by whom and when."""

    name: str
    data_curators: tuple[Curator, ...]
    description: str
    data_product_type: str
    publication_date: str


@dataclass(frozen=True, kw_only=True)
class Variant(TypedJson):
    """Which kind of differential privacy holds, for what."""

    variant_name: str
    variant_details: str
    data_domain: str
    unprotected_quantities: str


@dataclass(frozen=True, kw_only=True)
class Parameters(TypedJson):
    """Epsilon, none if it is not finite, and a bound on delta."""

    epsilon: float | None
    delta: str


@dataclass(frozen=True, kw_only=True)
class PrivacyLoss(TypedJson):
    """Whose data may differ, and by how much that may show."""

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: Parameters


@dataclass(frozen=True, kw_only=True)
class DeploymentModel(TypedJson):
    """Where noise was added, by whom."""

    model_name: str
    actors: str
    release_type: str
    access_type: str


@dataclass(frozen=True, kw_only=True)
class Implementation(TypedJson):
    """How values were opened, what they cost together, and what was made of them."""

    mechanisms: str
    composition: str
    post_processing: str


@dataclass(frozen=True, kw_only=True)
class Deployment(TypedJson):
    """An entry of the deployments registry."""

    basic: Basic
    dp_variant: Variant
    privacy_loss: PrivacyLoss
    deployment_model: DeploymentModel
    implementation: Implementation


@dataclass(frozen=True, kw_only=True)
class Certificate(TypedJson):
    """What a release guarantees.

    Attributes:
        warning: What everything says first about a release that is not differentially private.
        certificate_format: Number of the format.
        release: Name of the release.
        mechanism: What made it.
        agreement_hash: Of the agreement.
        epsilon: By who looks and what changes.
        delta_bound: A bound on delta.
        delta_is: What delta stands for, in words.
        samplers_delta: Whether delta is only the sampler's distance to the exact noise.
        disclosures: Everything that was opened, in order. Every release opens something.
        protected: What is protected, in words.
        not_protected: What is not.
        public_facts: What is stated without noise.
        class_disagreement: On how many records two class columns differ, where that was agreed to be measured.
        contributions: Who brought what.
        audit: What an audit found that all parties had; most releases have none.
        assumptions: What the guarantee rests on.
        views: Everything each party saw.
        engine: Where it was computed.
        deployment: The same for the deployments registry.
        software: Versions.
        files: Digests of the released files; none before they are written.
    """

    warning: str | None = None
    certificate_format: int = CERTIFICATE_FORMAT
    release: str
    mechanism: str
    agreement_hash: str
    epsilon: EpsilonStatement
    delta_bound: str
    delta_is: str
    samplers_delta: bool
    disclosures: Annotated[tuple[DisclosureStatement, ...], Field(min_length=1)]
    protected: tuple[str, ...]
    not_protected: tuple[str, ...]
    public_facts: PublicFacts
    assumptions: tuple[str, ...]
    views: dict[str, tuple[str, ...]]
    engine: EngineStatement
    deployment: Deployment
    software: dict[str, str]
    contributions: Contributions
    class_disagreement: ClassDisagreement | None = None
    audit: AuditStatement | None = None
    files: dict[str, str] | None = None

    def at(self, step: str) -> list[DisclosureStatement]:
        """The disclosures of one step of the mechanism."""
        return [disclosure for disclosure in self.disclosures if disclosure.place.step == step]

    def noise_at(self, place: Place) -> Noise:
        """The noise of the disclosure at a place.

        Raises:
            ValueError: If there is no disclosure at this place, or more than one.
        """
        noises = [disclosure.noise for disclosure in self.disclosures if disclosure.place == place]
        if len(noises) != 1:
            words = ", ".join(f"{key} '{value}'" for key, value in place.to_json().items())
            raise ValueError(f"the certificate has {len(noises)} disclosures at one place ({words}), and needs one")
        return noises[0]

    @property
    def parties(self) -> tuple[str, ...]:
        """Who made the release."""
        return tuple(self.views)

    def refuse_differing_parties(self) -> None:
        """Raise unless every part of it names the same parties, at least two.

        Whoever could leave a party out of one part would make it unnoticed that this party never signed.

        Raises:
            ValueError: Naming the part that differs.
        """
        parties = set(self.parties)
        curators = [curator.data_curator_name for curator in self.deployment.basic.data_curators]
        named = {"contributions": tuple(self.contributions.columns), "data curators": tuple(curators)}
        if self.engine.compute_nodes is not None:
            named["engine"] = (*self.engine.compute_nodes, *(self.engine.guests or ()))
        if len(parties) < 2:
            raise ValueError("it names fewer than two parties that made the release")
        for part, names in named.items():
            if set(names) != parties or len(names) != len(parties):
                raise ValueError(f"its views and its {part} do not name the same parties")

    def __repr__(self) -> str:
        return f"Certificate({self.release!r}, {self.mechanism}, epsilon {self.epsilon.agreed})"
