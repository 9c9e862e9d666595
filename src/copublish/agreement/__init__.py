"""Public configuration: the agreement and the domains in it. Nothing here sees data."""

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, NumericalDomain, Split
from copublish.agreement.loading import agreement_from_mapping, load_agreement
from copublish.agreement.model import Agreement

__all__ = [
    "Agreement",
    "CategoricalDomain",
    "CodeRange",
    "Domain",
    "NumericalDomain",
    "Split",
    "agreement_from_mapping",
    "load_agreement",
]
