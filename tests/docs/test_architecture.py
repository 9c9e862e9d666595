"""What the architecture promises: one door for secrets, imports in one direction, no seed, no float on secrets."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import copublish
from copublish.mechanisms.registry import mechanism_named, mechanisms

SOURCE = Path(copublish.__file__).parent
ROOT = SOURCE.parent.parent
MODULES = sorted(SOURCE.rglob("*.py"))

ROOMS = (
    *("files", "agreement", "kernel", "rows", "engines", "mechanisms", "release", "party", "tools", "studio", "cli"),
)
"""The packages of copublish, lowest first. Contracts of import-linter in `pyproject.toml` say what each may import."""

LOOSE = {"errors", "types", "progress", "lazy_names"}
"""Modules beside the packages."""

PUBLIC = {"approvals", "drafts", "identities", "ledger", "planning", "runs"}
"""Modules of public names for one task each; they hold nothing but names."""

MOST_KERNEL_LINES = 8800
"""8,500, and some 250 for hidden membership: the law of what hides the number of common people, its price and charge,
rows of which nobody knows who is in them, presence as a factor of every table, and what is said of all that.

Before that it was 8,000, and 35 for what is said of comparing people: in certificates the cryptography of an
intersection of lists, who learns how many people are at two parties and what a list of one person tells; in the error
of a run with such people what to do; and that far fewer records are common than expected."""

MOST_LINES_OF_A_KERNEL_FUNCTION = 60

KERNEL_IMPORTS = set(sys.stdlib_module_names) - {"socket", "ssl", "http", "urllib", "subprocess", "multiprocessing"}
KERNEL_IMPORTS |= {"numpy", "pydantic", "copublish"}
"""What the kernel may import. Pydantic checks types where JSON is read into frozen dataclasses, and nothing else."""

SEES_ROWS = ("copublish.rows", "copublish.kernel.records", "copublish.mechanisms.shared.run_")
SEES_SECRETS = ("copublish.kernel.secrets", "copublish.engines")
MAY_SEE = re.compile(r"run(_\w+)?\.py")
"""Files of a mechanism that may see rows and secrets: by their name."""


@cache
def imports_of(path: Path, *, typing_too: bool = False) -> frozenset[str]:
    """What a module imports; what it imports for the type checker alone is left out unless asked for."""
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text()), typing_too=typing_too):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _statements(tree: ast.AST, *, typing_too: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        is_typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if typing_too or not is_typing:
            yield node
            yield from _statements(node, typing_too=typing_too)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def lint_imports(folder: Path) -> tuple[int, str]:
    """The end and the words of import-linter with the project's contracts on the package in a folder."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--no-cache",
            "--no-logo",
            "--config",
            ROOT / "pyproject.toml",
        ],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def contracts() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return [contract["name"] for contract in settings["contracts"]]


def test_every_contract_on_imports_is_kept() -> None:
    code, words = lint_imports(SOURCE.parent)
    assert code == 0, words
    assert all(f"{name} KEPT" in words for name in contracts())


PLANTED = {
    "Rooms import in one direction": ("kernel/main_path.py", "from copublish.party import run"),
    "The kernel is built in layers": ("kernel/ledger/limits.py", "from copublish.kernel.secrets import gate"),
    "The kernel loads no data library, no socket and no engine": ("kernel/checks.py", "import pyarrow"),
    "Mechanisms know no engine": ("mechanisms/vhdp/run.py", "from copublish.engines import ideal"),
    "Mechanisms know nothing that opens, compares people or charges": (
        "mechanisms/vhdp/run.py",
        "from copublish.kernel.secrets.engine import Opener",
    ),
    "The page uses public names": ("studio/context.py", "from copublish.release import folder"),
}
"""For every contract a module and a line that breaks it."""


@pytest.mark.slow
def test_a_planted_import_breaks_its_contract(tmp_path: Path) -> None:
    assert PLANTED.keys() == set(contracts())
    copy = tmp_path / "copublish"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    first = "from __future__ import annotations\n"
    for file, line in PLANTED.values():
        text = (copy / file).read_text()
        (copy / file).write_text(text.replace(first, f"{first}{line}\n", 1))
    code, words = lint_imports(tmp_path)
    assert code == 1
    assert [name for name in contracts() if f"{name} BROKEN" not in words] == []


