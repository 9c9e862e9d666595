"""Every message between parties, in the order of a run. There is no other: `docs/protocol.md` is made from this file.

A message is added here first. Whoever sends or takes one names its entry, and a topic that is not here is refused where
it comes in. Whenever parties with the same agreement could send each other something else than before, `PROTOCOL` is
raised, so that two versions of this software find out before anything is spent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.protocol.message import MAX_LETTER_BYTES, MIB, Exchange, Letter, Message, Step, Stream, Word
from copublish.agreement.protocol.shapes import (
    BYTE_ARRAY,
    MAX_RECORDS,
    NOTHING,
    YES,
    Shape,
    any_of,
    blob,
    bytes_like,
    choice,
    fields,
    hexadecimal,
    list_of,
    mapping,
    nothing_or,
    number,
    one_of,
    spelled_as,
    streamed,
    text,
    whole,
)

PROTOCOL = 1
"""What parties speak. It is compared when they call each other, and again among the facts that they compare."""

RELAY_PROTOCOL = 1
"""What a party and a relay speak. A relay knows no agreement and may be older than the parties, so it has its own."""

SHOWN_HEADS = 16
"""How many of its last heads a party shows every other one: it may have signed runs that ended before the other one
had its signature. Always so many and in an order that means nothing, so that nobody else can count their runs."""

NOBODY_WAITS = "nobody waits there"
"""What a relay says to a call at a place where no connection waits."""

NO_LIST = ""
"""What a party says in the place of a commitment that lists nobody: it holds no data."""

MAX_MEASURED_BYTES = 2 * MIB
"""Of one transfer that measures a link."""

LAST_TIME = 253402300799
"""The last second of the year 9999."""

MAX_LIST_BYTES = 2048 * MIB
"""67 million points, or twice as many pseudonyms. Who sends more would fill the memory of the others."""

LIST_PIECE_BYTES = 64 * MIB

MAX_ARRAY_BYTES = 4096 * MIB
"""Of what all other parties say at once, too. Who announces more would fill the memory of the others."""

SMALL, SOME, MUCH = 256, 4096, 2 * MIB
"""Bytes of JSON. Lists and objects take many times the memory of their text, so bounds are close to what is needed."""

MAX_GROUPS = 16
"""Ways to agree on a key: one, unless parties have different libraries."""

KIB_PER_CERTIFICATE, MAX_CERTIFICATES, MAX_APPROVALS = 16, 8, 32


def _or_of_another_version(shape: Shape, own: int) -> Shape:
    """A first message; one of another version may have anything else in it, and is answered with a refusal."""

    def is_of_another_version(value: object) -> bool:
        named = value.get("protocol") if isinstance(value, dict) else None
        return type(named) is int and named != own

    return any_of(shape, Shape("of another version anything with another `protocol`", is_of_another_version))


_HASH = hexadecimal(64)
_FACTS = mapping(text(10_000), 20_000)  # every column of the agreement is one
_POINTS = blob("points of a curve, 32 bytes each", unit=32)
_PSEUDONYMS = blob("digests, 16 bytes each", unit=16)
_INTEGERS = blob("integers, 8 bytes each", unit=8)
_SIGNATURE = spelled_as("([0-9a-f]{2}){1,1024}", "2 to 2,048 hexadecimal digits")
_SIGNED_HEAD = nothing_or(fields({"head": nothing_or(_HASH), "signature": _SIGNATURE}))
_APPROVAL = mapping(any_of(text(2048), whole(0, 1000), NOTHING), 20)

# --- reach each other ---

RELAY_GREETING = Word(
    topic="copublish relay",
    step=Step.REACH,
    sender="a party that dials out",
    receiver="the relay",
    shape=_or_of_another_version(
        fields({"protocol": whole(0, 10**6), "role": choice("wait", "call"), "place": _HASH}), RELAY_PROTOCOL
    ),
    max_bytes=SMALL,
    reveals="a place: a keyed hash of who calls whom, which means nothing to who lacks the agreement",
)
JOINED = Word(
    topic="joined",
    step=Step.REACH,
    sender="the relay",
    receiver="both parties at a place",
    shape=YES,
    max_bytes=SMALL,
    reveals="that the other party is there; from now on the relay passes on what it cannot read",
)
GREETING = Word(
    topic="copublish",
    step=Step.REACH,
    sender="whoever calls",
    receiver="whoever is called",
    shape=_or_of_another_version(
        fields(
            {
                "protocol": whole(0, 10**6),
                "purpose": spelled_as(
                    "(meeting|status|measure|parked|messages|engine( [1-9][0-9]{0,3})?)", "what the connection is for"
                ),
                "party": text(1000),
                "run": nothing_or(_HASH),
            }
        ),
        PROTOCOL,
    ),
    max_bytes=SOME,
    reveals="which party calls and what for; its certificate was checked before",
)
ACCEPTED = Word(
    topic="ok",
    step=Step.REACH,
    sender="whoever is called",
    receiver="whoever calls",
    shape=YES,
    max_bytes=SMALL,
    reveals="that the connection is let in",
)
REFUSED = Word(
    topic="refused",
    step=Step.REACH,
    sender="whoever is called, or the relay",
    receiver="whoever calls",
    shape=text(2000),
    max_bytes=16 * 1024,
    reveals="why the connection is not let in",
)
ALIVE = Word(
    topic="alive",
    step=Step.REACH,
    sender="either side of an idle connection",
    receiver="the other side",
    shape=YES,
    max_bytes=SMALL,
    reveals="that the party is still there: a heartbeat every 20 seconds",
)

# --- meet ---

HELLO = Word(
    topic="hello",
    step=Step.MEET,
    sender="every party",
    receiver="every other party",
    shape=fields({"nonce": _HASH, "facts": _FACTS, "workers": whole(1, 10**6)}),
    max_bytes=MUCH,
    reveals="hashes of the agreement's parts, versions, how many engine processes, and random bytes for the run's id",
)
AGREED = Word(
    topic="agreed",
    step=Step.MEET,
    sender="every party",
    receiver="every other party",
    shape=_HASH,
    max_bytes=SMALL,
    reveals="the run's id, as this party computed it from what all drew",
)
MESSAGES_SIGN = Stream(
    topic="heartbeat of messages",
    step=Step.MEET,
    sender="every party",
    receiver="every other party",
    shape=streamed("a header of 6 bytes that announces an impossible topic"),
    max_bytes=6,
    reveals="that the party is still there",
)
ENGINE_LINK = Stream(
    topic="engine",
    step=Step.MEET,
    sender="every compute node",
    receiver="every other compute node",
    shape=streamed(
        "what SPU sends: its set-up, shares, hashes of programs; between two compute nodes also the values below"
    ),
    max_bytes=2**63,
    reveals="nothing but sizes and times, as long as the assumptions in the certificate hold",
)

# --- show keys, approvals and ledgers ---

SIGNERS: Exchange[dict[str, Any]] = Exchange(
    topic="who signs and who approved",
    step=Step.SHOW,
    shape=fields(
        {
            "certificates": list_of(text(1024 * KIB_PER_CERTIFICATE), MAX_CERTIFICATES, at_least=1),
            "approvals": list_of(_APPROVAL, MAX_APPROVALS),
        }
    ),
    max_bytes=MUCH,
    reveals="certificates of the key that signs; names, roles and notes of who approved, which are published later",
)
AS_HEARD: Exchange[str] = Exchange(
    topic="{message}, as heard",
    step=Step.SHOW,
    shape=_HASH,
    max_bytes=SMALL,
    reveals="a hash of what this party heard, so that nobody can say different things to different parties",
)
LEDGERS: Exchange[dict[str, Any]] = Exchange(
    topic="ledgers",
    step=Step.SHOW,
    shape=mapping(list_of(_HASH, SHOWN_HEADS, at_least=SHOWN_HEADS), 1000),
    max_bytes=MUCH,
    reveals="that the ledger knows what was signed with it; heads are hashed with the run's id among random ones",
)
CAN_PAY: Exchange[str] = Exchange(
    topic="budget",
    step=Step.SHOW,
    shape=choice("can pay"),
    max_bytes=SMALL,
    reveals="that the ledger lets the run begin",
)
DATE: Exchange[str] = Exchange(
    topic="date",
    step=Step.SHOW,
    shape=spelled_as("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date like 2026-01-31"),
    max_bytes=SMALL,
    reveals="the day by its clock; that of the first party is published, if it is about the same everywhere",
)
AUDIT: Exchange[str | None] = Exchange(
    topic="audit",
    step=Step.SHOW,
    shape=nothing_or(_HASH),
    max_bytes=SMALL,
    reveals="the hash of an audit of the agreement, if there is one",
)

KEY_EXCHANGE: Exchange[list[str]] = Exchange(
    topic="key exchange",
    step=Step.SHOW,
    shape=list_of(spelled_as("[A-Za-z0-9_-]{1,64}", "the name of a group of TLS"), MAX_GROUPS),
    max_bytes=SMALL,
    reveals="how a party's connections agreed on keys, which is published",
)

# --- compare people ---

HEADS_BEFORE: Exchange[dict[str, Any] | None] = Exchange(
    topic="heads of ledgers before people are compared",
    step=Step.COMPARE,
    shape=_SIGNED_HEAD,
    max_bytes=SOME,
    reveals="that the number of common people is charged, where it is hidden; the ledger's head, salted and signed",
)
LISTS: Exchange[str] = Exchange(
    topic="lists of people",
    step=Step.COMPARE,
    shape=any_of(_HASH, Shape("no text where nobody is listed", lambda value: value == NO_LIST)),
    max_bytes=SMALL,
    reveals="whether this party lists the same people as in the last run of this agreement",
)
IDENTIFIERS_KEY: Exchange[str] = Exchange(
    topic="identifiers",
    step=Step.COMPARE,
    shape=_HASH,
    max_bytes=SMALL,
    reveals="part of a key for pseudonyms, which both compute nodes know; private set intersection follows",
)
JOINT_KEY = Letter(
    topic="part of the pseudonyms' key",
    step=Step.COMPARE,
    sender="every owner",
    receiver="every other owner",
    shape=bytes_like(b"[0-9a-f]{64}", "64 hexadecimal digits"),
    max_bytes=64,
    reveals="part of a key for pseudonyms, which the owners know and nobody else",
)
ASKED = Letter(
    topic="points to multiply",
    step=Step.COMPARE,
    sender="every owner but the first",
    receiver="the owner before",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="how many records it has; identifiers are hidden by a secret factor",
)
ANSWERED = Letter(
    topic="points multiplied",
    step=Step.COMPARE,
    sender="every owner but the last",
    receiver="the owner after",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: the receiver's own points under one more factor",
)
PADDED = Letter(
    topic="padded list of points",
    step=Step.COMPARE,
    sender="every owner but the last",
    receiver="the owner after",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="which of the receiver's records are common to it and all owners before it",
)
PASSED = Letter(
    topic="list passed on",
    step=Step.COMPARE,
    sender="every owner but the last; both of two owners that hide membership, after each of their lists",
    receiver="all parties but the owner after; all parties without data",
    shape=one_of(b"", of="no bytes"),
    max_bytes=0,
    reveals="that its part is done",
)
COMMON = Letter(
    topic="common records",
    step=Step.COMPARE,
    sender="the last owner",
    receiver="all other owners",
    shape=_PSEUDONYMS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="which of the receiver's records are common to all",
)
PSEUDONYMS = Letter(
    topic="pseudonyms",
    step=Step.COMPARE,
    sender="every owner",
    receiver="the helper",
    shape=_PSEUDONYMS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="how many pseudonyms, and which of them several owners have; the helper lacks their key",
)
COMMON_PLACES = Letter(
    topic="places of common records",
    step=Step.COMPARE,
    sender="the helper",
    receiver="every owner",
    shape=_INTEGERS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="which of the receiver's records are common to all",
)
HIDDEN_LIST = Letter(
    topic="hidden list of points",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: points under a secret factor, in a list of public length and in the order of their bytes",
)
HIDDEN_BOTH = Letter(
    topic="hidden list under both factors",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="how many entries both lists have, with the sender's noise; in the order of bytes, so not which",
)
HIDDEN_NAMES = Letter(
    topic="names of one's own entries",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: the receiver's own entries in its own order, under one more factor of the sender",
)
HIDDEN_ASKED = Letter(
    topic="names asked for",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: as many points as the receiver has entries that are not common, under a factor that hides which",
)
HIDDEN_TOLD = Letter(
    topic="names told",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: names of the rows that the receiver lists nobody for",
)
UNION_DIGEST = Letter(
    topic="digest of all rows' names",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="the other owner",
    shape=bytes_like(b".{32}", "32 bytes"),
    max_bytes=32,
    reveals="that both have the same rows",
)
UNION_ROWS = Letter(
    topic="number of rows",
    step=Step.COMPARE,
    sender="each of two owners that hide membership",
    receiver="all parties without data",
    shape=bytes_like(b".{8}", "a whole number of 8 bytes"),
    max_bytes=8,
    reveals="the number of rows: that of common people with the noise of both owners",
)
ROWS_OF_PEOPLE = Letter(
    topic="rows of people",
    step=Step.COMPARE,
    sender="the helper, where membership is hidden",
    receiver="every owner",
    shape=_INTEGERS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: random rows of the receiver's own entries, in a table of public length",
)
ROUND = Letter(
    topic="list of points passed on",
    step=Step.COMPARE,
    sender="every owner",
    receiver="the owner after, in a circle",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="nothing: points under secret factors, in a list of public length",
)
COMPLETE = Letter(
    topic="list of points complete",
    step=Step.COMPARE,
    sender="every owner but the first",
    receiver="the first owner",
    shape=_POINTS,
    max_bytes=MAX_LIST_BYTES,
    piece_bytes=LIST_PIECE_BYTES,
    reveals="whether any two owners share a person, and if they do how many",
)
ANY_SHARED = Letter(
    topic="any shared",
    step=Step.COMPARE,
    sender="the first owner, or the helper",
    receiver="all other parties",
    shape=one_of(b"\0", b"\1", of="one byte, 0 or 1"),
    max_bytes=1,
    reveals="whether any two owners share a person",
)
AT_TWO_PARTIES: Exchange[str] = Exchange(
    topic="people at two parties",
    step=Step.COMPARE,
    shape=choice("heard"),
    max_bytes=SMALL,
    reveals="nothing: all know that the run ends because two owners share a person",
)

# --- agree on the table ---

ROWS: Exchange[int] = Exchange(
    topic="rows",
    step=Step.TABLE,
    shape=whole(0, MAX_RECORDS),
    max_bytes=SMALL,
    reveals="the number of rows, where the agreement says that it is public",
)
HOLDERS: Exchange[NDArray[np.uint8]] = Exchange(
    topic="holders of attribute {number}",
    step=Step.TABLE,
    shape=BYTE_ARRAY,
    max_bytes=MAX_ARRAY_BYTES,
    reveals="one bit for each record: whether this party has the cell (arbitrary partition)",
)
FIT: Exchange[str] = Exchange(
    topic="records",
    step=Step.TABLE,
    shape=choice("fit"),
    max_bytes=SMALL,
    reveals="that the records fit what the mechanism asks of them",
)

# --- compute and open ---

RESERVED: Exchange[str] = Exchange(
    topic="reserved",
    step=Step.COMPUTE,
    shape=choice("reserved"),
    max_bytes=SMALL,
    reveals="that the whole price is reserved in the ledger",
)
HEADS: Exchange[dict[str, Any] | None] = Exchange(
    topic="heads of ledgers",
    step=Step.COMPUTE,
    shape=_SIGNED_HEAD,
    max_bytes=SOME,
    reveals="that the first disclosure is charged; the head of the ledger, salted and signed, which everybody may see",
)

INPUT_PART = Letter(
    topic="part of an input",
    step=Step.COMPUTE,
    sender="every party that does not compute",
    receiver="every compute node",
    shape=_INTEGERS,
    max_bytes=MAX_LETTER_BYTES,
    reveals="nothing: all parts together make up the input, and all but one of them are random",
)
READY = Letter(
    topic="ready to open",
    step=Step.COMPUTE,
    sender="every party that does not compute",
    receiver="every compute node",
    shape=bytes_like(rb"\[[0-9, ]{0,200}\]", "a shape as JSON"),
    max_bytes=SMALL,
    reveals="that the ledger was charged for what is opened next",
)
OPENED = Letter(
    topic="opened",
    step=Step.COMPUTE,
    sender="every compute node",
    receiver="every party that does not compute",
    shape=_INTEGERS,
    max_bytes=MAX_LETTER_BYTES,
    reveals="values with their noise, which all parties learn and the certificate lists",
)
MASK_KEY = Letter(
    topic="part of a key",
    step=Step.COMPUTE,
    sender="every owner",
    receiver="every other owner",
    shape=bytes_like(b".{32}", "32 bytes"),
    max_bytes=32,
    reveals="half of a key for masks, which the two owners know and nobody else",
)
MASKED_SUM = Letter(
    topic="masked sum {number} of shape {shape}",
    step=Step.COMPUTE,
    sender="every owner; then the aggregator",
    receiver="the aggregator; then everyone",
    shape=_INTEGERS,
    max_bytes=MAX_LETTER_BYTES,
    reveals="numbers under masks, to the aggregator; then the sum with its noise, to everyone",
)
SUM_HASH: Exchange[str] = Exchange(
    topic="hash of masked sum {number} of shape {shape}",
    step=Step.COMPUTE,
    shape=_HASH,
    max_bytes=SMALL,
    reveals="nothing: a hash of what all have learned, so that the aggregator says the same to all",
)
PERTURBED: Exchange[NDArray[np.uint8]] = Exchange(
    topic="perturbed columns",
    step=Step.COMPUTE,
    shape=BYTE_ARRAY,
    max_bytes=MAX_ARRAY_BYTES,
    reveals="columns that their owner perturbed already, to all parties, and how many records there are",
)
SAME_HASH: Exchange[str] = Exchange(
    topic="hash of the {message}",
    step=Step.COMPUTE,
    shape=_HASH,
    max_bytes=SMALL,
    reveals="nothing: a hash of public numbers that all have computed, so that all go on with the same",
)

# --- publish ---

RELEASE: Exchange[str] = Exchange(
    topic="release",
    step=Step.PUBLISH,
    shape=_HASH,
    max_bytes=SMALL,
    reveals="the digest of the release, which has to be the same at all",
)
SIGNATURES: Exchange[str] = Exchange(
    topic="signatures",
    step=Step.PUBLISH,
    shape=_SIGNATURE,
    max_bytes=SOME,
    reveals="this party's signature under the release, which is published",
)
ON_DISK: Exchange[str] = Exchange(
    topic="release on disk",
    step=Step.PUBLISH,
    shape=choice("on disk"),
    max_bytes=SMALL,
    reveals="that the release was written here; each gives it its name when all have",
)

# --- leave ---

STOP = Word(
    topic="stop",
    step=Step.LEAVE,
    sender="a party that stops early",
    receiver="every other party",
    shape=fields({"reason": text(1000)}, {"lost": text(1000), "why": text(1000)}),
    max_bytes=16 * 1024,
    reveals="the kind of reason, never data; or which party it lost, and the reason that this one gave",
)
DONE = Word(
    topic="done",
    step=Step.LEAVE,
    sender="every party",
    receiver="every other party",
    shape=YES,
    max_bytes=SMALL,
    reveals="that it has published, so that its leaving is no loss",
)

# --- beside a run ---

STATUS = Word(
    topic="status",
    step=Step.CHECK,
    sender="whoever is called, after `ok`",
    receiver="whoever calls: `copublish doctor`",
    shape=fields({"time": number(0, LAST_TIME), "facts": _FACTS}),
    max_bytes=MUCH,
    reveals="its clock, hashes of the agreement's parts, and versions",
)
MEASURE = Word(
    topic="measure",
    step=Step.CHECK,
    sender="whoever calls: `copublish doctor`",
    receiver="whoever is called",
    shape=fields(
        {"what": choice("echo", "send", "fetch", "dial back"), "bytes": whole(0, MAX_MEASURED_BYTES)},
    ),
    max_bytes=SMALL,
    reveals="what is to be measured; `ok` answers",
)
PROBLEM = Word(
    topic="problem",
    step=Step.CHECK,
    sender="whoever is called",
    receiver="whoever calls: `copublish doctor`",
    shape=text(2000),
    max_bytes=16 * 1024,
    reveals="why it could not dial back; of its own side no more than that something is in the way",
)
ZEROS = Stream(
    topic="zeros",
    step=Step.CHECK,
    sender="either side",
    receiver="the other side",
    shape=streamed("zeros"),
    max_bytes=MAX_MEASURED_BYTES,
    reveals="how fast the link is",
)

TABLE: tuple[Message, ...] = tuple(entry for entry in list(globals().values()) if isinstance(entry, Message))

_BY_TOPIC = {entry.topic: entry for entry in TABLE if isinstance(entry, Letter | Exchange) and "{" not in entry.topic}
_WITH_PARAMETERS = tuple(entry for entry in TABLE if isinstance(entry, Letter | Exchange) and "{" in entry.topic)


def entry_of(topic: str) -> Message | None:
    """The entry that a topic between two parties of a run belongs to; none if it is not in the table."""
    entry = _BY_TOPIC.get(topic)
    return entry or next((entry for entry in _WITH_PARAMETERS if entry.pattern.fullmatch(topic)), None)
