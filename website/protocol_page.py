"""The page of the protocol, made from the table of all messages.

`python -m website.protocol_page` writes it anew into docs/; a test keeps it up to date.
"""

from __future__ import annotations

from collections.abc import Iterator

from copublish.agreement.protocol.message import Exchange, Letter, Message, Step, spelled_size
from copublish.agreement.protocol.table import PROTOCOL, RELAY_PROTOCOL, TABLE
from website.places import DOCS

PAGE = DOCS / "protocol.md"

HEAD = f"""# Messages between the parties

Every message that one party sends to another one, in the order of a run: its topic, its type, its bound, and
what whoever gets it learns. There is no other. The page is made from the table that senders and receivers use,
`copublish/agreement/protocol/table.py`.

![Sequence of a run: the steps from top to bottom, with the messages of each](pictures/protocol.svg)

**Order and failure.** All parties run the same steps, and each step ends when every party has what it waits
for. Nothing is reserved in a ledger before all have compared agreements and versions, shown their ledgers and
said that they can pay; from then on the whole price stays spent, whatever happens. The id of a run is a hash of
random bytes from every party and of what they compared, so no message of another run fits. Connections,
ledgers' heads and signatures all name this id. A message that is not in the table, or does not have its type
and bound, is refused where it comes in, and the error names its sender and its topic. Whoever stops says the
kind of reason to all others, and they stop, too. A party that is silent is named after the time limit.

**The relay.** A party that nobody can dial waits at a relay, and the relay joins two connections. It reads
`copublish relay` and answers `joined`, `alive` or `refused`. Everything else passes it inside the parties' own
TLS. It sees addresses, times and amounts, and at which place two connections meet, which is a hash that means
nothing without the agreement. It can delay or end a run, and no more. Between two parties that dial each other
there is no relay.

Parties speak protocol {PROTOCOL}, parties and relays protocol {RELAY_PROTOCOL}. A **word** is a JSON object on
a connection of its own, with the topic as its only key. A **value** is public, and every party tells it to
every other one: JSON, or an array of bytes. **Bytes** go from one party of a run to another one. A **stream**
is carried and not read. Between two parties that both compute, values go over the engine's link, each
as a JSON list of its topic, whether it is an array, and the value.
"""


def page_of_protocol() -> str:
    """The page."""
    parts = [HEAD]
    for step in Step:
        entries = [entry for entry in TABLE if entry.step is step]
        parts.append(f"## {step.value}\n")
        parts.append("\n".join(_table(entries)) + "\n")
    return "\n".join(parts)


def _table(entries: list[Message]) -> Iterator[str]:
    yield "| topic | kind | from → to | content | at most | reveals |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for entry in entries:
        cells = [
            f"`{entry.topic}`",
            entry.kind,
            f"{entry.sender} → {entry.receiver}",
            entry.shape.words,
            _bound(entry),
            entry.reveals,
        ]
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _bound(entry: Message) -> str:
    if entry.max_bytes >= 2**62:
        return "any"
    in_pieces = isinstance(entry, Letter | Exchange) and entry.longest_piece < entry.max_bytes
    return f"{spelled_size(entry)}{', in pieces' if in_pieces else ''}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page_of_protocol(), encoding="utf-8")


if __name__ == "__main__":
    main()
