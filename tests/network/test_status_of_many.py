"""`copublish node status` where there are several other parties."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from copublish.cli import app
from support.circle import Circle, identities_in


def test_node_status_looks_at_every_other_party(tmp_path):
    with Circle(identities_in(tmp_path, 4), 4) as circle:
        lines = ["format = 1", 'name = "r"', 'dataset = "d"', 'partition = "horizontal"']
        for name, party in circle.mapping["parties"].items():
            lines += [f"[parties.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in party.items())]
        lines += ["[records]", "expected = 100", "[class]", 'name = "y"', 'values = ["a", "b"]', "[attributes.x]"]
        lines += ['kind = "categorical"', 'values = ["u", "v"]', "[privacy]", "epsilon = 1"]
        file = tmp_path / "agreement.toml"
        file.write_text("\n".join([*lines, "[mechanism]", 'name = "specialization"']))
        circle.port("p2")
        options = ["--party", "p0", "--identity", str(tmp_path / "p0"), "--format", "json"]
        shown = CliRunner().invoke(app, ["node", "status", str(file), *options])
        found = {entry["what"]: entry["ok"] for entry in json.loads(shown.stdout)}
        assert shown.exit_code == 8
        assert [found[f"node of p{number}"] for number in (1, 2, 3)] == [False, True, False]
