"""The request for a run: what somebody asks for, and what it comes to with the agreement and the party's own file.

Command line, Python, detached process and page build a `RunRequest`. Its `resolve` is the one place where defaults,
party.toml and the agreement are put together.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypedDict

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.engines.spu.parallel_sessions import HERE, ONE_WORKER, Workers
from copublish.errors import MeetingError, OptionError, SourceError
from copublish.files.home import PARTY_FILE, home_folder, identities_folder
from copublish.party.audit_file import default_audit_file
from copublish.party.keys.identity import CERTIFICATE_FILE, certificates_in, common_name, identity_folder
from copublish.party.log import SYSLOG, TO_STDERR
from copublish.party.network.proxy import Proxy, WayOut, proxy_from
from copublish.party.options import Address, Option, Places, build, given_in, options_of, to_json
from copublish.party.party_file import read_party_file
from copublish.release.evidence.approvals import default_approvals_folder
from copublish.rows.database import DatabaseTable, scheme_of
from copublish.rows.sources import (
    PartyData,
    PlainSource,
    Source,
    events_of,
    mapped,
    names_file,
    plain,
    source_from,
)

DEFAULT_OUT = "release"

DEFAULT_END_AFTER_SECONDS = 7 * 24 * 3600
"""A week. The longest run that docs/scale.md predicts takes four days."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Options about the keys of a party."""

    identity: Annotated[
        Path | None,
        Option(
            help="Folder with your key.pem and certificate.pem. Default: made by 'identity new'.",
            example="/mnt/keys/bank",
        ),
    ] = None
    signer: Annotated[
        Path | None,
        Option(
            help="Folder of the identity that signs, if the agreement names another one for it (signer = ...). "
            "Default: PARTY-signer beside your identity.",
            example="/mnt/keys/bank-signer",
        ),
    ] = None
    approvals: Annotated[
        Path | None,
        Option(help="Folder with your people's approvals. Default: AGREEMENT.approvals, beside the agreement."),
    ] = None
    insecure: Annotated[
        bool, Option(help="No TLS and no certificates; for parties on loopback alone.", flag="--insecure")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Network:
    """Options about the way to the other parties."""

    listen: Annotated[
        Address | None,
        Option(
            help="ADDRESS:PORT to listen at, if not the port of your host in the agreement.", example="0.0.0.0:7700"
        ),
    ] = None
    proxy: Annotated[
        str | None,
        Option(
            help="HTTP proxy to the outside, like http://proxy.example:3128, or none. Default: HTTPS_PROXY.",
            example="http://proxy.example:3128",
        ),
    ] = None
    proxy_credentials: Annotated[
        Path | None,
        Option(help="File with the proxy's user:password, readable by you alone.", example="proxy.txt"),
    ] = None
    wait_seconds: Annotated[
        int | None,
        Option(
            help="Seconds to wait for the other parties to come.",
            flag="--wait",
            default=3600,
            at_least=1,
            example=3600,
        ),
    ] = None
    timeout_seconds: Annotated[
        int | None,
        Option(
            help="Seconds to wait for an answer once they are there, and that a link may be dead.",
            flag="--timeout",
            default=600,
            at_least=5,
            example=600,
        ),
    ] = None
    end_after_seconds: Annotated[
        int | None,
        Option(
            help="Seconds that the run may take once they are there, however slow another party is.",
            flag="--end-after",
            default=DEFAULT_END_AFTER_SECONDS,
            at_least=5,
            example=DEFAULT_END_AFTER_SECONDS,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Options about the processes of the secure engine."""

    workers: Annotated[
        int | None,
        Option(
            help="Engine processes of a party that count the agreement's shards at the same time.",
            default=ONE_WORKER.number,
            at_least=1,
            example=1,
        ),
    ] = None
    workers_on: Annotated[
        str | None,
        Option(
            help="Where all but one of them run: here, or on your own Ray cluster: ray, or ray=ADDRESS.",
            default=HERE,
            example=HERE,
        ),
    ] = None


class RunOptions(TypedDict, total=False):
    """The same options as keywords of Python functions."""

    party: str | None
    out: str | Path | None
    ledger: str | Path | None
    log: str | Path | None
    columns: str | Path | None
    overwrite: bool
    again: bool
    accept: bool
    events: Mapping[str, str | Path] | None
    identity: str | Path | None
    signer: str | Path | None
    approvals: str | Path | None
    insecure: bool
    listen: Address | str | None
    proxy: str | None
    proxy_credentials: str | Path | None
    wait_seconds: int | None
    timeout_seconds: int | None
    end_after_seconds: int | None
    workers: int | None
    workers_on: str | None


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One party's request for a run. What is none was not given. It never holds a passphrase or PIN.

    Attributes:
        agreement: The agreement, or its file.
        data: The party's data; none for a party that holds none.
        party, out, ledger, log, columns, overwrite, again, accept, events: Options.
        keys, network, compute: Options by what they are about.
    """

    agreement: Agreement | Path
    data: "Source | None" = None
    party: Annotated[
        str | None,
        Option(
            help="Which party of the agreement you are. Default: the one whose identity you have.",
        ),
    ] = None
    out: Annotated[Path | None, Option(help="Folder for the release. Default: release, beside the agreement.")] = None
    ledger: Annotated[
        Path | None,
        Option(help="Your ledger. Default: ledger.db in your copublish folder.", example="/srv/copublish/ledger.db"),
    ] = None
    log: Annotated[
        Path | None,
        Option(
            help=f"File for the log, or {TO_STDERR} or {SYSLOG}. Default: a file of its own in your copublish folder.",
            words=(TO_STDERR, SYSLOG),
            example=SYSLOG,
        ),
    ] = None
    columns: Annotated[
        Path | None,
        Option(
            help="File with your own names, units and spellings of the agreed columns: a mapping. It is never sent.",
            example="my-columns.toml",
        ),
    ] = None
    overwrite: Annotated[bool, Option(help="Replace a release that is in the folder.", flag="--force")] = False
    again: Annotated[
        bool, Option(help="Run again with a party with which the last run ended early.", flag="--again")
    ] = False
    accept: Annotated[
        bool, Option(help="The data are right, although rules change or leave out much of them.", flag="--accept")
    ] = False
    events: Annotated[
        Places | None,
        Option(
            help="NAME=PLACE for an event table of the agreement: a file, or a table of the database that has the "
            "data. May be repeated.",
            example={"visits": "/srv/data/visits.parquet"},
        ),
    ] = None
    keys: Keys = field(default_factory=Keys)
    network: Network = field(default_factory=Network)
    compute: Compute = field(default_factory=Compute)

    @classmethod
    def of(
        cls, agreement: Agreement | str | Path, given: Mapping[str, Any] | RunOptions, data: "Source | None" = None
    ) -> "RunRequest":
        """The request of options by name.

        Raises:
            TypeError: If there is no such option.
            OptionError: If a value is none that the option can have.
        """
        file = agreement if isinstance(agreement, Agreement) else Path(agreement)
        return build(cls, given, agreement=file, data=data)

    def to_json(self) -> dict[str, Any]:
        """The request as plain JSON values, for a process of its own.

        Raises:
            SourceError: If data are no file or table, or the address of the database holds a password.
        """
        if isinstance(self.agreement, Agreement):
            raise OptionError("agreement", "a run in a process of its own needs the agreement's file")
        options = to_json(self) | ({"events": places} if (places := _places_of(self.data)) else {})
        people = None if self.data is None else plain(self.data)
        return {"agreement": str(self.agreement), **_data_to_json(people), "options": options}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RunRequest":
        """The request that `to_json` wrote."""
        data = content["data"]
        return cls.of(
            content["agreement"], content["options"], None if data is None else source_from(data, content["table"])
        )

    def resolve(self) -> "ResolvedRun":
        """The request with agreement, party.toml and defaults put together. Opens no key, no ledger and no data.

        What is given counts first, then what party.toml says beside the party's keys, then the default.

        Raises:
            AgreementError: If the agreement cannot be run.
            OptionError: If it is not clear which party this is.
            PartyFileError: If party.toml cannot be used.
        """
        file = None if isinstance(self.agreement, Agreement) else self.agreement.absolute()
        agreement = self.agreement if isinstance(self.agreement, Agreement) else load_agreement(self.agreement)
        party = party_of(agreement, self.party, self.keys.identity)
        from_file = read_party_file(RunRequest, self.keys.identity or identity_folder(party))
        not_for_it = {name for name, value in _defaults(agreement, party, file).items() if value is None}
        values = {
            **_defaults(agreement, party, file),
            **{name: value for name, value in from_file.items() if name not in not_for_it},
            **given_in(self),
        }
        options = options_of(RunRequest)
        absolute = {name: options[name].absolute(value, Path.cwd()) for name, value in values.items()}
        data = self.data
        if data is not None:
            data = with_events(agreement, party, _absolute_source(data), absolute.get("events"))
        request = RunRequest.of(file or agreement, absolute, data)
        return ResolvedRun(agreement=agreement, party=party, request=request)


def _defaults(agreement: Agreement, party: str, file: Path | None) -> dict[str, Any]:
    """Values of options that nobody gave; none for a ledger or signer that this agreement does not ask of the party."""
    terms, options = agreement.parties[party], options_of(RunRequest)
    return {
        **{name: declared.option.default for name, declared in options.items() if declared.option.default is not None},
        "party": party,
        "out": Path(DEFAULT_OUT) if file is None else file.parent / DEFAULT_OUT,
        "ledger": home_folder() / "ledger.db" if terms.data else None,  # else the owners of the data pay
        "identity": identity_folder(party),
        "signer": None if terms.signer is None else identity_folder(f"{party}-signer"),
        "approvals": None if file is None else default_approvals_folder(file),
    }


@dataclass(frozen=True)
class RunSettings:
    """Settings of one party's run; those of the other parties may differ.

    Attributes:
        out: Folder for the release.
        overwrite: Whether a release that is there may be replaced.
        again: Whether to run with a party with which the last run ended early.
        accept: Whether data are taken that are hardly those that were agreed.
        listen: Address and port to listen at, if not those of the agreement.
        wait_seconds: How long the other parties may take to come.
        timeout_seconds: How long they may take to answer, and a link may be dead.
        end_after_seconds: How long the run may take once they are there.
        proxy: The way out of the organization, if there is one.
        approvals: Folder with the approvals of this party's people, where the agreement asks for some.
        audit: File with an audit for the certificate, if it is there.
        workers: Its engine processes; with those of a party that has fewer, the others are idle.
        ledger: The file of the ledger that pays, beside which a map of own rows to records is kept.
    """

    out: Path
    _: KW_ONLY
    overwrite: bool = False
    again: bool = False
    accept: bool = False
    listen: Address | None = None
    wait_seconds: int = 3600
    timeout_seconds: int = 600
    end_after_seconds: int = DEFAULT_END_AFTER_SECONDS
    proxy: Proxy | None = None
    approvals: Path | None = None
    audit: Path | None = None
    workers: Workers = ONE_WORKER
    ledger: Path | None = None

    @property
    def way_out(self) -> WayOut:
        """How connections leave this machine."""
        return WayOut(proxy=self.proxy, timeout_seconds=self.timeout_seconds)


@dataclass(frozen=True, kw_only=True)
class ResolvedRun:
    """A run with nothing left open, before any key, ledger or data is opened.

    Attributes:
        agreement: The agreement.
        party: Which party this is.
        request: The request with nothing left open: paths are absolute, and defaults are filled in.
    """

    agreement: Agreement
    party: str
    request: RunRequest

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return given_in(self.request)

    @property
    def file(self) -> Path | None:
        """The agreement's file; none if the agreement came as an object."""
        return None if isinstance(self.request.agreement, Agreement) else self.request.agreement

    @property
    def out(self) -> Path:
        """Folder for the release."""
        return Path(self._values["out"])

    @property
    def identity(self) -> Path | None:
        """Folder of the key for the network; none for plain connections on loopback."""
        return None if self.request.keys.insecure else self.request.keys.identity

    @cached_property
    def source(self) -> "Source | None":
        """The data, with the mapping of their columns if there is one.

        Raises:
            MappingError: If the mapping cannot be read.
        """
        data = self.request.data
        return None if data is None else mapped(data, self.request.columns)

    @property
    def signer(self) -> Path | None:
        """Folder of the key for signatures, if it is another one; none for plain connections on loopback."""
        return None if self.request.keys.insecure else self.request.keys.signer

    @property
    def signing_folder(self) -> Path:
        """Folder of the key that signs."""
        return self.request.keys.signer or Path(self._values["identity"])

    @property
    def ledger(self) -> Path | None:
        """The ledger that pays; none if this party holds no data and named none."""
        return self.request.ledger

    @property
    def workers(self) -> Workers:
        """Its engine processes."""
        return Workers(self._values["workers"], self._values["workers_on"])

    @property
    def wait_seconds(self) -> int:
        """Seconds that the other parties may take to come."""
        return int(self._values["wait_seconds"])

    def proxy(self) -> Proxy | None:
        """The way out of the organization, if there is one.

        Raises:
            MeetingError: If it cannot be used.
        """
        return proxy_from(self.request.network.proxy, self.request.network.proxy_credentials)

    def settings(self) -> RunSettings:
        """Settings of the run.

        Raises:
            MeetingError: If the proxy cannot be used.
        """
        return RunSettings(
            self.out,
            overwrite=self.request.overwrite,
            again=self.request.again,
            accept=self.request.accept,
            listen=self.request.network.listen,
            wait_seconds=self.wait_seconds,
            timeout_seconds=self._values["timeout_seconds"],
            end_after_seconds=self._values["end_after_seconds"],
            proxy=self.proxy(),
            approvals=self.request.keys.approvals,
            audit=None if self.file is None else default_audit_file(self.file),
            workers=self.workers,
            ledger=self.ledger,
        )


def party_of(agreement: Agreement, named: str | None = None, identity: Path | None = None) -> str:
    """The party that was named, else the one of the agreement whose identity this user has.

    Args:
        agreement: The agreement.
        named: The party's name, if it was given.
        identity: The folder of its keys, if it was given.

    Raises:
        OptionError: If the agreement has no such party, or none or several fit.
    """
    listed = ", ".join(agreement.parties)
    if named is not None:
        if named not in agreement.parties:
            raise OptionError("party", f"there is no party '{named}' in the agreement. Its parties: {listed}")
        return named
    here = _names_here() if identity is None else _name_in(identity)
    fitting = [name for name in here if name in agreement.parties]
    if len(fitting) != 1:
        yours = f"Your identities: {', '.join(here)}" if here else "You have no identity here"
        raise OptionError(
            "party",
            f"say which party of the agreement you are, since {len(fitting) or 'none'} of its parties "
            f"{'have' if len(fitting) > 1 else 'has'} an identity here. Its parties: {listed}. {yours}",
        )
    return fitting[0]


def _names_here() -> list[str]:
    folders = {file.parent for name in (CERTIFICATE_FILE, PARTY_FILE) for file in identities_folder().glob(f"*/{name}")}
    return sorted(folder.name for folder in folders)


def _name_in(identity: Path) -> list[str]:
    try:
        return [common_name(certificates_in(identity)[0])]
    except MeetingError:
        return []


def with_events(agreement: Agreement, party: str, data: "Source", places: Places | None) -> "Source":
    """A party's data with those event tables that the agreement derives columns from.

    Args:
        agreement: The agreement.
        party: Whose data.
        data: The rows of people; tables that are there already stay.
        places: Where tables are: a file, or a table of the database that has the rows of people.
    """
    wanted = {derived.source for derived in agreement.derived_at(party).values()}
    people, found = plain(data), dict(events_of(data))
    for name, place in (places or {}).items():
        if name in wanted and name not in found:
            database = people.database if isinstance(people, DatabaseTable) and not names_file(place) else None
            found[name] = source_from(place) if database is None else DatabaseTable(database, place)
    if not found:
        return data
    return replace(data, events=found) if isinstance(data, PartyData) else PartyData(people, found)


def _places_of(data: "Source | None") -> Places:
    """Where event tables are, as text.

    Raises:
        SourceError: If one is neither a file nor a table of the database that has the rows of people.
    """
    if data is None:
        return {}
    people, places = plain(data), Places()
    for name, table in events_of(data).items():
        if isinstance(table, DatabaseTable) and isinstance(people, DatabaseTable) and table.database == people.database:
            places[name] = table.table
        elif isinstance(table, str | Path):
            places[name] = str(table)
        else:
            raise SourceError(
                f"A run in a process of its own reads the event table '{name}' itself: name a file, or a table of the "
                "database that has the data."
            )
    return places


def _absolute_source(data: "Source") -> "Source":
    if isinstance(data, PartyData):
        events = {name: _absolute_plain(table) for name, table in data.events.items()}
        return replace(data, data=_absolute_plain(data.data), events=events)
    return _absolute_plain(data)


def _absolute_plain(data: PlainSource) -> PlainSource:
    if isinstance(data, DatabaseTable):
        is_file = scheme_of(data.database) is None
        return replace(data, database=Path(data.database).absolute()) if is_file else data
    return Path(data).absolute() if isinstance(data, str | Path) else data


def _data_to_json(data: "Source | None") -> Mapping[str, str | None]:
    """The place of data as JSON; a password is not written down."""
    if data is None or isinstance(data, str | Path):
        return {"data": None if data is None else str(data), "table": None}
    if not isinstance(data, DatabaseTable):
        raise SourceError("A run in a process of its own reads its data itself: name a file or a table of a database.")
    if scheme_of(data.database) is not None and data.address != str(data.database):
        raise SourceError(
            "The address of the database holds a password or settings, which a run would write down. Leave them out "
            "here: put the password into ~/.pgpass, a token of Spark Connect into SPARK_CONNECT_AUTHENTICATE_TOKEN."
        )
    return {"data": str(data.database), "table": data.table}