def classes_defined_twice(folder: Path) -> dict[str, list[str]]:
    """Names of classes that several definitions below a folder have, with the modules."""
    defined: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(path.relative_to(folder).as_posix())
    return {name: modules for name, modules in defined.items() if len(modules) > 1}


def test_no_class_name_is_defined_twice(tmp_path: Path) -> None:
    assert classes_defined_twice(SOURCE) == {}
    (tmp_path / "a.py").write_text("class Cost: ...\nclass Price: ...\n")
    (tmp_path / "b.py").write_text("def f():\n    class Cost: ...\n")
    assert classes_defined_twice(tmp_path) == {"Cost": ["a.py", "b.py"]}


def test_there_is_no_module_outside_the_rooms() -> None:
    packages = {layer(path) for path in MODULES if path.parent != SOURCE}
    assert packages == set(ROOMS)
    loose = {path.stem for path in MODULES if path.parent == SOURCE} - {"__init__", "__main__"}
    assert loose == LOOSE | PUBLIC


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_may_be_in_it(room: str) -> None:
    words = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text())) or ""
    assert len(words) > 60


def kernel_modules() -> list[Path]:
    return [path for path in MODULES if layer(path) == "kernel"]


def test_the_kernel_can_be_read_in_a_day() -> None:
    assert sum(len(path.read_text().splitlines()) for path in kernel_modules()) <= MOST_KERNEL_LINES


def long_functions(path: Path) -> dict[str, int]:
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    return {name: lines for name, lines in lengths.items() if lines > MOST_LINES_OF_A_KERNEL_FUNCTION}


def test_no_function_of_the_kernel_is_long(tmp_path: Path) -> None:
    assert {str(path): long for path in kernel_modules() if (long := long_functions(path))} == {}
    bad = tmp_path / "bad.py"
    bad.write_text("def long():\n" + "    pass\n" * MOST_LINES_OF_A_KERNEL_FUNCTION)
    assert long_functions(bad) == {"long": MOST_LINES_OF_A_KERNEL_FUNCTION + 1}


OPENS_CHARGES_OR_DRAWS = re.compile(
    r"reveal_\w+|draw_\w+|disclose|reserve|refuse_if_over|record_alignment|add_\w*noise\w*|(own_)?coins|share|noise"
    r"|geometric|biased_bits|handicaps|noisy_argmax|laplace|negative_binomial|delta_of|rho_for|epsilon_for"
)
"""Names of functions in the kernel that open, charge, draw or state a sensitivity."""


