"""Every error that copublish raises on purpose, as one tree.

A message is an output: it names the column and the rule, never a value, a row or a count of rows.
`exit_code` is what the command line returns to the shell; docs/reference/exit-codes.md explains each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""

TERMINATED = 143
"""The exit code of a command that SIGTERM ended, as shells have it."""

USAGE = 2

WHAT_TO_DO = {
    1: "Read the message. If it speaks of a bug, set COPUBLISH_DEBUG=1 to see where; look before you share it.",
    USAGE: "Look at the command's options: copublish COMMAND --help",
    3: "Change the agreement at every place that the message names, together with the other parties.",
    4: "Fix the data at their owner, change the agreement together, or --accept data that are right: copublish check",
    5: "Look at what is left, at locks and at what was charged: copublish ledger. What was reserved stays spent.",
    6: "Ask the other parties what they saw. What was reserved stays reserved: copublish ledger",
    7: "Choose another folder, or ask a party for its copy of what was changed.",
    8: "Look for what is in the way: copublish doctor AGREEMENT --party YOU. Nothing was measured.",
    9: "Do not release with this software. See: copublish audit --json FILE",
    10: "Ask people of your party to approve: copublish approve. Nothing was spent.",
    11: "Ask every party for its fingerprint: copublish verify FOLDER --fingerprint PARTY=sha256:...",
    INTERRUPTED: "Nothing has to be done. What a ledger was charged stays charged: copublish ledger",
}
"""For every exit code what to do; docs/reference/exit-codes.md has more about each."""


class CopublishError(Exception):
    """Base class: anything that ends a command with a clear message."""

    exit_code = 1


class AgreementError(CopublishError):
    """The agreement is not one that can be run.

    Attributes:
        problems: One sentence per mistake, each naming the place and what to write instead.
    """

    exit_code = 3

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"{source} has {count}:", *(f"  - {p}" for p in self.problems)]))


class OptionError(CopublishError):
    """An option of a run has a value that it cannot have, or is missing. Nothing was begun.

    Attributes:
        option: Its name.
        problem: What is wrong with it, and what to write instead.
    """

    exit_code = USAGE

    def __init__(self, option: str, problem: str) -> None:
        self.option, self.problem = option, problem
        super().__init__(f"{option}: {problem}.")


class DraftChangedError(CopublishError):
    """The file of a draft was changed by somebody else since the work on it began. Nothing was written."""

    exit_code = 3


class FragmentError(CopublishError):
    """A party's data are not what the agreement says, or other data are not what a release can generalize.

    Attributes:
        party: Whose data; none for data to generalize.
        problems: One sentence per broken rule, naming the column and the rule and nothing of a person.
    """

    exit_code = 4

    def __init__(self, party: str | None, problems: Sequence[str]) -> None:
        self.party = party
        self.problems = tuple(problems)
        subject = "The data do not fit the release" if party is None else f"The data of party '{party}' do not fit"
        super().__init__("\n  - ".join([f"{subject}. Nothing was measured.", *problems]))


class DoubtfulDataError(FragmentError):
    """A party's data are hardly those that were agreed, and their owner has not accepted them.

    Attributes:
        problems: One sentence per reason, without a number of rows.
    """

    def __init__(self, party: str | None, problems: Sequence[str]) -> None:
        super().__init__(party, problems)
        heading = (
            f"The data of party '{party}' are hardly those that were agreed. Nothing was spent and nobody was called."
        )
        advice = (
            "'copublish check' has the numbers. If the data are right all the same: --accept (Python: accept=True)."
        )
        self.args = ("\n".join([heading, *(f"  - {problem}" for problem in problems), advice]),)


class SourceError(CopublishError):
    """A file, a database or a data frame could not be read at all."""

    exit_code = 4


class MappingError(SourceError):
    """A mapping of an owner's own columns cannot be read.

    Attributes:
        problems: One sentence per mistake, each naming the place and what to write instead.
    """

    def __init__(self, source: Path, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join([f"The mapping '{source}' cannot be used:", *(f"  - {p}" for p in self.problems)]))


class NotCountedThereError(SourceError):
    """A database cannot count a column as it would be counted here; the text says why and names no value."""


class LedgerError(CopublishError):
    """The privacy ledger refuses, or cannot be read."""

    exit_code = 5


class BudgetExceededError(LedgerError):
    """What was asked for costs more than is left. Nothing was measured."""


class LockedError(LedgerError):
    """A data set is locked for one of the parties, until its owner says otherwise."""


class EditedLedgerError(LedgerError):
    """A ledger was changed by something else than this software, or lacks what its owner told others of it."""


class BehindLedgerError(LedgerError):
    """Another party's ledger does not know what that party has signed: it was restored, replaced or edited."""


class ApprovalError(CopublishError):
    """Too few people have approved of an agreement, or an approval does not count."""

    exit_code = 10


class EngineError(CopublishError):
    """The computation between the parties ended early."""

    exit_code = 6


