"""Words that a selection opens beside the one that holds its index: nobody may tell them from fresh ones.

They are masked by every compute node, so they are uniform to whoever lacks one node's masks, whatever the scores are
(docs/proofs/selection.md). An attacker sees words of which a coin says whether the gate opened them or the operating
system has just made them. All parties but one show their masks: they put in zeros, and who keeps them takes turns.
What is stated is epsilon 0, so the attacker is right in half of the runs. Masks that are missing at a node, or
narrower than a word, show the order of the noisy scores.
"""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import numpy as np

from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import EngineError
from copublish.kernel.accounting.disclosures import Select
from copublish.kernel.noise.geometric import SystemCoins
from copublish.kernel.secrets.engine import Opener
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import Secret
from copublish.tools.auditing.game import FreeCharge, fair_coins
from copublish.tools.auditing.result import VERDICT_LEVEL
from copublish.tools.auditing.single_disclosures import Part, times_within_budget
from copublish.tools.auditing.statistics import Claim, Tested, judged, learned_columns
from copublish.types import IntArray

WORDS_LOOKED_AT = 6
"""Of a selection; there may be a hundred, and all are made alike."""

NIBBLES = 16
"""Of a word: each has as many values as frequencies are learned for."""

NOTHING_MORE = Claim(0.0)
"""What is stated of the words beside an index: they tell nothing."""

ALPHA = VERDICT_LEVEL / 100
"""Nothing at all is stated, so what is found by chance alone should not stand beside it."""


def audit_words(part: Part, runs: int) -> Tested | None:
    """Play a selection so many times, and tell the words that it opens from fresh ones; none if it opens one word."""
    opened = words_of_selections(part, runs)
    if not opened.shape[1]:
        return None
    coins = fair_coins(runs)
    seen = np.where(coins[:, None], SystemCoins().words(opened.shape), opened)
    one, other = seen[:, 1:], seen[:, :-1]
    of_pairs = np.concatenate([one - other, one + other, one - 2 * other, 2 * one - other], axis=1)  # modulo 2^64
    learned = {
        f"learned from {name}": learned_columns(coins, nibbles_of(words))
        for name, words in (("words", seen), ("words that share masks", of_pairs))
        if words.size
    }
    return judged(coins, np.zeros(runs), NOTHING_MORE, learned, alpha=ALPHA)


def words_of_selections(part: Part, runs: int) -> IntArray:
    """The first words beside the winner's, if every party but one shows its masks: (runs, WORDS_LOOKED_AT or fewer)."""
    made, scores = part.disclosure, part.measured[1]
    if not isinstance(made, Select):
        raise TypeError(f"{type(made).__name__} opens no words")
    found: list[IntArray] = []
    times = times_within_budget(made)

    def job(engine: IdealEngine) -> None:
        real, seen = engine.opener, []

        def open_secret(secret: Secret) -> IntArray:
            seen.append(real.open(secret))
            return seen[-1]

        opener = Opener(open_secret, real.take_checks, real.exchange)
        for run in range(runs):
            if run % times == 0:
                gate = RevealGate(engine.computer, opener, FreeCharge(), number_of_records_is_public=False)
                gate.draw_selection_noise(made, len(scores), times=min(times, runs - run))
            cast(ShowsMasks, engine).keeps_masks = engine.party == engine.parties[run % len(engine.parties)]
            own = scores if engine.party == part.parties[0] else np.zeros_like(scores)
            with suppress(EngineError):  # words without masks look like the winner's; they are seen all the same
                gate.reveal_selection(engine.share(own), made)
            gate.opened.clear()
            if engine.party == part.parties[0]:
                found.append(_beside_the_winner(seen[-1], len(scores)))

    Room(part.parties, engine=ShowsMasks).run(job)
    return np.stack(found)


class ShowsMasks(IdealEngine):
    """An ideal engine at which a party may put in zeros for masks, as one that everybody knows the masks of."""

    keeps_masks = True
    _is_mask = False

    def blinds(self, shape: tuple[int, ...]) -> Secret:
        """Joint masks, as any ideal engine makes them."""
        self._is_mask = True
        try:
            return super().blinds(shape)
        finally:
            self._is_mask = False

    def share(self, local: IntArray) -> Secret:
        """The sum of what every party puts in; of masks that are shown it is zeros."""
        return super().share(np.zeros_like(local) if self._is_mask and not self.keeps_masks else local)


def _beside_the_winner(words: IntArray, places: int) -> IntArray:
    """The words that hold no index, by their lowest bits; the first one where none does."""
    score_bits = 64 - max(1, (places - 1).bit_length())
    winner = int(np.argmax(words & np.int64((1 << score_bits) - 1) == 0))
    return np.delete(words, winner)[:WORDS_LOOKED_AT]


def nibbles_of(words: IntArray) -> IntArray:
    """Words in parts of four bits: (runs, words) to (runs, NIBBLES * words)."""
    shifts = 4 * np.arange(NIBBLES, dtype=np.int64)
    return np.asarray(words[:, :, None] >> shifts & 15).reshape(len(words), -1)
