"""Three, four and ten parties that meet on loopback over mutual TLS: late, started again, different, lost, lying."""

from __future__ import annotations

import threading
import time

import pytest

import copublish as cp
from copublish.agreement.protocol.message import Word, read_word
from copublish.agreement.protocol.table import AGREED, ALIVE, HELLO, STOP
from copublish.errors import MeetingError
from copublish.party.keys.identity import new_identity
from copublish.party.network.channel import Channel, RefusedError
from copublish.party.network.dialing import dial
from copublish.party.network.meeting import Meeting
from copublish.party.network.port import Port
from copublish.party.network.rendezvous import Rendezvous, in_words
from support.circle import FACTS, SECONDS, Circle, identities_in
from support.waiting import wait_until


@pytest.fixture(scope="module")
def identities(tmp_path_factory):
    return identities_in(tmp_path_factory.mktemp("identities"), 10)


@pytest.fixture
def three(identities):
    with Circle(identities, 3) as circle:
        yield circle


def failure(future) -> str:
    with pytest.raises(MeetingError) as caught:
        future.result(SECONDS)
    return str(caught.value)


@pytest.mark.parametrize("how_many", [3, 4, 10])
def test_all_parties_end_with_one_run_and_part_as_friends(identities, how_many):
    with Circle(identities, how_many) as circle:
        meetings = circle.all_meet(circle.ports())
        assert len({meeting.run for meeting in meetings.values()}) == 1
        for meeting in meetings.values():
            meeting.say_done()
        wait_until(lambda: not any(line[1].fileno() >= 0 for m in meetings.values() for line in m._lines.values()))
        assert all(meeting._lost is None for meeting in meetings.values())


def test_every_run_of_the_same_parties_has_another_number(identities):
    with Circle(identities, 3) as circle:
        runs = set()
        for _ in range(2):
            ports = circle.ports()
            runs |= {meeting.run for meeting in circle.all_meet(ports).values()}
            for port in ports.values():
                port.close()
        assert len(runs) == 2


def test_a_late_party_is_named_while_it_is_waited_for_and_then_met(three):
    early = [three.meet(port) for port in three.ports(["p0", "p1"]).values()]
    wait_until(lambda: all(three.told[name] and "'p2' (nobody" in three.told[name][-1] for name in ("p0", "p1")))
    assert not any(future.done() for future in early)
    late = three.meet(three.port("p2"))
    assert len({future.result(SECONDS).run for future in (*early, late)}) == 1


def test_who_does_not_come_is_named_at_the_end_and_who_is_there_is_not(three):
    futures = [three.meet(port, seconds=1) for port in three.ports(["p0", "p1"]).values()]
    for future, other in zip(futures, ("p1", "p0"), strict=True):
        said = failure(future)
        assert said.startswith("Party 'p2' (nobody listens at")
        assert "copublish doctor" in said
        assert f"'{other}'" not in said


def test_several_missing_parties_are_named_together(identities):
    with Circle(identities, 7) as circle:
        waiting = Rendezvous(circle.port("p0"), FACTS, circle.told["p0"].append, lambda event, **facts: None)
        for _ in range(2):  # what is still missing the second time is told
            assert not waiting._step()
        assert circle.told["p0"][-1].endswith("and 2 more")
        with pytest.raises(MeetingError) as caught:
            waiting.keep(deadline=0)
        assert str(caught.value).startswith("Parties 'p1' (nobody")
        assert "and 'p6' (nobody" in str(caught.value)


def arrival_at(port: Port, peer: str) -> Channel:
    """Wait for a party's connection."""
    wait_until(lambda: not port._arrivals[peer].empty())
    return port.newest_arrival(peer)


def agreed_on(arrival: Channel) -> str:
    """Hear what a party says until it names the run."""
    word = HELLO
    while word is not AGREED:
        word, content = arrival.receive_word(HELLO, AGREED, ALIVE, sender="It", seconds=SECONDS)
    return str(content)


def test_a_party_that_was_started_again_is_met_under_its_new_number(three):
    """The first p2 has told both others its number and is gone before they could agree with it."""
    with three.port("p2") as first:
        waiting = [three.meet(port) for port in three.ports(["p0", "p1"]).values()]
        gone = Rendezvous(first, FACTS, lambda what: None, lambda event, **facts: None)
        gone._dial()
        arrivals = {name: arrival_at(first, name) for name in ("p0", "p1")}
        for arrival in arrivals.values():
            agreed_on(arrival)  # they have heard it
            arrival.close()
        for line in gone.lines.values():
            line.close()
    back = three.meet(three.port("p2"))
    assert len({future.result(SECONDS).run for future in (*waiting, back)}) == 1


