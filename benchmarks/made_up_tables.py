"""Made-up tables whose numbers are like those of banks, shops and card issuers, for choosing and for measuring.

No real record is behind them. Each is drawn from correlated normal variables: balances that are heavy-tailed and may be
negative, amounts that are 0 for most people, durations, counts, bills of six months that follow each other, days and
months. The class is rare and depends on some columns, not always in a straight line. What was chosen on them is not
chosen on any table that the results are reported for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

MONTHS = {
    "jan": 3,
    "feb": 6,
    "mar": 1,
    "apr": 6,
    "may": 30,
    "jun": 12,
    "jul": 15,
    "aug": 14,
    "sep": 1.3,
    "oct": 1.6,
    "nov": 9,
    "dec": 0.5,
}
MONTHS_OF_VISITS = {
    "Feb": 2,
    "Mar": 15,
    "May": 27,
    "Jun": 2,
    "Jul": 4,
    "Aug": 4,
    "Sep": 4,
    "Oct": 4,
    "Nov": 24,
    "Dec": 14,
}
JOBS = {
    "blue-collar": 21,
    "management": 21,
    "technician": 17,
    "admin": 11,
    "services": 9,
    "retired": 5,
    "self-employed": 4,
    "entrepreneur": 3,
    "unemployed": 3,
    "housemaid": 3,
    "student": 2,
}
LATE = {"-2": 9, "-1": 19, "0": 50, "1": 12, "2": 9, "3": 1}
EDUCATION = {"primary": 15, "secondary": 51, "tertiary": 30, "unknown": 4}
SCHOOL = {"graduate": 35, "university": 47, "school": 16, "other": 2}
SPECIAL_DAYS = ([0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.9, 0.015, 0.02, 0.03, 0.025, 0.01])


@dataclass(frozen=True)
class MadeUp:
    """A table, and what a data dictionary would say of it.

    Attributes:
        table: The records.
        bounds: Public bounds of every number.
        decimals: With how many decimals each is written.
        label: The class, the last column.
    """

    table: pd.DataFrame
    bounds: dict[str, tuple[float, float]]
    decimals: dict[str, int]
    label: str

    @property
    def values(self) -> dict[str, list[str]]:
        """The values of every category."""
        return {name: sorted(self.table[name].unique()) for name in self.table.columns if name not in self.bounds}


class _Population:
    """People with hidden normal variables, of which columns are made."""

    def __init__(self, size: int, factors: int, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.size = size
        self.factors = self.generator.standard_normal((size, factors))

    def normal(self, weights: dict[int, float], noise: float = 1.0) -> np.ndarray:
        """A standard normal variable that goes with some of the factors."""
        found = noise * self.generator.standard_normal(self.size)
        for factor, weight in weights.items():
            found = found + weight * self.factors[:, factor]
        return found / np.sqrt(noise**2 + sum(weight**2 for weight in weights.values()))

    def category(self, shares: dict[str, float], behind: np.ndarray) -> np.ndarray:
        """Values in given shares; the variable behind them decides which, in the order that they are listed in."""
        cuts = np.cumsum(list(shares.values()))[:-1] / sum(shares.values())
        return np.array(list(shares))[np.searchsorted(cuts, ndtr(behind))]

    def label(self, scores: np.ndarray, share: float) -> np.ndarray:
        """Yes for a share of people, more often for those with large scores."""
        cut = np.quantile(scores, 1 - share)
        chances = 1 / (1 + np.exp(-2.5 * (scores - cut)))
        low, high = -5.0, 5.0
        for _ in range(40):  # so that the share is met
            middle = (low + high) / 2
            chances = 1 / (1 + np.exp(-2.5 * (scores - cut - middle)))
            low, high = (middle, high) if chances.mean() > share else (low, middle)
        return np.where(self.generator.random(self.size) < chances, "yes", "no")


def _codes(count: int, decay: float) -> dict[str, float]:
    return {str(i + 1): decay**i for i in range(count)}


def bank_customers(size: int = 45_000, seed: int = 1) -> MadeUp:
    """Customers who are called about a deposit: 12 % say yes."""
    people = _Population(size, 4, seed)
    age = np.clip(np.exp(3.67 + 0.26 * people.normal({0: 1.0}, 0.6)), 18, 95).round()
    wealth = people.normal({0: 0.4, 1: 1.0}, 1.2)
    balance = np.exp(6.2 + 1.45 * wealth) * 1.0
    balance = np.where(wealth < -1.35, -np.exp(5.0 + 1.3 * people.normal({})), balance)
    balance = np.where((wealth >= -1.35) & (wealth < -1.05), 0, balance)
    duration = np.exp(5.2 + 0.9 * people.normal({2: 1.0}, 0.8)).clip(0, 4900).round()
    campaign = (1 + people.generator.geometric(0.4, size) - 1 + (duration < 60) * 2).clip(1, 60)
    earlier = people.normal({3: 1.0}, 0.7)
    contacted = earlier > 0.9
    days_since = np.where(contacted, np.clip(200 + 110 * people.normal({}), 1, 870).round(), -1)
    previous = np.where(contacted, people.generator.geometric(0.35, size).clip(1, 50), 0)
    month = people.category(MONTHS, people.normal({3: 0.5, 1: -0.3}))
    outcome = np.where(
        contacted,
        np.where(earlier > 1.7, "success", people.category({"failure": 7, "other": 3}, people.normal({}))),
        "unknown",
    )
    job = people.category(JOBS, people.normal({1: 0.8}))
    job = np.where(age > 62, "retired", job)
    scores = (
        1.6 * people.factors[:, 2]
        + 0.5 * np.isin(month, ["mar", "sep", "oct", "dec"])
        + 2.0 * (outcome == "success")
        + 0.6 * (np.abs(age - 42) > 18)
        + 0.25 * wealth
        - 0.1 * campaign
    )
    table = pd.DataFrame(
        {
            "age": age,
            "job": job,
            "marital": people.category({"single": 28, "married": 60, "divorced": 12}, people.normal({0: 1.0})),
            "education": people.category(EDUCATION, people.normal({1: 0.7, 0: -0.3})),
            "balance": np.clip(balance, -8000, 102_000).round(),
            "housing": people.category({"no": 44, "yes": 56}, people.normal({0: -0.6})),
            "loan": people.category({"no": 84, "yes": 16}, people.normal({1: -0.5})),
            "contact": people.category({"cellular": 65, "telephone": 6, "unknown": 29}, people.normal({3: -0.8})),
            "day": people.generator.integers(1, 32, size),
            "month": month,
            "duration": duration,
            "campaign": campaign,
            "pdays": days_since,
            "previous": previous,
            "poutcome": outcome,
            "y": people.label(scores, 0.12),
        }
    )
    bounds = {
        "age": (18, 100),
        "balance": (-10_000, 110_000),
        "day": (1, 31),
        "duration": (0, 5000),
        "campaign": (1, 63),
        "pdays": (-1, 900),
        "previous": (0, 60),
    }
    return MadeUp(table, bounds, dict.fromkeys(bounds, 0), "y")


def shop_visits(size: int = 12_000, seed: int = 2) -> MadeUp:
    """Visits of a shop's pages: 15 % end with an order."""
    people = _Population(size, 4, seed)

    def zero_inflated(share: float, median: float, spread: float, behind: np.ndarray) -> np.ndarray:
        above = behind - np.quantile(behind, share)
        return np.where(above <= 0, 0.0, median * np.exp(spread * (people.normal({}) + above - 1)))

    stay = people.normal({0: 1.0}, 0.5)
    pages = np.exp(2.9 + 1.05 * stay).clip(1, 700).round()
    seconds = (pages * np.exp(3.5 + 0.7 * people.normal({}))).clip(0, 63_000)
    admin = zero_inflated(0.47, 3, 0.7, people.normal({0: 1.0})).clip(0, 27).round()
    info = zero_inflated(0.78, 1.5, 0.6, people.normal({0: 1.0})).clip(0, 24).round()
    exits = np.clip(0.04 * np.exp(-0.6 * stay + 0.5 * people.normal({})), 0, 0.2)
    bounces = np.where(
        people.generator.random(size) < 0.45, 0.0, np.clip(exits - 0.02 * people.generator.random(size), 0, 0.2)
    )
    value = zero_inflated(0.78, 14, 1.0, people.normal({1: 1.0}, 0.5)).clip(0, 360)
    month = people.category(MONTHS_OF_VISITS, people.normal({2: 1.0}))
    visitor = people.category({"returning": 85, "new": 14, "other": 1}, people.normal({2: 0.5}))
    scores = (
        2.2 * (value > 0)
        + 0.3 * np.log1p(value)
        + 0.3 * stay
        - 12 * exits
        + 0.5 * (month == "Nov")
        + 0.4 * (visitor == "new")
    )
    table = pd.DataFrame(
        {
            "admin": admin,
            "admin_seconds": np.where(admin > 0, (admin * np.exp(3.4 + people.normal({}))).clip(0, 3400), 0).round(1),
            "info": info,
            "info_seconds": np.where(info > 0, (info * np.exp(3.2 + 1.2 * people.normal({}))).clip(0, 2500), 0).round(
                1
            ),
            "pages": pages,
            "page_seconds": seconds.round(1),
            "bounces": bounces.round(4),
            "exits": exits.round(4),
            "page_value": value.round(2),
            "special_day": people.generator.choice(SPECIAL_DAYS[0], size, p=SPECIAL_DAYS[1]),
            "month": month,
            "system": people.category(_codes(8, 0.5), people.normal({3: 1.0})),
            "browser": people.category(_codes(10, 0.5), people.normal({3: 1.0})),
            "region": people.category(_codes(9, 0.75), people.normal({})),
            "traffic": people.category(_codes(12, 0.65), people.normal({2: 0.4})),
            "visitor": visitor,
            "weekend": people.category({"no": 77, "yes": 23}, people.normal({})),
            "order": people.label(scores, 0.15),
        }
    )
    bounds = {
        "admin": (0, 30),
        "admin_seconds": (0, 3600),
        "info": (0, 30),
        "info_seconds": (0, 3600),
        "pages": (0, 720),
        "page_seconds": (0, 64_800),
        "bounces": (0, 0.2),
        "exits": (0, 0.2),
        "page_value": (0, 400),
        "special_day": (0, 1),
    }
    decimals = {
        "admin": 0,
        "admin_seconds": 1,
        "info": 0,
        "info_seconds": 1,
        "pages": 0,
        "page_seconds": 1,
        "bounces": 4,
        "exits": 4,
        "page_value": 2,
        "special_day": 1,
    }
    return MadeUp(table, bounds, decimals, "order")