def without_privacy(path: Path) -> set[str]:
    """Public functions of a module that should have a section on privacy in their docstring and have none."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    asked = [node for node in functions if OPENS_CHARGES_OR_DRAWS.fullmatch(node.name)]
    return {
        f"{path.name}: {node.name}"
        for node in asked
        if not re.search(r"Privacy:|Leakage:|Stability:|See `RevealGate", ast.get_docstring(node) or "")
    }


def test_what_opens_charges_or_draws_says_what_that_means_for_privacy(tmp_path: Path) -> None:
    folders = ("noise", "programs", "secrets", "ledger", "accounting")
    modules = [path for folder in folders for path in (SOURCE / "kernel" / folder).glob("*.py")]
    assert set().union(*map(without_privacy, modules)) == set()
    bad = tmp_path / "bad.py"
    bad.write_text('def reveal_all(secret):\n    """Open it."""\n')
    assert without_privacy(bad) == {"bad.py: reveal_all"}


def foreign_imports(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports_of(path, typing_too=True)} - KERNEL_IMPORTS


def test_the_kernel_imports_numpy_and_the_standard_library(tmp_path: Path) -> None:
    assert {str(path): bad for path in kernel_modules() if (bad := foreign_imports(path))} == {}
    bad = tmp_path / "bad.py"
    bad.write_text("import socket\nimport pandas as pd\nimport numpy as np\n")
    assert foreign_imports(bad) == {"socket", "pandas"}


def reach(path: Path) -> set[str]:
    """What a file of a mechanism imports of rows and secrets."""
    module = path.relative_to(SOURCE.parent).with_suffix("").as_posix().replace("/", ".")
    own_run = module.rpartition(".")[0] + ".run"
    names = {name for name in imports_of(path) if name.startswith((*SEES_ROWS, *SEES_SECRETS))}
    names |= {name for name in imports_of(path) if re.search(r"\.run(_\w+)?(\.|$)", name)}
    if path.name == "plan.py":  # its method `run` hands over to run.py, and does nothing else with it
        names = {name for name in names if not name.startswith(own_run)}
    return names


def test_in_a_mechanism_only_files_named_run_see_rows_and_secrets():
    folders = [path for path in (SOURCE / "mechanisms").rglob("*.py") if path.parent.name != "mechanisms"]
    others = [path for path in folders if not MAY_SEE.fullmatch(path.name) and path.name != "joint_table.py"]
    assert {str(path.relative_to(SOURCE)): bad for path in others if (bad := reach(path))} == {
        # A plan around any mechanism's plan: its method `run` hands over, and does nothing else with it.
        "mechanisms/shared/class_disagreement.py": {
            "copublish.mechanisms.shared.run_class_disagreement",
            "copublish.mechanisms.shared.run_class_disagreement.run_class_disagreement",
        },
    }


CHECKS_ITS_RECORDS = {"idp_ir": ["refuse_unfit_clusters"]}
"""What plans take from their run.py besides: a check of what an owner alone can see of its records."""


def test_a_plan_takes_nothing_from_its_run_but_the_function_that_runs_it():
    for path in (SOURCE / "mechanisms").glob("*/plan.py"):
        tree = ast.parse(path.read_text())
        top = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not any(re.search(r"\.run(_\w+)?$", name or "") for name in top), path
        inner = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(f"{path.parent.name}.run")
        ]
        name = path.parent.name
        taken = [alias.name for node in inner for alias in node.names]
        assert taken == [f"run_{name}", *CHECKS_ITS_RECORDS.get(name, [])], path


def test_the_check_of_file_names_can_fail(tmp_path, monkeypatch):
    bad = tmp_path / "mechanisms" / "toy" / "publish.py"
    bad.parent.mkdir(parents=True)
    bad.write_text(
        "from copublish.kernel.records.fragment import Fragment\nfrom copublish.mechanisms.toy.run import peek\n"
    )
    monkeypatch.setattr("test_architecture.SOURCE", tmp_path)
    assert {name.split(".")[1] for name in reach(bad)} == {"kernel", "mechanisms"}


def names_in(path: Path, words: tuple[str, ...]) -> bool:
    return any(word in path.read_text(encoding="utf-8") for word in words)


TUNED = {
    "specialization": {"tools/planning/tunings.py", "tools/planning/specialization_tuning.py"},
    "marginals": {"tools/planning/marginals_cost.py"},
}
"""Where a plan tries the settings of a mechanism, or counts the operations of its runs."""


# Not "marginals": marginals of a table are spoken of everywhere. Its folder is imported by the registry alone.
@pytest.mark.parametrize("name", ["specialization", "copula", "hpdp", "vhdp", "idp-ir"])
def test_a_mechanism_is_named_in_its_folder_and_in_the_registry_alone(name):
    mechanism = mechanism_named(name)
    folder = mechanism.name.replace("-", "_")
    words = tuple({*mechanism.settings.names(), folder})
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".j2", ".css")]
    named = {path.relative_to(SOURCE).as_posix() for path in files if names_in(path, words)}
    others = {path for path in named if not path.startswith(f"mechanisms/{folder}/")}
    assert others == {"mechanisms/registry.py", *TUNED.get(folder, ())}


@pytest.mark.parametrize("folder", [path.parent.name for path in (SOURCE / "mechanisms").glob("*/settings.py")])
def test_a_mechanisms_folder_is_imported_by_itself_and_the_registry_alone(folder):
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if any(name.startswith(f"copublish.mechanisms.{folder}") for name in imports_of(path, typing_too=True))
    }
    others = {path for path in importers if not path.startswith(f"mechanisms/{folder}/")}
    assert others == {"mechanisms/registry.py", *TUNED.get(folder, ())}


def test_every_folder_is_in_the_registry():
    folders = {path.parent.name for path in (SOURCE / "mechanisms").glob("*/settings.py")}
    shipped = [known for known in mechanisms() if type(known).__module__.startswith("copublish.")]
    assert {known.name.replace("-", "_") for known in shipped} == folders


def test_published_algorithms_stay_off_the_publish_path():
    """They are not private, and live in a distribution of their own that nothing here imports."""
    for path in MODULES:
        assert not any("reproduction" in name for name in imports_of(path, typing_too=True)), path
    assert not (SOURCE / "reproduction").exists()


def test_only_programs_and_the_gate_touch_what_is_inside_a_secret():
    """An engine hands `_open` to the gate's opener; audits open on made-up tables. `_handle` is known to engines."""
    callers = {p.relative_to(SOURCE).as_posix() for p in MODULES if re.search(r"engine\._open\b", p.read_text())}
    assert callers == {"engines/roles.py"}
    tellers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "join_columns(" in p.read_text()}
    assert tellers == {"kernel/secrets/gate.py", "kernel/secrets/own_columns.py"}
    openers = {p.relative_to(SOURCE).as_posix() for p in MODULES if re.search(r"opener\.open\(", p.read_text())}
    assert openers == {"kernel/secrets/gate.py", "tools/auditing/game.py"}
    readers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "._handle" in p.read_text()}
    own = {
        "engines/ideal.py",
        "kernel/secrets/secret.py",
        "engines/masked_sums.py",
        "engines/spu/engine.py",
        "engines/spu/shares.py",
        "engines/spu/node.py",
    }
    assert readers <= own


