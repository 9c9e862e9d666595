"""Small faults that tests have to notice: each one is put into a copy of the source, and tests run that should fail.

They lie where nothing else would tell: in randomness, masks, sensitivities, filters, charges and checks. Fingerprints
of proofs would notice nearly all of them, so none of those is among the tests: what is named here looks at behavior.

    .venv/bin/python tests/mutations.py            # before a release: all of them, and first the tests without a fault
    .venv/bin/python tests/mutations.py --only "masks of one node" --jobs 1

It prints a table and ends with 1 if a fault was not noticed. `tests/docs/test_mutations.py` checks in every run that
each text is there once, so that no fault is left out silently.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

ALL_PASS, SOME_FAIL = 0, 1
"""Exit codes of pytest. Any other one says that tests could not be run."""


@dataclass(frozen=True)
class Mutation:
    """A fault.

    Attributes:
        name: What is wrong, in a few words.
        module: Where, below `src/copublish`.
        before: The text that it replaces, which is there once.
        after: What stands there instead.
        tests: Which tests should fail, as pytest names them; one is enough.
    """

    name: str
    module: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def file(self) -> Path:
        """The file, relative to the folder of the source."""
        return Path("copublish") / self.module

    def apply(self, source: Path) -> None:
        """Put the fault into a copy of the source.

        Raises:
            ValueError: If its text is not there exactly once.
        """
        path = source / self.file
        text = path.read_text()
        if (times := text.count(self.before)) != 1:
            raise ValueError(f"'{self.name}': its text is in {self.file} {times} times, and should be there once")
        path.write_text(text.replace(self.before, self.after))


NOISE, STATISTICAL, CONTRACT, SECURE = "tests/unit/kernel/noise", "tests/statistical", "tests/contract", "tests/secure"
ENGINES = f"{CONTRACT}/test_every_engine.py"
NEIGHBORS = f"{SECURE}/test_neighbors.py"
HIDDEN_RUNS = "tests/unit/kernel/test_main_path_hidden_membership.py"
RECEIPTS = "tests/unit/party/test_evidence_exchange_receipts.py"
COMPARING = "tests/unit/engines/comparing"
CONCENTRATED = "tests/unit/kernel/accounting/test_concentrated.py"

MUTATIONS: tuple[Mutation, ...] = (
    # --- randomness ---
    Mutation(
        "half of the words come twice",
        "kernel/noise/geometric.py",
        "return np.frombuffer(os.urandom(8 * math.prod(shape)), np.int64).reshape(shape)",
        "words = np.frombuffer(os.urandom(8 * math.prod(shape)), np.int64).reshape(shape).copy()\n"
        "        half = words.shape[-1] // 2 if shape else 0\n"
        "        words[..., half : 2 * half] = words[..., :half]\n"
        "        return words",
        (f"{NOISE}/test_geometric_system_coins.py",),
    ),
    Mutation(
        "draws of a shape come again",
        "kernel/noise/geometric.py",
        "    def words(self, shape: tuple[int, ...]) -> IntArray:\n"
        '        """Fresh uniform 64-bit words."""\n'
        "        return np",
        "    @cache\n"
        "    def words(self, shape: tuple[int, ...]) -> IntArray:\n"
        '        """Fresh uniform 64-bit words."""\n'
        "        return np",
        (f"{NOISE}/test_geometric_system_coins.py",),
    ),
    Mutation(
        "no start-up test",
        "kernel/main_path.py",
        "    refuse_broken_generator()\n",
        "",
        (f"{NOISE}/test_health.py::test_a_run_with_a_broken_generator_compares_reserves_and_opens_nothing",),
    ),
    Mutation(
        "a bit of a coin is not looked at",
        "kernel/noise/geometric.py",
        "table = [[-((t >> (COIN_BITS - 1 - j)) & 1) for t in thresholds] for j in range(COIN_BITS)]",
        "table = [[-((t >> (COIN_BITS - 1 - j)) & 1 & (j != 3)) for t in thresholds] for j in range(COIN_BITS)]",
        (f"{NOISE}/test_geometric.py::test_threshold_planes_spell_the_thresholds_and_cannot_be_changed",),
    ),
    Mutation(
        "a pool that is too small for the noise on common people",
        "kernel/noise/hidden_size.py",
        "while self.delta * total < _WEIGHT_OF_AN_END:",
        "while self.delta * total < _WEIGHT_OF_AN_END // 2:",
        (f"{NOISE}/test_hidden_size.py::test_one_person_shows_as_agreed_in_every_set_of_outcomes",),
    ),
    Mutation(
        "weights of the noise on common people grow a little too fast",
        "kernel/noise/hidden_size.py",
        "middle = middle * growth >> _GROWTH_BITS",
        "middle = -(-middle * growth * 101 // 100 >> _GROWTH_BITS)",
        (f"{NOISE}/test_hidden_size.py::test_one_person_shows_as_agreed_in_every_set_of_outcomes",),
    ),
    Mutation(
        "an exchange of people costs another owner's view only what other values cost",
        "kernel/accounting/membership.py",
        "max(cost.replace, added)",
        "cost.replace",
        (
            "tests/unit/kernel/certificate/test_promise_hidden_membership.py"
            "::test_a_large_price_of_the_number_counts_for_an_exchange_too",
        ),
    ),
    Mutation(
        "noise of a table is shared by its cells",
        "kernel/programs/packing.py",
        "return cast(IntArray, (drawn[:n] - drawn[n : 2 * n]).reshape(1, n))",
        "return cast(IntArray, (drawn[:n] - drawn[n : n + 1]).reshape(1, n))",
        (
            f"{STATISTICAL}/test_noise_of_whole_runs.py::test_a_simulated_run_has_the_noise_that_is_stated[hpdp]",
            f"{NOISE}/test_geometric.py::test_laplace_noise_is_the_difference_of_two_samples_per_count",
        ),
    ),
    Mutation(
        "Gaussian noise is handed out again",
        "kernel/secrets/gate.py",
        "self._candidates[noise] = values, places[entries:]",
        "self._candidates[noise] = values, places",
        (f"{CONTRACT}/test_engine.py::test_gaussian_noise_drawn_ahead_is_handed_out_once_and_in_order",),
    ),
    Mutation(
        "noise of a selection is used again",
        "kernel/secrets/gate.py",
        "handicap = self._drawn[noise.rate, places].pop(0)",
        "handicap = self._drawn[noise.rate, places][0]",
        (f"{CONTRACT}/test_engine.py::test_noise_drawn_ahead_gives_the_selections_that_noise_drawn_in_time_gives",),
    ),
    # --- joins that hide membership ---
    Mutation(
        "points under both factors keep the order of the list",
        "engines/comparing/hidden_join.py",
        "self._exchange(HIDDEN_BOTH, shuffled(their_ab), n_own)",
        "self._exchange(HIDDEN_BOTH, their_ab, n_own)",
        (f"{COMPARING}/test_hidden_join.py::test_two_owners_place_any_lists",),
    ),
    Mutation(
        "names have no factor of their own",
        "engines/comparing/hidden_join.py",
        "their_abc = self._multiplied(by, self._c, their_ab)",
        "their_abc = their_ab",
        (f"{COMPARING}/test_hidden_join.py::test_two_owners_place_any_lists", f"{COMPARING}/test_hidden_join_views.py"),
    ),
    Mutation(
        "names are asked for without a factor that hides them",
        "engines/comparing/hidden_join.py",
        "self._a, self._c, self._r = Factor(draw), Factor(draw), Factor(draw)",
        "self._a, self._c, self._r = Factor(draw), Factor(draw), Factor.of(1)",
        (f"{COMPARING}/test_hidden_join_views.py",),
    ),
    Mutation(
        "the number of common people has no noise",
        "engines/comparing/hidden_join.py",
        "noise = self._size.draw(self._draw)",
        "noise = pool // 2",
        (f"{COMPARING}/test_hidden_join.py::test_the_number_of_rows_is_that_of_the_union_less_both_owners_noise",),
    ),
    Mutation(
        "lists are not padded",
        "engines/comparing/hidden_join.py",
        "made_up = at_most - n_people + pool - noise",
        "made_up = pool - noise",
        (f"{COMPARING}/test_hidden_join.py::test_lists_have_public_lengths_whoever_is_on_them",),
    ),
    Mutation(
        "other rows at the other owner do not matter",
        "engines/comparing/hidden_join.py",
        "if self._messenger.receive(self._peer, UNION_DIGEST) != theirs or have_repeated(union):",
        "if have_repeated(union):",
        (f"{COMPARING}/test_hidden_join.py",),
    ),
    Mutation(
        "a helper may give two people one row",
        "engines/comparing/pseudonyms.py",
        "or len(np.unique(given)) != length:",
        "or False:",
        (f"{COMPARING}/test_hidden_join.py::test_rows_that_a_helper_cannot_have_drawn_are_refused",),
    ),
    # --- masks ---
    Mutation(
        "masks of one node",
        "engines/spu/node.py",
        "Expression(Shared(SystemCoins().words(shape)))",
        "Expression(Shared(SystemCoins().words(shape) * (self._rank == 0)))",
        (f"{ENGINES}::test_masks_are_the_sum_of_words_of_the_operating_system_of_every_node_in_full",),
    ),
    Mutation(
        "masks of 40 bits",
        "engines/spu/node.py",
        "Expression(Shared(SystemCoins().words(shape)))",
        "Expression(Shared(SystemCoins().words(shape) & (2**40 - 1)))",
        (f"{ENGINES}::test_masks_are_the_sum_of_words_of_the_operating_system_of_every_node_in_full",),
    ),
    Mutation(
        "two losers share a mask",
        "kernel/programs/noise.py",
        "    of_first = (finalists[first] < finalists[second]) * blinds\n",
        "    blinds = blinds[:1] + 0 * blinds\n    of_first = (finalists[first] < finalists[second]) * blinds\n",
        ("tests/unit/kernel/programs/test_noise_maximum.py",),
    ),
    Mutation(
        "masks of a sum are used again",
        "engines/masked_sums.py",
        'block_counter, nonce = bytes(4), opening.to_bytes(12, "little")',
        "block_counter, nonce = bytes(4), bytes(12)",
        ("tests/unit/engines/test_masked_sums.py",),
    ),
    Mutation(
        "a guest's parts are not masked",
        "engines/spu/input_parties.py",
        "    uniform = [coins.words(private.shape) for _ in range(n_parts - 1)]\n"
        "    return [*uniform, private - np.sum(uniform, axis=0, dtype=np.int64)]",
        "    uniform = [coins.words(private.shape) & 0 for _ in range(n_parts - 1)]\n"
        "    return [*uniform, private - np.sum(uniform, axis=0, dtype=np.int64)]",
        ("tests/unit/engines/spu/test_input_parties.py",),
    ),
    # --- sensitivities ---
    Mutation(
        "half the sensitivity of class triples",
        "mechanisms/marginals/measurements.py",
        "return self._measure(place, label, budget, 1, cells + padding, padding=padding)",
        "n_tables: int = Fraction(1, 2) if len(table) == 3 else 1  # type: ignore[assignment]\n"
        "        return self._measure(place, label, budget, n_tables, cells + padding, padding=padding)",
        (f"{NEIGHBORS}::test_one_record_moves_class_triples_by_all_that_their_noise_is_for",),
    ),
    Mutation(
        "half the sensitivity of class disagreement",
        "mechanisms/shared/class_disagreement.py",
        "l1_sensitivity=INFLUENCE,",
        "l1_sensitivity={relation: Fraction(1, 2) for relation in INFLUENCE},  # type: ignore[dict-item]",
        (f"{STATISTICAL}/test_audit_class_disagreement.py::test_its_price_is_what_one_person_moves",),
    ),
    Mutation(
        "a replaced record changes one count",
        "kernel/accounting/disclosures.py",
        'HISTOGRAM_L1: Influence = {"add-remove": 1, "replace": 2}',
        'HISTOGRAM_L1: Influence = {"add-remove": 1, "replace": 1}',
        (f"{NEIGHBORS}::test_one_record_changes_no_step_and_no_measurement_beyond_its_sensitivity",),
    ),
    Mutation(
        "half the range of scores of tables",
        "mechanisms/marginals/measurements.py",
        'SCORE_RANGE: Influence = {"add-remove": 2, "replace": 4}',
        'SCORE_RANGE: Influence = {"add-remove": 1, "replace": 2}',
        (f"{NEIGHBORS}::test_one_record_changes_no_step_of_marginals_and_no_measurement_beyond_its_sensitivity",),
    ),
    # --- filters ---
    Mutation(
        "a filter looks at one relation only",
        "kernel/accounting/concentrated.py",
        "any(after[relation] > self.whole.rho(relation) for relation in NEIGHBORS)",
        "any(after[relation] > self.whole.rho(relation) for relation in NEIGHBORS[:1])",
        (f"{CONCENTRATED}::test_selections_beyond_their_share_are_refused_because_replacing_costs_them_more",),
    ),
    Mutation(
        "a filter forgets what was spent",
        "kernel/accounting/concentrated.py",
        "        self.spent = after\n",
        "        self.spent = dict.fromkeys(NEIGHBORS, Fraction(0))\n",
        (f"{CONCENTRATED}::test_a_filter_refuses_what_is_one_part_too_many_and_parts_of_another_budget",),
    ),
    # --- charges ---
    Mutation(
        "the number of common people is never charged",
        "kernel/main_path.py",
        "    if cost != NOTHING:\n        ledger.charge_size(",
        "    if cost == NOTHING:\n        ledger.charge_size(",
        (f"{HIDDEN_RUNS}::test_nobody_compares_before_every_ledger_has_the_charge_and_every_head_was_told",),
    ),
    Mutation(
        "people are compared before their number is charged",
        "kernel/main_path.py",
        "    _charge_membership(agreement, signing, engine, ledger)\n"
        "    with _cheaters_locked_out(agreement, fragment.party, ledger):\n"
        "        table = align_records(agreement, fragment, engine, context.progress)\n",
        "    with _cheaters_locked_out(agreement, fragment.party, ledger):\n"
        "        table = align_records(agreement, fragment, engine, context.progress)\n"
        "    _charge_membership(agreement, signing, engine, ledger)\n",
        (f"{HIDDEN_RUNS}::test_nobody_compares_before_every_ledger_has_the_charge_and_every_head_was_told",),
    ),
    Mutation(
        "who learns the number of common people holds no head of the ledger",
        "kernel/main_path.py",
        "        signing.keep_heads(heads, agreement, ledger)\n\n\ndef agreed_audit",
        "\n\ndef agreed_audit",
        (f"{RECEIPTS}::test_a_copy_from_before_people_were_compared_is_refused_by_who_learned_their_number",),
    ),
    Mutation(
        "the charge for the number of common people has no disclosure",
        "kernel/ledger/ledger.py",
        "            self._write_disclosure(number, 0, label, cost)\n",
        "",
        (f"{CONTRACT}/test_charge_of_size.py::test_the_charge_is_spent_with_its_disclosure_and_nobody_gets_it_back",),
    ),
    Mutation(
        "of a list that is too long the first people take part",
        "kernel/records/comparison.py",
        'np.argsort(np.frombuffer(digests, dtype=f"S{DIGEST_BYTES}"), kind="stable")[:length]',
        "np.arange(length)",
        (f"{HIDDEN_RUNS}::test_of_a_list_that_is_too_long_the_same_people_take_part_whatever_the_order_of_its_rows",),
    ),
    Mutation(
        "values are opened before they are charged",
        "kernel/secrets/gate.py",
        "        self._charge(disclosure)\n        return self.opener.open(secret_noisy)\n",
        "        opened = self.opener.open(secret_noisy)\n        self._charge(disclosure)\n        return opened\n",
        ("tests/unit/kernel/secrets/test_gate.py",),
    ),
    Mutation(
        "a disclosure is charged half of epsilon",
        "kernel/accounting/disclosures.py",
        "        return self.noise.rate * self.l1_sensitivity[neighbors]\n",
        "        return self.noise.rate * self.l1_sensitivity[neighbors] / 2\n",
        ("tests/unit/kernel/secrets/test_gate.py::test_a_value_is_charged_before_it_is_opened",),
    ),
    Mutation(
        "a shared budget is charged with its second part",
        "kernel/secrets/gate.py",
        "(lambda: NOTHING) if charged else price",
        "price if charged else (lambda: NOTHING)",
        ("tests/unit/kernel/secrets/test_gate.py",),
    ),
    # --- checks ---
    Mutation(
        "inputs of a peer are not checked",
        "kernel/secrets/gate.py",
        "            if wrong:\n                raise InvalidInputsError(party)\n",
        "            if wrong < 0:\n                raise InvalidInputsError(party)\n",
        ("tests/unit/kernel/secrets/test_gate.py",),
    ),
    Mutation(
        "answers of a model may wrap the ring",
        "mechanisms/marginals/run_tables.py",
        "and bool((answers >= 0).all() and (answers <= LARGEST_ANSWER).all())",
        "and bool((answers <= LARGEST_ANSWER).all())",
        (f"{NEIGHBORS}::test_answers_that_wrap_the_ring_would_move_a_score_by_more_than_declared",),
    ),
    Mutation(
        "any sum of counts fits the ring",
        "kernel/programs/noise.py",
        "return max(largest_count.bit_length(), noise_bits + entries.bit_length()) + 1 <= MAX_BITS",
        "return entries > 0",
        (
            f"{CONTRACT}/test_engine.py::"
            "test_a_table_is_opened_only_if_all_its_counts_with_their_noise_add_up_within_the_integers",
        ),
    ),
    # --- event tables ---
    Mutation(
        "a sum of events by the order of the file",
        "rows/event_functions.py",
        'units = f"sum(CAST(round({within} * {UNITS}) AS HUGEINT) * n_rows)"',
        'units = f"first(CAST(round({within} * {UNITS}) AS HUGEINT) * n_rows)"',
        ("tests/unit/rows/test_events.py::test_the_order_of_events_does_not_matter",),
    ),
    Mutation(
        "events of a person go to everybody",
        "rows/event_functions.py",
        'return f"SELECT person, {self._aggregate()} AS value FROM {rows} GROUP BY person"',
        'return f"SELECT p.person, value FROM persons p, (SELECT {self._aggregate()} AS value FROM {rows})"',
        ("tests/unit/rows/test_events.py::test_one_persons_events_change_that_person_alone",),
    ),
    Mutation(
        "a table of events under two identifiers",
        "agreement/derived.py",
        "if known != identifier:",
        "if False:",
        ("tests/unit/rows/test_events.py::test_a_table_under_two_identifiers_is_refused",),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a fault.

    Attributes:
        mutation: The fault.
        code: How pytest ended.
        failed: The first test that failed.
        seconds: How long it took.
        words: The last lines of pytest.
    """

    mutation: Mutation
    code: int
    failed: str
    seconds: float
    words: str

    @property
    def verdict(self) -> str:
        """Whether it was noticed."""
        return {SOME_FAIL: "noticed", ALL_PASS: "NOT NOTICED"}.get(self.code, "COULD NOT BE TRIED")


