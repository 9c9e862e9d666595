"""What an agreement knows of mechanisms: settings, traits and rules. None of them is known here by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from copublish.agreement.section import Section

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

Partition = Literal["horizontal", "vertical", "arbitrary"]

Need = Literal["own values", "sums", "programs", "joins"]
"""What a mechanism asks of an engine: nothing, sums of what every owner counts alone, programs on secrets, or also
joins of columns that several parties hold."""

NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
"""The names of mechanisms: two that differ by case or punctuation only would be mistaken for each other."""

REGISTRY = "copublish.mechanisms.registry"
"""Where the mechanisms are listed. They import this package, so the list is imported when it is first asked for."""


@dataclass(frozen=True, kw_only=True)
class NoPromise:
    """What has to be said of a release that is not differentially private.

    Attributes:
        warning: The first thing that everything says.
        protected: What holds all the same.
        not_protected: What does not, beyond what no release protects.
        use_of_the_engine: What an engine's secrecy is worth here.
    """

    warning: str
    protected: tuple[str, ...]
    not_protected: tuple[str, ...]
    use_of_the_engine: str


class MechanismSettings(Section):
    """The section [mechanism] of an agreement: a name, and the keys of the mechanism that has it.

    A subclass for each mechanism states its keys, its traits and its rules. Others ask for traits, never for names.
    """

    name: str

    reads_numbers: ClassVar[bool] = False
    """Whether numbers are needed as such, and not only the cells of the grid they lie in."""

    counts_alone: ClassVar[bool] = False
    """Whether owners of whole rows are asked for tables of counts and nothing else, so that rows may stay in a database
    that counts them."""

    publishes_each_record: ClassVar[bool] = False
    """Whether every record is published, with noise that the owners of its cells add."""

    spends_by_column: ClassVar[bool] = False
    """Whether every column has a budget of its own, which the section [budget] divides."""

    noise_follows_delta: ClassVar[bool] = False
    """Whether the noise is Gaussian exactly if the agreement states a delta."""

    how_to_get_gaussian_noise: ClassVar[str | None] = None
    """What to write for Gaussian noise; nothing if the mechanism has none."""

    needs_class: ClassVar[bool] = False
    """True if it predicts the class by definition, so that an agreement needs a section [class]."""

    splits_step_by_step: ClassVar[bool] = False
    """True if numbers are split at grid points in one step after another, so that a grid may be fine."""

    draws_records: ClassVar[bool] = False
    """Whether synthetic records are drawn from what was measured."""

    draws_for_class: ClassVar[bool] = False
    """True if records are drawn for each class, where there is one, so that they serve to predict no other column."""

    partitions: ClassVar[tuple[Partition, ...]] = ("horizontal", "vertical", "arbitrary")
    """What data the mechanism is for."""

    example: ClassVar[str] = ""
    """Its sections in an agreement to start from, with comments."""

    drafted: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Keys of sections that all mechanisms have, with the only values that this one takes."""

    drafted_instead: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Settings to draft, one after another, where those of the example break a rule."""

    @property
    def drops_missing(self) -> bool:
        """True if owners leave out rows with a missing value for which the agreement names no other value."""
        return False

    @property
    def uses_gaussian_noise(self) -> bool:
        """Whether the noise is Gaussian, so that the agreement needs a delta."""
        return False

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names under which agreements ask for the mechanism, its own first."""
        return tuple(get_args(cls.model_fields["name"].annotation))

    def needs(self, partition: Partition) -> Need:
        """What the mechanism asks of an engine."""
        return "joins"

    def no_promise(self, agreement: Agreement) -> NoPromise | None:
        """What is said if no epsilon can be stated; nothing for a mechanism that is differentially private."""
        return None

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        yield from ()


YES_OR_NO = (
    "reads_numbers",
    "counts_alone",
    "publishes_each_record",
    "spends_by_column",
    "draws_records",
    "draws_for_class",
    "needs_class",
    "noise_follows_delta",
    "splits_step_by_step",
)
TRAITS = (*YES_OR_NO, "how_to_get_gaussian_noise", "partitions", "example", "drafted", "drafted_instead")


def contradictions(settings: type[MechanismSettings]) -> Iterator[str]:
    """Yield a sentence for every trait that is no trait, or that another one contradicts.

    Certificates, ledgers and engines ask for traits one by one. With two that do not go together a certificate would
    say what the mechanism does not do.
    """
    if keys := [trait for trait in TRAITS if trait in settings.model_fields]:
        yield f"{_listed(keys)} would be a key of agreements. Traits belong to the class: annotate them as ClassVar"
        return
    if not settings.names() or not all(isinstance(name, str) and name for name in settings.names()):
        yield "it has no name. Annotate the field 'name' as Literal, with every name that agreements may use"
    elif odd := [name for name in settings.names() if not NAME.fullmatch(name)]:
        yield f"a name has lower-case letters, digits and hyphens only, and begins with a letter, unlike {_listed(odd)}"
    if unclear := [trait for trait in YES_OR_NO if not isinstance(getattr(settings, trait), bool)]:
        yield f"{_listed(unclear)} has to be True or False, whatever the agreement is"
        return
    if not settings.partitions or not set(settings.partitions) <= set(get_args(Partition)):
        yield f"'partitions' has to name some of {_listed(get_args(Partition))}"
    if settings.counts_alone and (settings.reads_numbers or settings.publishes_each_record):
        yield "tables of counts are all that is asked for ('counts_alone'), or numbers and records are, not both"
    if settings.publishes_each_record and settings.draws_records:
        yield "records are published one by one ('publishes_each_record') or drawn ('draws_records'), not both"
    says_so = settings.uses_gaussian_noise is not MechanismSettings.uses_gaussian_noise
    is_gaussian = says_so or settings.noise_follows_delta
    if is_gaussian != (settings.how_to_get_gaussian_noise is not None):
        yield "'how_to_get_gaussian_noise' says what to write exactly if noise can be Gaussian"
    if says_so and settings.noise_follows_delta:
        yield "noise follows the agreed delta ('noise_follows_delta') or the settings ('uses_gaussian_noise'), not both"
    has_promise = settings.no_promise is MechanismSettings.no_promise
    if settings.spends_by_column and not has_promise:
        yield "without a promise ('no_promise') there is no epsilon that columns could divide ('spends_by_column')"
    if is_gaussian and not has_promise:
        yield "without a promise ('no_promise') there is no delta that Gaussian noise could be for"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_known: dict[str, type[MechanismSettings]] = {}


def register_settings(settings: type[MechanismSettings]) -> None:
    """Let agreements ask for a mechanism. For the registry alone."""
    _known.update(dict.fromkeys(settings.names(), settings))


def known_settings() -> Mapping[str, type[MechanismSettings]]:
    """The settings of every mechanism, by every name it has."""
    importlib.import_module(REGISTRY).load_plug_ins()
    return _known


def names_of_mechanisms() -> str:
    """The known names, in quotes, and why plug-ins with others are missing."""
    return ". ".join([_listed(known_settings()), *importlib.import_module(REGISTRY).load_plug_ins()])


def drawing_mechanisms(partition: Partition) -> str:
    """The mechanisms that draw synthetic records of such data, in quotes, to name where another one does not fit."""
    names = [name for name, known in known_settings().items() if known.draws_records and partition in known.partitions]
    return " or ".join(f"'{name}'" for name in names)