def test_programs_on_secrets_know_numbers_alone():
    programs = list((SOURCE / "kernel" / "programs").glob("*.py"))
    assert len(programs) > 2
    for path in programs:
        ours = {name for name in imports_of(path) if name.startswith("copublish.")}
        assert all(re.match(r"copublish\.(kernel\.programs|types|errors|kernel\.noise)", name) for name in ours), path


def test_mechanisms_open_values_through_the_gate_alone():
    found = {
        path.relative_to(SOURCE / "mechanisms").as_posix(): calls
        for path in (SOURCE / "mechanisms").rglob("*.py")
        if (calls := re.findall(r"\w+\.reveal_\w+\(", path.read_text()))
    }
    measure, select = "gate.reveal_measurement(", "gate.reveal_selection("
    assert found == {
        "specialization/run.py": [measure, select, measure],
        "copula/run.py": [measure, measure],
        "shared/run_gains.py": [measure],
        "shared/run_class_disagreement.py": [measure],
        "hpdp/run.py": ["gate.reveal_gaussian_measurement(", measure],  # one of them, by the agreed noise
        "marginals/run.py": ["gate.reveal_gaussian_measurement(", measure, select],  # a table is one of the first two
        "vhdp/run.py": ["gate.reveal_columns("],
        "idp_ir/run.py": ["gate.reveal_columns("],
    }


SEES_OWN_RECORDS = re.compile(
    r"\.histogram\(|\.pair_histograms\(|count_locally\(|own_pairs\(|\.counts\(|partial_cells\(|\.private_(codes|numbers)"
)
"""Ways to count this party's records, or to read their cells."""

COUNTS_WHERE_ALL_ARE_PRESENT = {
    *("kernel/records/fragment.py", "kernel/records/joint_table.py"),
    *("mechanisms/shared/run_pairs.py", "mechanisms/shared/run_tables.py"),
    *("mechanisms/shared/run_class_disagreement.py", "mechanisms/specialization/run_scores.py"),
    "mechanisms/copula/run_products.py",
}
"""What counts records of agreements that may hide membership. A party does not know there which of its people are
common: `test_registry_hidden_membership.py` shows for each that people of one owner change no secret."""