@contextmanager
def copy_of_source() -> Iterator[Path]:
    """A copy of the source in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="copublish-mutation-") as folder:
        copied = Path(folder) / "src"
        shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        yield copied


def run_tests(source: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """Run tests against a source until one fails; how pytest ended, and what it said."""
    path = os.pathsep.join([str(source), str(ROOT / "reproduction" / "src")])
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", "-rf", *tests]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def tried(mutation: Mutation) -> Outcome:
    """Put a fault into a copy of the source and run its tests."""
    start = time.monotonic()
    with copy_of_source() as source:
        mutation.apply(source)
        code, words = run_tests(source, mutation.tests)
    found = re.search(r"^FAILED \S*?(\w+)(?:\[.*)?(?: - .*)?$", words, re.M)
    return Outcome(mutation, code, found.group(1) if found else "", time.monotonic() - start, words[-1500:])


def main() -> int:
    """Try faults and print a table."""
    parser = argparse.ArgumentParser(description="Faults that tests have to notice.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of them, by their names")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at once")
    asked = parser.parse_args()
    chosen = [one for one in MUTATIONS if asked.only is None or one.name in asked.only]
    if asked.only and (unknown := set(asked.only) - {one.name for one in chosen}):
        parser.error(f"there is no fault {sorted(unknown)[0]!r}")
    start = time.monotonic()
    code, words = run_tests(SOURCE, tuple(dict.fromkeys(test for one in chosen for test in one.tests)))
    if code != ALL_PASS:
        print(f"Tests fail without a fault, so nothing could be noticed.\n{words[-3000:]}")
        return 1
    print(f"Without a fault all of these tests pass ({time.monotonic() - start:.0f} s).\n", flush=True)
    print("| fault | where | | by | seconds |\n| --- | --- | --- | --- | --- |", flush=True)
    outcomes = []
    with ThreadPoolExecutor(max(1, asked.jobs)) as pool:
        for found in pool.map(tried, chosen):
            outcomes.append(found)
            one = found.mutation
            print(
                f"| {one.name} | `{one.module}` | {found.verdict} | {found.failed} | {found.seconds:.0f} |", flush=True
            )
    missed = [found for found in outcomes if found.code != SOME_FAIL]
    for found in missed:
        print(f"\n{found.mutation.name}: {found.verdict}\n{found.words}")
    print(f"\n{len(outcomes) - len(missed)} of {len(outcomes)} noticed in {time.monotonic() - start:.0f} s.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
