"""`copublish node status` where there are several other parties."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from typer.testing import CliRunner

from copublish.cli import app
from support.circle import Circle, identities_in


def agreement_of(circle: Circle, file: Path) -> Path:
    lines = ["format = 1", 'name = "r"', 'dataset = "d"', 'partition = "horizontal"']
    parties = {f"parties.{name}": party for name, party in circle.mapping["parties"].items()}
    for table, content in {**parties, "network": circle.mapping.get("network", {})}.items():
        lines += [f"[{table}]", *(f"{key} = {json.dumps(value)}" for key, value in content.items())]
    lines += ["[records]", "expected = 100", "[class]", 'name = "y"', 'values = ["a", "b"]', "[attributes.x]"]
    lines += ['kind = "categorical"', 'values = ["u", "v"]', "[privacy]", "epsilon = 1"]
    file.write_text("\n".join([*lines, "[mechanism]", 'name = "specialization"']))
    return file


def status(file: Path, party: str) -> tuple[int, dict[str, tuple[bool | None, str]]]:
    options = ["--party", party, "--identity", str(file.parent / party), "--format", "json"]
    shown = CliRunner().invoke(app, ["node", "status", str(file), *options])
    return shown.exit_code, {entry["what"]: (entry["ok"], entry["found"]) for entry in json.loads(shown.stdout)}


def test_node_status_looks_at_every_other_party(tmp_path, monkeypatch):
    with Circle(identities_in(tmp_path, 4), 4) as circle:
        file = agreement_of(circle, tmp_path / "agreement.toml")
        circle.port("p2")
        code, found = status(file, "p0")
        assert code == 8
        assert [found[f"node of p{number}"][0] for number in (1, 2, 3)] == [False, True, False]
        with socket.create_server(circle.agreement.parties["p0"].address), monkeypatch.context() as patch:
            patch.setattr("copublish.party.network.channel.HANDSHAKE_SECONDS", 0.3)  # it is not a run, and says nothing
            assert (found["own port"][0], status(file, "p0")[1]["own port"][0]) == (True, False)
        assert status(file, "p2")[1]["own port"] == (
            True,
            f"your own run listens at {circle.agreement.parties['p2'].address[1]}",
        )
        circle.hide("p2", "p3", relay="no-such-host.invalid:443")
        agreement_of(circle, file)
        circle.port("p1")
        code, found = status(file, "p0")
        assert (code, found["node of p2"][0]) == (0, None), "one that dials in is not seen, and is not in the way"
        assert "Ask who runs the relay for the right name" in status(file, "p2")[1]["relay to p3"][1]