class PartyLostError(EngineError):
    """Another party stopped, so this one cannot go on."""


class OwnEngineError(EngineError):
    """The process of this party's own engine was killed, and no other party is the cause."""


class SilenceError(PartyLostError):
    """Another party did not answer in time.

    Attributes:
        party: Which one, as far as it is known: of three compute nodes an engine cannot tell which one was silent.
    """

    party: str | None = None

    @classmethod
    def of(cls, party: str, seconds: float) -> SilenceError:
        """The error for a party that was waited for."""
        error = cls(f"Party '{party}' did not answer in {seconds:g} s. Nothing is published.")
        error.party = party
        return error


class LostAtTheLastStepError(PartyLostError):
    """Another party was lost while all were about to publish: others may have, and this one has not."""


class ProgramMismatchError(EngineError):
    """The parties asked the engine for different things: their software or agreements differ."""


class InvalidInputsError(EngineError):
    """A party put in something that the agreement does not allow; nobody who runs the released software does.

    Attributes:
        party: Which one.
    """

    def __init__(self, party: str) -> None:
        self.party = party
        super().__init__(
            f"'{party}' put in something else than the agreement allows, so its software was changed or is broken. "
            "Nothing that depends on it was opened, and nothing is published. What was reserved stays reserved."
        )


class SecretCannotBeReadError(TypeError):
    """Code tried to look inside a secret. Values come out through the reveal gate alone."""


class EvaluationError(CopublishError):
    """A release cannot be evaluated on these data, or in this way."""

    exit_code = 4


class ReleaseError(CopublishError):
    """A release folder is missing, incomplete or would be overwritten."""

    exit_code = 7


class MeetingError(CopublishError):
    """The parties could not meet: identity, network, certificates, or agreements and versions that differ."""

    exit_code = 8


class GeneratorError(CopublishError):
    """The random generator of this machine failed its start-up test. Nothing was begun."""

    exit_code = 8

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The random generator of this machine is broken: {problem}. Noise from it would protect nobody. Nothing "
            "was compared, reserved or opened. Run from another machine, and have this one's system looked at."
        )


class PartyFileError(MeetingError):
    """A party's own file, party.toml, cannot be used. Nothing was begun.

    Attributes:
        problems: One sentence per mistake.
    """

    def __init__(self, file: Path, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n  - ".join([f"'{file}' cannot be used, so nothing was begun:", *problems]))


class PassphraseError(MeetingError):
    """A key has a passphrase, or a token a PIN, that is missing or wrong."""


class StoppedError(CopublishError):
    """A person or the system stopped a command that may have charged a ledger; the message says what the ledger has."""

    exit_code = INTERRUPTED

    def __init__(self, message: str, exit_code: int = INTERRUPTED) -> None:
        self.exit_code = exit_code
        super().__init__(message)


def plain_text(said: object, limit: int = 200) -> str:
    """Words of somebody else as one short line that is safe to show in a terminal and a log."""
    try:
        text = str(said)
    except RecursionError:  # lists in lists, as deep as JSON can be
        text = "something that is no text"
    return "".join(character if character.isprintable() else " " for character in text[:limit])


def is_unsafe(character: str) -> bool:
    """Whether a character steers a terminal or turns text around: controls, bidirectional ones, lone surrogates."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or "\u202a" <= character <= "\u202e"
        or ("\u2066" <= character <= "\u2069")
    )


def visible(text: str) -> str:
    """Text whose unsafe characters are spelled out, line breaks aside, so that a terminal does not obey."""
    if text.isprintable():
        return text
    return "".join(f"<U+{ord(c):04X}>" if c != "\n" and is_unsafe(c) else c for c in text)


def unsafe_texts(content: object) -> Iterator[str]:
    """Yield a sentence for every text in nested mappings and lists, keys included, that has an unsafe character."""
    left: list[tuple[str, object]] = [("", content)]
    while left:
        place, value = left.pop()
        if isinstance(value, str):
            found = None if value.isprintable() else next(filter(is_unsafe, value), None)
            if found is not None:
                yield (
                    f"{plain_text(place) or 'it'}: the text holds the control character U+{ord(found):04X}, which can "
                    "hide or forge what is shown. Write it without"
                )
        elif isinstance(value, Mapping):
            inside = [(f"{place}.{key}".removeprefix("."), key, item) for key, item in value.items()]
            left += [entry for name, key, item in reversed(inside) for entry in ((name, item), (name, key))]
        elif isinstance(value, list | tuple):
            left += [(f"{place}.{number}", item) for number, item in reversed(list(enumerate(value, 1)))]


def combined_error(errors: Sequence[CopublishError]) -> CopublishError:
    """One error that says what all of them say, with the exit code of the first."""
    if len(errors) == 1:
        return errors[0]
    combined = CopublishError("\n".join(map(str, errors)))
    combined.exit_code = errors[0].exit_code
    return combined
