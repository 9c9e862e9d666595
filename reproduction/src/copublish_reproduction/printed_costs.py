"""Costs that the five papers print, recomputed from their own formulas; nothing here is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

T1, T3 = 1.544e6, 35e6
"""Bits per second of the lines that DistDiffGen's paper names."""


@dataclass(frozen=True)
class DistDiffGenCosts:
    """Section 7.2 of DistDiffGen's paper: cost of selections and of counts, from the quantities that it names.

    Attributes:
        step_epsilon: epsilon' of a selection; the paper rounds 1/52 to 0.02.
        sum_of_scores: Bound on the sum of the candidates' scores.
        digits: l, the digits that scaling keeps.
        candidates: n, the largest number of candidates.
        rounds: h, the number of specializations.
        records: |D|.
        leaves: Number of counts; the paper takes 2^h.
        key_bits: K, the length of a key of the garbled circuit.
        item_bits: e, the length of an encrypted item.
        exponentiation_seconds: C_m, on a Pentium III.
        encryption_seconds: Encrypting |D| items, on a Xeon with 3 GHz.
    """

    step_epsilon: float = 0.02
    sum_of_scores: float = 30_162
    digits: int = 10
    candidates: int = 24
    rounds: int = 10
    records: int = 30_162
    leaves: int = 2**10
    key_bits: int = 128
    item_bits: int = 1024
    exponentiation_seconds: float = 0.02
    encryption_seconds: float = 19.5

    @property
    def weight_bits(self) -> int:
        """Length of a number in the comparison circuit, by the paper's last line."""
        return math.ceil(self.step_epsilon / (2 * math.log(2)) * self.sum_of_scores + 3.3219 * self.digits)

    @property
    def bound_bits(self) -> int:
        """Length that holds: n weights, each of a score that is at most the number of records."""
        largest = self.step_epsilon * self.records / (2 * math.log(2)) + self.digits * math.log2(10)
        return math.ceil(largest + math.log2(self.candidates))

    @property
    def gates(self) -> int:
        """Gates of two additions and one comparison."""
        return 9 * self.weight_bits - 3

    @property
    def selection_seconds(self) -> float:
        """Oblivious transfers of all comparisons."""
        return self.rounds * self.candidates * 2 * self.weight_bits * self.exponentiation_seconds

    @property
    def selection_bits(self) -> float:
        """Tables of all comparison circuits."""
        return self.rounds * self.candidates * 4 * self.key_bits * self.gates

    @property
    def counting_seconds(self) -> float:
        """Encryption of all scalar products, on one processor."""
        return self.leaves * self.encryption_seconds

    @property
    def counting_bits(self) -> float:
        """Traffic of all scalar products."""
        return float(self.leaves * self.item_bits * self.records)


PRINTED_SECTION_7_2 = DistDiffGenCosts()

Row = tuple[str, str, str]
"""What it is, as printed, as recomputed."""


def section_7_2() -> list[Row]:
    """Every number of DistDiffGen's section 7.2 beside the same formula computed anew."""
    costs = PRINTED_SECTION_7_2
    return [
        ("bits of a number in the circuit", "469", f"{costs.weight_bits}"),
        ("gates of a comparison", "4,218", f"{costs.gates:,}"),
        ("time of all comparisons", "about 75 minutes", f"{costs.selection_seconds / 60:.1f} minutes"),
        ("bits sent for all comparisons", "5.18e8", f"{costs.selection_bits:.3g}"),
        ("the same over a T1 line", "about 5.5 minutes", f"{costs.selection_bits / T1 / 60:.1f} minutes"),
        ("time of all counts", "about 5.5 hours", f"{costs.counting_seconds / 3600:.2f} hours"),
        ("the same with 10 processors", "33 minutes", f"{costs.counting_seconds / 600:.0f} minutes"),
        ("bits sent for all counts", "3.16e10", f"{costs.counting_bits:.3g}"),
        ("the same over a T1 line", "about 5.6 hours", f"{costs.counting_bits / T1 / 3600:.2f} hours"),
        ("the same over a T3 line", "15 minutes", f"{costs.counting_bits / T3 / 60:.1f} minutes"),
    ]