def test_a_party_that_differs_is_named_to_all_and_all_end(three):
    ports = three.ports()
    other = {**FACTS, "copublish": "2.0"}
    futures = {name: three.meet(port, other if name == "p2" else FACTS) for name, port in ports.items()}
    for name in ("p0", "p1"):
        said = failure(futures[name])
        assert "'p2' differ in" in said
        if said.startswith("You and"):
            assert "copublish (1.0 here, 2.0 there)" in said
    assert "2.0 here, 1.0 there" in failure(futures["p2"])


def test_who_hears_of_a_difference_between_two_others_ends_too(three):
    """p2 has not said anything to p0 yet; p1, which p2 told something else, tells p0 why it leaves."""
    ports = three.ports()
    waiting = [three.meet(ports[name]) for name in ("p0", "p1")]
    liar = Rendezvous(ports["p2"], {**FACTS, "copublish": "2.0"}, lambda what: None, lambda event, **facts: None)
    liar._dial_one(liar.lines["p1"])
    assert "1.0 here, 2.0 there" in failure(waiting[1])
    assert failure(waiting[0]) == (
        "Party 'p1' stopped: 'p1' and 'p2' differ in the agreement or in versions. Nothing was measured."
    )


def test_a_party_with_another_certificate_is_named_and_told_nothing(three, tmp_path):
    impostor = new_identity("p2", tmp_path / "impostor", days=30)
    parties = {
        **three.mapping["parties"],
        "p2": {**three.mapping["parties"]["p2"], "certificate": impostor.fingerprint},
    }
    false = Port(cp.agreement_from_mapping({**three.mapping, "parties": parties}), "p2", impostor)
    futures = [three.meet(port) for port in three.ports(["p0", "p1"]).values()]
    for future in futures:
        said = failure(future)
        assert "'p2'" in said
        assert "showed another certificate" in said or "do not accept each other" in said
    assert false.newest_arrival("p0") is None
    assert false.newest_arrival("p1") is None
    false.close()


def test_one_party_s_certificate_does_not_pass_for_another_s(three):
    three.port("p0")
    with pytest.raises(RefusedError, match="another party's name"):
        dial(three.agreement, "p1", three.identities["p2"], "p0", "meeting")


def test_two_parties_whom_a_third_tells_different_things_do_not_meet(three):
    """p2 draws one number for p0 and another one for p1, and says whatever agreement each would like to hear."""
    ports, honest = three.ports(), ("p0", "p1")
    at = {name: Rendezvous(ports[name], FACTS, lambda what: None, lambda event, **f: None) for name in honest}
    liars = {name: Rendezvous(ports["p2"], FACTS, lambda what: None, lambda event, **f: None) for name in honest}
    for name, liar in liars.items():
        liar._dial_one(liar.lines[name])

    def echo(name: str) -> str:
        agreed = agreed_on(arrival_at(ports["p2"], name))
        liars[name].lines[name].say(AGREED, agreed)
        return agreed

    echoing = {name: three.do(echo, name) for name in honest}
    # They go on until each has heard the liar name its own run, and the other honest one name another one.
    wait_until(
        lambda: (
            not any(at[name]._step() for name in honest)
            and all(line.they_agreed for name in honest for line in at[name].lines.values())
        )
    )
    heard = {name: echoing[name].result(SECONDS) for name in honest}
    assert heard["p0"] != heard["p1"]
    assert not any(at[name]._step() for name in honest)
    with pytest.raises(MeetingError, match="did not meet all the others"):
        at["p0"].keep(deadline=0)
    for line in at["p1"].lines.values():
        line.close()


@pytest.mark.parametrize("how_many", [3, 10])
def test_when_one_party_dies_all_others_end_at_once_with_its_name(identities, how_many):
    with Circle(identities, how_many) as circle:
        meetings = circle.all_meet(circle.ports())
        dead = meetings.pop("p1")
        ended = {name: threading.Event() for name in meetings}
        for name, meeting in meetings.items():
            meeting.on_loss(ended[name].set)
        for to_peer, from_peer in dead._lines.values():
            to_peer.break_off()
            from_peer.break_off()
        for name, meeting in meetings.items():
            assert ended[name].wait(SECONDS)
            assert meeting.loss() == "Party 'p1' stopped (the connection ended)."


def test_who_stopped_first_is_named_even_if_another_one_is_heard_first(three):
    meetings = three.all_meet(three.ports())
    meetings["p2"].say_stop("its data do not fit the agreement")
    wait_until(meetings["p1"]._first_is_known.is_set)
    assert "p2" in str(meetings["p1"].loss())
    meetings["p1"].say_lost()
    wait_until(meetings["p0"]._first_is_known.is_set)
    assert meetings["p0"].loss() == "Party 'p2' stopped: its data do not fit the agreement."


