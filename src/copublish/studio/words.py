"""Standard terms that pages cannot do without, each explained in a sentence for a reader who is no specialist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Term(NamedTuple):
    """A term as pages write it, by what it is found, and what it means."""

    name: str
    pattern: str
    meaning: str


TERMS = (
    Term(
        "add-remove, replace",
        r"add-remove|\(replace",
        "what may be different about one person: whether they are there, or which values they have",
    ),
    Term(
        "bounds, domains",
        r"\bdomains?\b",
        "the values that a column may have, fixed before anybody looks at data",
    ),
    Term(
        "cell",
        r"\bcells?\b",
        "one value of a column, an interval of numbers, or one combination of these; people are counted in cells",
    ),
    Term(
        "cluster",
        r"\bclusters?\b",
        "people who are near each other and get one published value",
    ),
    Term(
        "coins",
        r"\bcoins?\b",
        "randomness: the random numbers that a machine draws for noise and for masks, like many tosses of a coin",
    ),
    Term(
        "collude",
        r"\bcollu|\bcoalition",
        "to put together what each of several parties knows",
    ),
    Term(
        "compute node, share of an input",
        r"compute nodes?|one share of|\bnodes?\b",
        "a party that computes on shares, which are parts of a number that tell nothing one by one",
    ),
    Term(
        "coordinates, normal scores",
        r"coordinates?|normal scores",
        "numbers that stand for the values of a column, so that products of columns can be added up",
    ),
    Term(
        "disclosure",
        r"\bdisclosures?\b",
        "one thing that a run opens: a choice, or a table of noisy numbers",
    ),
    Term(
        "discrete Laplace, Gaussian",
        r"Laplace|Gaussian",
        "the two usual laws of noise",
    ),
    Term(
        "fragment",
        r"\bfragments?\b",
        "a party's own part of the table, which stays with it",
    ),
    Term(
        "grid",
        r"\bgrids?\b",
        "the agreed places at which a column of numbers may be cut",
    ),
    Term(
        "keyed commitment",
        r"keyed commitment",
        "a check number of a list, made with a secret key: it shows whether the list has changed, and not who is on it",
    ),
    Term(
        "label, class",
        r"\blabel\b|\bclass\b",
        "the column that is to be predicted from the others",
    ),
    Term(
        "leaf",
        r"\blea(f|ves)\b",
        "one combination of published values, like age 18 to 30 and region north; its people are counted",
    ),
    Term(
        "masks",
        r"\bmask",
        "random numbers that hide what an owner sends, and cancel when all of it is added up",
    ),
    Term(
        "max, tv-gain, balanced-gain",
        r"\b(tv|balanced)-gain\b|splits by",
        "rules by which splits are compared: the largest class, or how much better a split tells the classes "
        "apart; for balanced-gain rare classes weigh as much as frequent ones",
    ),
    Term(
        "P-256, BLAKE2b, SHA-256, Diffie-Hellman, lattices, oblivious transfer",
        r"P-256|BLAKE2b|SHA-256|Diffie|[Ll]attice|oblivious|CHEETAH|ABY3",
        "standard cryptography, which nobody is known to break",
    ),
    Term(
        "perturbed",
        r"\bperturbed\b",
        "changed at random, with noise",
    ),
    Term(
        "pseudonyms",
        r"\bpseudonyms?\b",
        "what identifiers become under a secret key, so that they can be compared and not read",
    ),
    Term(
        "rho",
        r"\brho\b",
        "another unit of privacy loss, in which several releases add up to less than in epsilon",
    ),
    Term(
        "sampler's part",
        r"sampler's part",
        "what is lost because a machine draws noise from finitely many random bits; far too little to matter",
    ),
    Term(
        "scale",
        r"\bscale\b",
        "the usual size of noise; in 95 of 100 cases it is within about three times as much",
    ),
    Term(
        "semi-honest",
        r"semi-honest",
        "running the agreed software, though curious about what it shows",
    ),
    Term(
        "split",
        r"\bsplits?\b",
        "the division of a published value into finer ones",
    ),
    Term(
        "steps in rounds, model",
        r"\brounds?\b|\bthe model\b",
        "what was not measured so far is estimated by a model, and each round measures what it gets most wrong",
    ),
)


def terms_in(texts: Iterable[str]) -> list[Term]:
    """The terms that some texts use."""
    text = "\n".join(texts)
    return [term for term in TERMS if re.search(term.pattern, text)]