SHARES_MEMBERSHIP = {
    *("kernel/records/alignment.py", "kernel/records/record_map.py"),
    *("mechanisms/hpdp/run.py", "mechanisms/vhdp/run.py", "mechanisms/idp_ir/run.py"),
}
"""What works where membership is shared alone: on whole rows, or on columns that are published for each person."""


def counts_records(path: Path) -> bool:
    return bool(SEES_OWN_RECORDS.search(path.read_text()))


def test_only_modules_that_know_of_presence_count_a_partys_own_records(tmp_path: Path) -> None:
    rooms = [path for path in MODULES if layer(path) in ("kernel", "mechanisms")]
    found = {path.relative_to(SOURCE).as_posix() for path in rooms if counts_records(path)}
    assert found == COUNTS_WHERE_ALL_ARE_PRESENT | SHARES_MEMBERSHIP
    bad = tmp_path / "run.py"
    bad.write_text("def count(table, axes):\n    return table.fragment.histogram(axes)\n")
    assert counts_records(bad)


def test_randomness_comes_from_the_operating_system_alone():
    """Made-up data and classifiers are the exceptions: they are no release."""
    for path in MODULES:
        if path.name != "demo.py" and path.parts[-2] not in ("evaluation", "planning"):
            text = path.read_text()
            assert "np.random" not in text, path
            assert not imports_of(path) & {"random", "secrets", "numpy.random"}, path
            assert "seed" not in re.sub(r'""".*?"""|#.*', "", text, flags=re.S), path


ON_SECRETS = (
    *("kernel/programs/noise.py", "kernel/programs/packing.py", "kernel/programs/gaussian_noise.py"),
    *("mechanisms/specialization/score_programs.py", "mechanisms/copula/run_products.py"),
    *(
        "mechanisms/marginals/run_tables.py",
        "mechanisms/shared/run_tables.py",
        "kernel/records/joint_table.py",
        "kernel/noise/laplace_shares.py",
    ),
)


@pytest.mark.parametrize("name", ON_SECRETS)
def test_programs_on_secrets_use_no_floats_and_no_library_maximum(name):
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not isinstance(node, ast.Div) or name.endswith("laplace_shares.py")  # it divides fractions, exactly
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"max", "argmax", "min", "argmin", "maximum", "exp", "log", "float64"}


def test_spu_is_loaded_by_its_worker_alone():
    loaders = {
        p.relative_to(SOURCE).as_posix()
        for p in MODULES
        if {name.split(".")[0] for name in imports_of(p)} & {"spu", "jax"}
    }
    parts = {"compiling", "intersection", "runtime"}
    assert loaders == {f"engines/spu/{name}.py" for name in (*parts, "worker")}
    importers = {p.name for p in MODULES if imports_of(p) & {f"copublish.engines.spu.{name}" for name in parts}}
    assert importers == {"worker.py"}


def test_nothing_shipped_names_a_registry_or_this_machine():
    shipped = [*MODULES, *ROOT.glob("*.toml"), *ROOT.glob("*.txt"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in shipped:
        assert not re.search(r"index.url|//\S+/simple\b|/(root|home)/", path.read_text()), path


def test_importing_the_package_loads_no_data_library_and_does_nothing():
    libraries = "{'pandas', 'polars', 'ibis'}"
    code = f"import sys, copublish, copublish.mechanisms.registry; print(*{libraries} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def test_the_architecture_page_names_every_package_and_no_module_that_is_not_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    top = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    top |= {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")}
    assert {name for name in top if f"`{name}`" not in page} == set()
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", page)) - {"tests/docs/test_architecture.py"}
    files = [path.as_posix() for path in MODULES]
    assert {name for name in named if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_every_decision_is_numbered_and_every_promised_page_is_there():
    docs = ROOT / "docs"
    for page in ("architecture", "privacy-promise", "known-limits", "reference/agreement", "reference/exit-codes"):
        assert (docs / f"{page}.md").exists(), page
    numbers = [path.name[:4] for path in sorted((docs / "decisions").glob("*.md"))]
    assert numbers == [f"{number:04d}" for number in range(1, len(numbers) + 1)]