@dataclass(frozen=True)
class Complexity:
    """A complexity that a paper states, and its value in the paper's own setting.

    Attributes:
        paper: Which one.
        where: Its theorem or section.
        stated: As printed.
        value: The terms without their constants, in the setting.
        setting: Where the value is taken.
        remark: What is wrong with the statement, or empty.
    """

    paper: str
    where: str
    stated: str
    value: float
    setting: str
    remark: str = ""


def complexities() -> list[Complexity]:
    """Every complexity that the five papers state; iDP-IR states none but 'low computational cost'."""
    return [*_distdiffgen(), *_arbdistdp(), *_hpdp(), *_vhdp()]


def _distdiffgen() -> list[Complexity]:
    c = PRINTED_SECTION_7_2
    bits, setting = c.weight_bits, "n = 24, log C = 469, h = 10, \\|D\\| = 30,162, K = 128, e = 1,024"
    encryptions = float(c.candidates * bits)
    return [
        Complexity("DistDiffGen", "Prop. 5.3", "encryptions O(n log C)", encryptions, setting),
        Complexity("DistDiffGen", "Prop. 5.3", "bits O(n K log C)", encryptions * c.key_bits, setting),
        Complexity(
            "DistDiffGen",
            "Prop. 6.3",
            "encryptions O(h n log C + 2^h \\|D\\|)",
            c.rounds * encryptions + c.leaves * c.records,
            setting,
            "2^h leaves only if every split is binary and of another attribute",
        ),
        Complexity(
            "DistDiffGen",
            "Prop. 6.3",
            "bits O(h n K log C + 2^h e \\|D\\|)",
            c.rounds * encryptions * c.key_bits + c.counting_bits,
            setting,
            "the same",
        ),
    ]


def _arbdistdp() -> list[Complexity]:
    h, n, length, key, item = 10, 30_162, 16, 2048, 4096
    setting = "h = 10, n = 30,162; L = 16, K = 2,048 and e = 4,096 are ours, the paper has no values"
    return [
        Complexity(
            "ArbDistDP",
            "Theorem 3",
            "computation O(hnL^2 + hnK^2) + O(2^h n)",
            float(h * n * (length**2 + key**2) + 2**h * n),
            setting,
            "without the searches of line 4, one for each numerical attribute; 2^h as above",
        ),
        Complexity(
            "ArbDistDP",
            "Theorem 3",
            "communication O(hnL^2 + hnK) + O(2^h ne)",
            float(h * n * (length**2 + key) + 2**h * n * item),
            setting,
            "Algorithm 2's part is printed as O(m1 d^2) and summed as O(m1 L^2)",
        ),
    ]


def _hpdp() -> list[Complexity]:
    owners, p, n, k = 3, 52, 36_178, 26
    setting = "M = 3, p = 52, n = 36,178 (80 % of Adult); k = 26 is ours"
    return [
        Complexity(
            "HPDP-DP",
            "Section 4.2.2",
            "time O(Mp^2 + Mn)",
            float(owners * (p * p + n)),
            setting,
            "n is the sum of the n_m, so generating records is O(n) and not O(Mn); multiplying by U adds O(npk)",
        ),
        Complexity("HPDP-DP", "Section 4.2.2", "scatter matrices Mp^2", float(owners * p * p), setting),
        Complexity(
            "HPDP-DP",
            "Section 4.2.2",
            "components MpK^2",
            float(owners * p * k * k),
            setting,
            "K eigenvalues and K vectors of length p are K(p + 1) numbers for each owner",
        ),
        Complexity("HPDP-DP", "Section 4.2.2", "synthetic records np", float(n * p), setting),
    ]


def _vhdp() -> list[Complexity]:
    k, n, setting = 14, 30_162, "k = 14, n = 30,162"
    return [
        Complexity(
            "VHDP",
            "Section 4.5",
            "Algorithm 1: O(kn^2)",
            float(k * n * n),
            setting,
            "a bound; one pass over each attribute is enough (measured below)",
        ),
        Complexity("VHDP", "Section 4.5", "Algorithm 2: O(kn)", float(k * n), setting),
        Complexity("VHDP", "Section 4.5", "Algorithm 3: O(k)", float(k), setting, "without the scores of line 3"),
    ]


def growth(seconds_of: Callable[[int], float], sizes: tuple[int, int]) -> float:
    """Exponent with which a time grows between two sizes."""
    small, large = sizes
    return math.log(seconds_of(large) / seconds_of(small)) / math.log(large / small)