def card_holders(size: int = 30_000, seed: int = 3) -> MadeUp:
    """Card holders with bills and payments of six months: 22 % fail to pay the next one."""
    people = _Population(size, 3, seed)
    limit = np.clip(np.exp(11.7 + 0.9 * people.normal({0: 1.0})), 10_000, 800_000)
    use = ndtr(people.normal({1: 1.0, 0: -0.4}, 0.7))
    columns: dict[str, np.ndarray] = {
        "limit": (limit // 10_000 * 10_000),
        "sex": people.category({"m": 40, "f": 60}, people.normal({})),
        "education": people.category(SCHOOL, people.normal({0: -0.7})),
        "marriage": people.category({"married": 45, "single": 53, "other": 2}, people.normal({2: -0.9})),
        "age": np.clip(np.exp(3.53 + 0.25 * people.normal({2: 1.0}, 0.5)), 21, 79).round(),
    }
    late_behind = people.normal({1: 0.9}, 0.8)
    level = limit * use**1.5
    bills, payments = [], []
    for month in range(1, 7):
        columns[f"late_{month}"] = people.category(LATE, 0.85 * late_behind + 0.53 * people.normal({}))
        level = level * np.exp(0.22 * people.normal({}) - 0.05)
        bill = np.where(use < 0.09, 0, level)
        bill = np.where((use >= 0.09) & (use < 0.11), -level, bill)
        bills.append(bill.clip(-150_000, 900_000).round())
        paid = np.where(people.generator.random(size) < 0.18, 0, bill.clip(0) * np.exp(-2.6 + 1.2 * people.normal({})))
        payments.append((paid + np.where(paid > 0, 300 * people.generator.random(size), 0)).clip(0, 800_000).round())
    columns |= {f"bill_{i + 1}": bill for i, bill in enumerate(bills)}
    columns |= {f"paid_{i + 1}": paid for i, paid in enumerate(payments)}
    late_now = columns["late_1"]
    scores = (
        2.0 * np.isin(late_now, ["2", "3"])
        + 0.8 * (late_now == "1")
        + 0.5 * np.isin(columns["late_2"], ["2", "3"])
        - 0.3 * np.log1p(payments[0]) / 3
        - 0.4 * (np.log(limit) - 11.7)
    )
    columns["default"] = people.label(scores, 0.22)
    bounds: dict[str, tuple[float, float]] = {"limit": (0, 1_000_000), "age": (18, 100)}
    bounds |= {f"bill_{i + 1}": (-200_000, 1_000_000) for i in range(6)}
    bounds |= {f"paid_{i + 1}": (0, 1_000_000) for i in range(6)}
    return MadeUp(pd.DataFrame(columns), bounds, dict.fromkeys(bounds, 0), "default")


TABLES: dict[str, Callable[[], MadeUp]] = {"bank": bank_customers, "shop": shop_visits, "card": card_holders}