def test_a_loss_that_only_another_party_knows_of_is_passed_on(three, monkeypatch):
    monkeypatch.setattr("copublish.party.network.meeting.LAST_WORD_SECONDS", 0.2)
    ports = three.ports()
    meetings = three.all_meet(ports)
    ports["p2"].close()
    meetings["p1"]._first_lost = "p2"
    meetings["p1"].say_lost()
    acted = threading.Event()
    meetings["p0"].on_loss(acted.set)
    assert acted.wait(SECONDS)
    assert meetings["p0"].loss() == "Party 'p1' stopped: it lost 'p2'."
    assert last_word_of_loss(meetings["p0"])["lost"] == "p2"


def last_word_of_loss(meeting: Meeting) -> dict[str, str]:
    """What a party tells the others that stops because of a loss."""
    said: list[dict[str, str]] = []
    meeting._last_word = lambda word, content: said.append(content)  # type: ignore[method-assign]
    meeting.say_lost()
    return said[0]


def test_who_names_a_party_as_lost_that_answers_is_the_one_that_stopped_for_all_others(three, monkeypatch):
    monkeypatch.setattr("copublish.party.network.meeting.LAST_WORD_SECONDS", 0.2)
    monkeypatch.setattr("copublish.party.network.meeting.ANSWER_SECONDS", SECONDS)
    meetings = three.all_meet(three.ports())
    meetings["p1"].say_lost("p2")
    wait_until(lambda: "p2" in meetings["p0"]._is_there)
    said = "Party 'p1' stopped: it lost 'p2', which still answers here."
    assert [meetings["p0"].loss(), meetings["p0"].loss()] == [said, said]
    assert last_word_of_loss(meetings["p0"]) == {
        "reason": "it lost 'p1'",
        "lost": "p1",
        "why": "it lost 'p2'",
    }
    wait_until(lambda: meetings["p2"]._lost is not None)
    assert meetings["p2"].loss() == (
        "Party 'p1' stopped: it lost 'p2', which is this party: it stood still, or its link was dead."
    )
    assert last_word_of_loss(meetings["p2"])["lost"] == "p1"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (
            {"reason": "it lost 'p2'", "lost": "p2", "why": "its ledger refuses"},
            "Party 'p2' stopped: its ledger refuses.",
        ),
        ({"reason": "it lost 'p2'", "lost": "p2"}, "Party 'p2' stopped (the connection ended)."),
        ({"reason": "its ledger refuses", "lost": "nobody"}, "Party 'p1' stopped: its ledger refuses."),
    ],
)
def test_who_still_waits_for_others_names_the_one_that_stopped_first(three, said, heard):
    class Heard:
        def receive_word(self, *expected: Word, sender: str, seconds: float) -> tuple[Word, object]:
            return read_word(STOP.spelled(said), expected, sender)

    waiting = Rendezvous(three.port("p0"), FACTS, lambda what: None, lambda event, **facts: None)
    with pytest.raises(MeetingError) as caught:
        waiting._hear(waiting.lines["p1"], Heard())
    assert str(caught.value) == f"{heard} Nothing was measured."


def test_who_still_waits_passes_on_who_stopped_so_that_those_who_have_met_do_not_name_it(three):
    """A party may have met all others, and heard the id of the run from one that has not heard it from all."""
    waiting = Rendezvous(three.port("p2"), FACTS, lambda what: None, lambda event, **facts: None)
    said: list[tuple[Word, object]] = []

    class Line:
        def say(self, word: Word, content: object) -> None:
            said.append((word, content))

        def close(self) -> None:
            pass

    def stops() -> bool:
        waiting._who_left, waiting._why_we_leave = "p1", "its data do not fit the agreement"
        raise MeetingError("Party 'p1' stopped.")

    waiting.lines, waiting._step = {"p0": Line()}, stops
    with pytest.raises(MeetingError):
        waiting.keep(time.monotonic() + SECONDS)
    with Circle(three.identities, 3) as circle:
        meetings = circle.all_meet(circle.ports())
        meetings["p2"]._last_word(*said[0])
        meetings["p1"].say_stop("its data do not fit the agreement")
        wait_until(meetings["p0"]._first_is_known.is_set)
        assert meetings["p0"].loss() == "Party 'p1' stopped: its data do not fit the agreement."


def test_a_party_that_names_another_run_later_is_lost(three):
    meetings = three.all_meet(three.ports())
    meetings["p1"]._lines["p0"][0].send_word(AGREED, "0" * 64)
    wait_until(meetings["p0"]._first_is_known.is_set)
    assert meetings["p0"].loss() == "Party 'p1' stopped (it is in another run)."


def test_lists_are_written_as_people_write_them():
    assert [in_words(list("abc"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
