"""Releases of parties that cannot reach each other: no route between them, a proxy, a firewall that drops in silence.

Each time the release has to be the ideal one for the same coins, byte for byte.
"""

from __future__ import annotations

import json
import socket
from multiprocessing.process import BaseProcess
from pathlib import Path

import pandas as pd

import copublish as cp
from support import SeededCoins, simulate_with
from support.compose import FILE, read_compose
from support.island_party import run_seeded, serve_proxy, serve_relay
from support.islands import Islands, cables_of, islands
from support.many_parties import ManyParties, Together
from support.node import NAMES, TwoParties

SECONDS = 300
OWNERS = Together(
    names=("bank", "loans", "clinic"),
    without_data=(),
    sections="""
[mechanism]
name = "hpdp"
[engine]
name = "masked-sum"
""",
    phases=(),
)
"""Three owners mask their sums; the first one adds them up."""

DIALS_OUT = 'reach = "dial-out"\n'


def start_relay(hosts: Islands, folder: Path, port: int = 443) -> tuple[str, Path]:
    address, log = f"{hosts.addresses['relay']}:{port}", folder / "relay.jsonl"
    hosts.start("relay", serve_relay, address, log)
    return address, log


def begin_all(hosts, parties, names, proxies=None, wait_seconds: int = 60) -> list[BaseProcess]:
    """Run every party at the host of its name."""
    return [
        hosts.start(name, run_seeded, parties.home(name), name, 5 + number, (proxies or {}).get(name), wait_seconds)
        for number, name in enumerate(names)
    ]


def ends_of(begun: list[BaseProcess], parties, names) -> dict[str, str]:
    """How each party ended."""
    for process in begun:
        process.join(SECONDS)
    return {name: json.loads((parties.home(name) / "end.json").read_text()) for name in names}


def check_ideal(parties, names) -> None:
    """Every party has the release that the ideal engine makes of the same data with the same coins."""
    files = {name: parties.files(name) for name in names}
    assert all(own == files[names[0]] for own in files.values())
    agreement = cp.load_agreement(parties.home(names[0]) / "agreement.toml")
    frames = {name: pd.read_parquet(parties.home(name) / "data.parquet") for name in agreement.owners}
    coins = {name: SeededCoins(5 + number) for number, name in enumerate(names)}
    data = simulate_with(agreement, frames, coins).data_files()
    assert data == {name: content for name, content in files[names[0]].items() if name in data}
    other = {name: SeededCoins(50 + number) for number, name in enumerate(names)}
    assert data != simulate_with(agreement, frames, other).data_files()


def reaches(address: str, port: int, found: Path) -> None:
    try:
        socket.create_connection((address, port), timeout=1).close()
        found.write_text("yes")
    except OSError:
        found.write_text("no")


def test_three_parties_without_any_route_to_each_other_publish_over_a_relay(tmp_path):
    """Hosts and networks are those of `compose.yaml`."""
    services = read_compose(FILE.read_text())["services"]
    with islands(cables_of({name: service["networks"] for name, service in services.items()})) as hosts:
        relay, log = start_relay(hosts, tmp_path, port=int(services["relay"]["command"][-1].rpartition(":")[2]))
        parties = ManyParties(tmp_path / "parties", OWNERS, dict.fromkeys(OWNERS.names), relay)
        route = hosts.start("bank", reaches, hosts.addresses["loans"], 1, tmp_path / "route")
        ends = ends_of(begin_all(hosts, parties, OWNERS.names), parties, OWNERS.names)
        assert ends == dict.fromkeys(OWNERS.names, "published")
        route.join(SECONDS)
    assert (tmp_path / "route").read_text() == "no"
    check_ideal(parties, OWNERS.names)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ended = [event for event in events if event["event"] == "ended"]
    assert {hosts.addresses[name] for name in OWNERS.names} == {event["caller"] for event in ended}
    assert sum(event["from_caller"] for event in ended) > 10_000
    assert not any(name in log.read_text() for name in OWNERS.names), "a relay does not know who the parties are"


def test_a_party_behind_a_proxy_for_port_443_alone_publishes_on_the_secure_engine(tmp_path):
    with islands([("bank", "relay"), ("loans", "proxy"), ("proxy", "relay")]) as hosts:
        relay, _ = start_relay(hosts, tmp_path)
        hosts.start("proxy", serve_proxy, hosts.addresses["proxy"], 3128, 443)
        parties = TwoParties(tmp_path / "parties", dict.fromkeys(NAMES, "nowhere:1"))
        text = parties.agreement_text().replace('host = "nowhere:1"\n', DIALS_OUT)
        parties.write_agreement(f'{text}\n[network]\nrelay = "{relay}"\n')
        proxies = {"loans": f"http://{hosts.addresses['proxy']}:3128"}
        ends = ends_of(begin_all(hosts, parties, NAMES, proxies), parties, NAMES)
        assert ends == dict.fromkeys(NAMES, "published")
    check_ideal(parties, NAMES)


def test_a_party_behind_a_firewall_that_drops_in_silence_publishes_if_it_dials_out(tmp_path):
    names = ("bank", "loans")
    two = Together(names=names, without_data=(), sections=OWNERS.sections, phases=())
    with islands([names]) as hosts:
        hosts.drop_incoming("loans")
        bank, loans = (hosts.addresses[name] for name in names)
        route = hosts.start("bank", reaches, hosts.addresses["loans"], 7700, tmp_path / "route")
        dialed = ManyParties(tmp_path / "dialed", two, {"bank": f"{bank}:7701", "loans": f"{loans}:7701"})
        in_vain = begin_all(hosts, dialed, names, wait_seconds=3)
        parties = ManyParties(tmp_path / "out", two, {"bank": f"{bank}:7700", "loans": None})
        ends = ends_of(begin_all(hosts, parties, names), parties, names)
        assert ends == dict.fromkeys(names, "published")
        ends = ends_of(in_vain, dialed, names)
        route.join(SECONDS)
    assert (tmp_path / "route").read_text() == "no"
    check_ideal(parties, names)
    assert ends["bank"].startswith(f"Party 'loans' (no answer from {loans}:7701) did not come."), ends
    assert "'bank' can be reached but did not connect back in time" in ends["loans"]
