"""The reveal gate: the only door out of a secret.

Every value that becomes known passes here: the gate charges the disclosure to this party's ledger, has the engine add
noise, and only then opens the sum. The list of a gate's disclosures is the whole privacy argument of a release, and
what the certificate states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.errors import EngineError, InvalidInputsError
from copublish.kernel.accounting.concentrated import Concentrated, ConcentratedMeasure, ConcentratedSelect, RhoFilter
from copublish.kernel.accounting.cost import NOTHING, Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Select
from copublish.kernel.noise.discrete_gaussian import BATCHES, DiscreteGaussian
from copublish.kernel.noise.geometric import COIN_BITS, Geometric
from copublish.kernel.programs.gaussian_noise import add_chosen_noise, gaussian_candidates
from copublish.kernel.programs.noise import (
    WORD_BITS,
    blinds_of,
    handicaps,
    measurement_fits,
    noisy_argmax,
    opened_index,
    selection_fits,
)
from copublish.kernel.programs.packing import add_drawn_noise, laplace
from copublish.kernel.secrets.computer import Computer, ProgramComputer, computer_as
from copublish.kernel.secrets.engine import Opener
from copublish.kernel.secrets.own_columns import OwnColumns, join_columns
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.types import IntArray

NO_PLACES = np.zeros(0, dtype=np.int64)


class Charge(Protocol):
    """A reserved part of a budget that pays for disclosures. A ledger makes one; audits bring one that is free."""

    def disclose(self, label: str, price: Callable[[], Cost]) -> None:
        """Write that a value is about to be opened, and its price, to stable storage.

        Privacy:
            The gate opens a value only after this has returned. An error means that nothing may be opened.
        """
        ...


class Gate(Protocol):
    """The only way to open a secret, as mechanisms see it. `RevealGate` is the gate of a release."""

    @property
    def opened(self) -> list[tuple[Disclosure, IntArray]]:
        """Every disclosure so far with the values that became known."""
        ...

    def reveal_selection(self, secret_scores: Secret, disclosure: Select, *, ahead: int = 1) -> int:
        """Open the index of the noisy maximum of integer scores.

        Privacy:
            See `RevealGate.reveal_selection`. The same holds for the other methods.
        """
        ...

    def draw_selection_noise(self, disclosure: Select, places: int, *, times: int) -> None:
        """Draw the noise of selections to come in one computation.

        Privacy:
            See `RevealGate.draw_selection_noise`.
        """
        ...

    def reveal_measurement(self, counts: SecretCounts, disclosure: Measure) -> IntArray:
        """Open counts or sums plus discrete Laplace noise.

        Privacy:
            See `RevealGate.reveal_measurement`.
        """
        ...

    def draw_measurement_noise(self, disclosure: Measure) -> None:
        """Begin to draw the noise of a measurement.

        Privacy:
            See `RevealGate.draw_measurement_noise`.
        """
        ...

    def reveal_gaussian_measurement(self, sums: Secret, disclosure: GaussianMeasure, *, ahead: int = 0) -> IntArray:
        """Open sums plus discrete Gaussian noise.

        Privacy:
            See `RevealGate.reveal_gaussian_measurement`.
        """
        ...

    def reveal_columns(self, own: OwnColumns, disclosures: Sequence[Disclosure]) -> dict[str, IntArray]:
        """Publish columns that each owner has perturbed with noise of its own.

        Privacy:
            See `RevealGate.reveal_columns`.
        """
        ...


@dataclass
class RevealGate:
    """Opens secrets at one party, each against a reserved charge.

    Attributes:
        computer: Computes on secrets.
        opener: Opens them.
        charge: Is asked before anything is opened.
        number_of_records_is_public: Decides which neighbors a price is for.
        opened: Every disclosure so far with the values that became known: this party's whole view of others. Which
            candidates for Gaussian noise were kept is the one thing more, and depends on no data.
    """

    computer: Computer
    opener: Opener
    charge: Charge
    number_of_records_is_public: bool
    opened: list[tuple[Disclosure, IntArray]] = field(default_factory=list)
    _drawn: dict[tuple[Fraction, int], list[Secret]] = field(default_factory=dict, repr=False)
    """Noise for selections that are still to come, by its rate and the number of places."""
    _laplace: dict[tuple[Geometric, int], Secret] = field(default_factory=dict, repr=False)
    """Noise for measurements that are still to come, by its law and the number of cells."""
    _candidates: dict[DiscreteGaussian, tuple[list[Secret], IntArray]] = field(default_factory=dict, repr=False)
    """Gaussian noise for measurements that are still to come: candidates' values, and places that nothing has used."""
    _filters: dict[Concentrated, RhoFilter] = field(default_factory=dict, repr=False)
    """What was spent of each budget of zero-concentrated differential privacy."""

    def reveal_selection(self, secret_scores: Secret, disclosure: Select, *, ahead: int = 1) -> int:
        """Open the index of the noisy maximum of integer scores.

        Args:
            secret_scores: The scores, shape (n_places,).
            disclosure: What it costs.
            ahead: For how many selections like this one noise is drawn, if none is left.

        Privacy:
            Protects: one person, under the relation the disclosure is calibrated to.
            Guarantee: see `Select`.
            Assumes: scores are integers whose range is at most `disclosure.score_range`; places after the last
                candidate hold a score that no noise lifts to a candidate's.
            Reveals: the index, to all parties, among words that are uniform whatever the data. No score, no noise and
                no comparison is opened.
        """
        noise, places = disclosure.noise, secret_scores.shape[0]
        largest_score = MAX_RECORDS * disclosure.points_per_person
        if places < disclosure.candidates or not selection_fits(places, largest_score, noise.bits):
            raise EngineError("A selection does not fit its disclosure or the engine's integers. Not opened.")
        if not self._drawn.get((noise.rate, places)):
            self.draw_selection_noise(disclosure, places, times=max(1, ahead))
        handicap = self._drawn[noise.rate, places].pop(0)  # noise is used once
        computer = computer_as(ProgramComputer, self.computer)
        secret_words = computer.compute(noisy_argmax, secret_scores, handicap, computer.blinds((blinds_of(places),)))
        index = opened_index(self._charge_then_open(secret_words, disclosure), places)
        if index is None:
            raise EngineError(
                "Two words of a selection look like the winner's, by chance. Nothing is published. Run again."
            )
        self.opened.append((disclosure, np.array([index])))
        if index >= disclosure.candidates:
            raise EngineError(
                "A place without a candidate won a selection, so some party put in scores that no data have. Nothing "
                "is published. What was reserved stays reserved."
            )
        return index

    def draw_selection_noise(self, disclosure: Select, places: int, *, times: int) -> None:
        """Draw the noise of selections to come in one computation; distant parties wait for messages, not for noise.

        Privacy:
            Reveals: nothing. The noise stays secret, and each selection takes a part of it that no other one gets.
        """
        noise, computer = disclosure.noise, computer_as(ProgramComputer, self.computer)
        words = [computer.coins(noise.coin_shape(places)) for _ in range(times)]
        drawn = computer.compute(handicaps, *words, planes=noise.threshold_planes, places=places)
        self._drawn.setdefault((noise.rate, places), []).extend(computer.rows(drawn))

    def reveal_measurement(self, counts: SecretCounts, disclosure: Measure) -> IntArray:
        """Open counts or sums plus discrete Laplace noise, one for each cell in agreed order.

        Privacy:
            Protects: one person, under the relation the disclosure is calibrated to.
            Guarantee: see `Measure`.
            Assumes: one person changes the counts by at most `disclosure.l1_sensitivity` in L1.
            Reveals: the noisy counts, to all parties; how many there are is public.
        """
        noise = disclosure.noise
        largest = MAX_RECORDS * disclosure.points_per_person * disclosure.largest_weight
        fits = measurement_fits(counts.n_cells, largest, noise.bits) and noise.bits + 1 < counts.packing.lane_bits
        if counts.n_cells != disclosure.entries or not fits:
            raise EngineError("A measurement does not fit its disclosure or the engine's integers. Not opened.")
        offset = 2**noise.bits  # so that a packed count, of which noise has fewer bits, does not become negative
        # Taken out of the gate for good: noise is used once.
        drawn = self._laplace.pop((noise, counts.n_cells), None) if isinstance(noise, Geometric) else None
        if drawn is None:
            secret_noisy = self.computer.add_noise(counts, noise, offset=offset)
        else:
            public = {"packing": counts.packing, "cell_at": counts.cell_at, "offset": offset}
            computer = computer_as(ProgramComputer, self.computer)
            secret_noisy = computer.compute(add_drawn_noise, counts.secret, drawn, **public)
        opened = self._charge_then_open(secret_noisy, disclosure)
        noisy: IntArray = counts.in_order(opened) - offset
        self.opened.append((disclosure, noisy))
        return noisy

    def draw_measurement_noise(self, disclosure: Measure) -> None:
        """Begin to draw the noise of a measurement, while what is measured is still being counted.

        Does nothing where the owners of data draw it in shares.

        Privacy:
            Reveals: nothing. The noise stays secret, no data touch it, and one measurement gets it.
        """
        noise, n = disclosure.noise, disclosure.entries
        if isinstance(noise, Geometric):
            computer = computer_as(ProgramComputer, self.computer)
            words = computer.coins(noise.coin_shape(2 * n))
            (drawn,) = computer.rows(computer.compute(laplace, words, planes=noise.threshold_planes, n=n))
            self._laplace[noise, n] = drawn

    def reveal_gaussian_measurement(self, sums: Secret, disclosure: GaussianMeasure, *, ahead: int = 0) -> IntArray:
        """Open sums plus discrete Gaussian noise: shape (n, 1) to (n,).

        Args:
            sums: The sums.
            disclosure: What they cost.
            ahead: For how many sums with this noise it is drawn at least, if too little is left for these. Distant
                parties wait for messages, not for noise.

        Privacy:
            Protects: one person, under the relation the disclosure is calibrated to.
            Guarantee: see `GaussianMeasure`.
            Assumes: one person changes the sums by at most `disclosure.squared_l2_sensitivity`, squared, in L2.
            Reveals: the noisy sums, to all parties; before that, which candidates for noise are kept.
        """
        largest = MAX_RECORDS * disclosure.points_per_person * disclosure.largest_weight
        fits = measurement_fits(disclosure.entries, largest, disclosure.noise.bits)
        if sums.shape != (disclosure.entries, 1) or not fits:
            raise EngineError("A measurement does not fit its disclosure or the engine's integers. Not opened.")
        if ahead and not isinstance(disclosure, ConcentratedMeasure):
            raise EngineError("Only a shared budget counts noise that is drawn ahead. Not opened.")
        values, chosen = self._take_gaussian(disclosure.noise, disclosure.entries, ahead)
        secret_noisy = computer_as(ProgramComputer, self.computer).compute(
            add_chosen_noise, sums, *values, chosen=chosen
        )
        noisy = self._charge_then_open(secret_noisy, disclosure).reshape(-1)
        self.opened.append((disclosure, noisy))
        return noisy

    def _take_gaussian(self, noise: DiscreteGaussian, entries: int, ahead: int) -> tuple[list[Secret], IntArray]:
        """Candidates' values, and the places of kept ones that nothing has used yet.

        Privacy:
            Reveals: nothing beyond what `_draw_gaussian` does. A place is handed out once, and its value is independent
            of all that was opened before, so it does not matter when it was drawn.
        """
        values, places = self._candidates.get(noise, ([], NO_PLACES))
        if len(places) < entries:  # what is left over is never used
            values, places = self._draw_gaussian(noise, max(entries, ahead))
        self._candidates[noise] = values, places[entries:]
        return values, places[:entries]

    def _draw_gaussian(self, noise: DiscreteGaussian, entries: int) -> tuple[list[Secret], IntArray]:
        """Draw candidates until enough of them are kept; return their values, and the places of the kept ones.

        Privacy:
            Reveals: which candidates are kept, to all parties. That depends on coins alone, and a kept candidate has
            the same law whatever becomes of the others, so nothing is learned of any data or of the noise in use.
        """
        computer = computer_as(ProgramComputer, self.computer)
        values: list[Secret] = []
        kept: list[IntArray] = []
        for _ in range(BATCHES):
            n_words = noise.candidates(entries) // WORD_BITS
            secret_kept, secret_values = computer.rows(
                computer.compute(
                    gaussian_candidates,
                    computer.coins((COIN_BITS, noise.bits, n_words)),
                    computer.coins((COIN_BITS, noise.square_bits, n_words)),
                    computer.coins((n_words,)),
                    size_planes=noise.sizes.threshold_planes,
                    pass_planes=noise.threshold_planes,
                    center=noise.center,
                )
            )
            values.append(secret_values)
            # Opens one bit for each candidate, to all parties: a function of coins that no data touch; costs nothing.
            kept.append(self.opener.open(secret_kept))
            places = np.flatnonzero(np.concatenate(kept)).astype(np.int64)
            if len(places) >= entries:
                return values, places
        raise EngineError("Far fewer candidates for noise were kept than chance allows. Nothing was opened. Run again.")

    def reveal_columns(self, own: OwnColumns, disclosures: Sequence[Disclosure]) -> dict[str, IntArray]:
        """Publish columns of records that each owner has perturbed with noise of its own.

        Args:
            own: This party's perturbed columns.
            disclosures: One for each column of the table, in its order. All of them are charged at every party: the
                cells are one person's, whoever holds them.

        Privacy:
            Protects: the values of one person's cells, under the relation the disclosures are calibrated to.
            Guarantee: that of each column's disclosure; they add up.
            Assumes: own.values are outputs of the laws that the disclosures state. An owner knows the noise of its own
                columns, as it knows the columns; nobody else does.
            Reveals: all perturbed columns, to all parties, record by record.
        """
        if len(disclosures) != len(own.n_values):
            raise EngineError("Columns do not fit their disclosures. Not opened.")
        self._refuse_invalid_inputs()
        for disclosure in disclosures:
            self._charge(disclosure)
        joined = join_columns(own, self.computer.party, self.opener.exchange)
        self.opened.extend(zip(disclosures, joined.values(), strict=True))
        return joined

    def _charge_then_open(self, secret_noisy: Secret, disclosure: Disclosure) -> IntArray:
        self._refuse_invalid_inputs()
        self._charge(disclosure)
        return self.opener.open(secret_noisy)

    def _refuse_invalid_inputs(self) -> None:
        """End the run before anything is opened if a party's inputs are not what they should be.

        Privacy:
            Reveals: nothing about data, see `Opener.take_checks`.

        Raises:
            InvalidInputsError: Naming that party, at all of them.
        """
        if (checks := self.opener.take_checks()) is None:
            return
        # Opens one number for each party, to all: 0 for whoever follows the protocol; costs nothing.
        for party, wrong in zip(self.computer.parties, self.opener.open(checks), strict=True):
            if wrong:
                raise InvalidInputsError(party)

    def _charge(self, disclosure: Disclosure) -> None:
        def price() -> Cost:
            return cost_of([disclosure], number_of_records_is_public=self.number_of_records_is_public)

        if not isinstance(disclosure, ConcentratedSelect | ConcentratedMeasure):
            self.charge.disclose(disclosure.label, price)  # on disk before anything is known
            return
        charged = self._filters.get(disclosure.whole)
        spent = charged or RhoFilter(disclosure.whole)
        spent.let_pass(disclosure)
        # The whole budget is charged with its first part.
        self.charge.disclose(disclosure.label, (lambda: NOTHING) if charged else price)
        self._filters[disclosure.whole] = spent  # only now: what a ledger refused has not been charged
