"""The image and the services: what they are built from, who runs them, and who can reach whom.

No image is built here. `tests/network/test_islands.py` runs the topology of `compose.yaml` in network namespaces.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from support.compose import FILE, read_compose

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "containers.md"
INSTRUCTIONS = {"ARG", "FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}
PARTIES = {"bank", "loans", "clinic"}


def instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def lint(text: str, root: Path = ROOT) -> list[str]:
    """What is wrong with a Dockerfile, as far as that can be seen without Docker."""
    found, steps = [], instructions(text)
    said = dict(steps)
    found += [f"unknown: {word}" for word, _ in steps if word not in INSTRUCTIONS]
    if steps[:2] != [("ARG", "BASE=python:3.11-slim"), ("FROM", "${BASE}")]:
        found.append("another base, or a registry is named")
    if said.get("USER", "root") in ("root", "0") or [word for word, _ in steps].index("USER") > len(steps) - 2:
        found.append("runs as root")
    for word, rest in steps:
        if word == "COPY":
            *sources, _ = rest.split()
            found += [f"not there: {source}" for source in sources if not (root / source).exists()]
            found += ["copies everything" for source in sources if source == "."]
    if re.search(r"curl|wget|index.url|://|password|secret", text, re.I):
        found.append("fetches something, or holds a secret")
    script = re.search(r'ENTRYPOINT \["(\S+)"\]', text)
    if script is None or script[1] not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]:
        found.append("starts something else than the program")
    return found


def test_the_image_is_built_from_the_package_and_runs_it_as_nobody_special():
    text = (ROOT / "Dockerfile").read_text()
    assert lint(text) == []
    copied = {word for step, rest in instructions(text) if step == "COPY" for word in rest.split()[:-1]}
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == allowed, "what is copied is all that is let into the build"


LINE = re.compile(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")


def spelled(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def hashed() -> dict[str, str]:
    """Every library of the image with its version; each line has to have a hash."""
    lines = [line for line in (ROOT / "requirements-image.txt").read_text().splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    return {spelled(match[1]): match[2] for match in found if match}


def test_the_image_installs_the_versions_of_the_constraints_and_each_by_its_hash():
    text = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes --requirement requirements-image.txt" in text and "--no-deps ." in text
    here = {name: importlib.metadata.version(name) for name in hashed()}  # installed with constraints.txt
    assert hashed() == here, "make requirements-image"


def test_the_image_installs_all_that_the_package_and_those_libraries_need():
    """As they are installed here: what each of them asks for on this machine."""
    needed, left = set(), [("copublish", ("secure",))]
    while left:
        name, extras = left.pop()
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            wanted = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in (*extras, "")
            )
            if wanted and spelled(requirement.name) not in needed:
                needed.add(spelled(requirement.name))
                left.append((requirement.name, tuple(requirement.extras)))
    assert needed == hashed().keys(), "make requirements-image"


BROKEN = {
    "root": ("USER copublish\n", "", "runs as root"),
    "a registry": ("BASE=python", "BASE=registry.example/python", "a registry is named"),
    "a base that cannot be named": ("FROM ${BASE}", "FROM python:3.11-slim", "another base"),
    "a missing file": ("requirements-image.txt ./", "nothing.txt ./", "not there: nothing.txt"),
    "a download": ("RUN pip", "RUN curl -O x && pip", "fetches something"),
    "another program": ('["copublish"]', '["bash"]', "something else than the program"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_the_check_of_the_image_can_fail(kind):
    old, new, words = BROKEN[kind]
    text = (ROOT / "Dockerfile").read_text()
    assert old in text
    assert any(words in problem for problem in lint(text.replace(old, new)))


def test_every_party_shares_a_network_with_the_relay_and_with_nobody_else():
    composed = read_compose(FILE.read_text())
    services = composed["services"]
    assert set(services) == PARTIES | {"relay"}
    for one, other in itertools.combinations(services, 2):
        shared = set(services[one]["networks"]) & set(services[other]["networks"])
        assert len(shared) == (1 if "relay" in (one, other) else 0), (one, other)
    assert all(network == {"internal": True} for network in composed["networks"].values())
    for service in services.values():
        assert "ports" not in service and service["user"] == "10001" and service["read_only"] is True
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"]
    assert all(services[party]["volumes"] == [f"./{party}:/party"] for party in PARTIES)


def test_services_and_the_page_use_commands_and_options_that_exist():
    services = read_compose(FILE.read_text())["services"]
    commands = [service["command"] for service in services.values()]
    for line in re.findall(r"^\$ docker (?:run .*? copublish|compose run --rm \w+) (.*)$", PAGE.read_text(), re.M):
        commands.append(shlex.split(line))
    commands.append(["doctor", "agreement.toml", "--party", "bank"])
    assert len(commands) == 4 + 7 + 1
    for words in commands:
        names = list(itertools.takewhile(lambda word: word in ("identity", "new"), words)) or words[:1]
        help_text = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": "200"}).output
        assert all(word in help_text for word in words if word.startswith("--")), words
    for party in PARTIES:
        assert services[party]["command"][services[party]["command"].index("--party") + 1] == party


def test_the_agreement_of_the_page_is_complete_and_names_the_relay_of_the_services():
    text = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.S)[1]
    content = tomllib.loads(re.sub(r"certificate = .*\n", "", text), parse_float=str)
    agreement = cp.agreement_from_mapping(content)
    assert set(agreement.parties) == PARTIES and all(party.dials_out for party in agreement.parties.values())
    listen = read_compose(FILE.read_text())["services"]["relay"]["command"][-1]
    assert agreement.network.relay == f"relay:{listen.rpartition(':')[2]}"
    assert " ".join(cp.check(agreement).meeting) in " ".join(PAGE.read_text().split())


def test_lines_of_yaml_that_are_not_understood_are_an_error():
    with pytest.raises(ValueError, match="not understood"):
        read_compose("services:\n  - bank\n")
