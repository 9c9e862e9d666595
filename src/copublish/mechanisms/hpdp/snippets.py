"""Ten lines of Python and of R that give a mean or a share with its error, filled in for one release."""

from __future__ import annotations

from copublish.mechanisms.base import Publication
from copublish.mechanisms.hpdp.coordinates import UNIT
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.publish import coordinates_of
from copublish.mechanisms.hpdp.words import details_of
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.reading.noisy import deviation_of, excess_of, quantile
from copublish.mechanisms.shared.snippets import Snippets, quoted, with_copublish

CENTERED = """\
import json

told = json.load(open("hpdp.json", encoding="utf-8"))  # in the release folder
sums, place = told["noisy_sums"], told["coordinates"].index({coordinate})
weight, n = sums["weights_of_coordinates"][place], {people}  # people, by the release
middle = sums["coordinates"][place] / {unit} / weight / n  # unbiased; -1/2 for the first value and 1/2 for the second
sd, n_sd = {deviation}, {n_deviation}  # standard deviations of noise: of a sum of weight 1, of the number of people
within = {factor} * ((sd / weight) ** 2 + (middle * n_sd) ** 2) ** 0.5 / n  # in 95 of 100 cases
print({what}, 0.5 + middle, "±", within)
"""

GROUP = """\
import json

told = json.load(open("hpdp.json", encoding="utf-8"))  # in the release folder
place = told["coordinates"].index({coordinate})
noisy, weight = next((s, w) for i, j, s, w in told["noisy_sums"]["products"] if i == j == place)
n, share = {people}, noisy / {unit} / weight / {people}  # people, by the release; unbiased
sd, n_sd = {deviation}, {n_deviation}  # standard deviations of noise: of a sum of weight 1, of the number of people
least = max(n - {factor} * n_sd, 1)  # people, at least
within = {factor} * ((sd / weight) ** 2 + (share * n_sd) ** 2) ** 0.5 / least  # in 95 of 100 cases
print({what}, share, "±", within)
"""

R = """\
noisy <- {noisy}; weight <- {weight}  # the noisy sum of {coordinate} in hpdp.json, and its weight
n <- {people}; sd <- {deviation}; n_sd <- {n_deviation}  # people, by the release; deviations of the noise
part <- noisy / {unit} / weight / n  # unbiased
within <- {factor} * sqrt((sd / weight)^2 + (part * n_sd)^2) / {divisor}  # the truth is this near in 95 of 100 cases
print(data.frame(value = {shift} + part, within = within))
"""


def snippets(publication: Publication) -> Snippets:
    """The lines about the first cell of a number; without numbers, about a category of two values or the class."""
    details = details_of(publication)
    coordinates = coordinates_of(details, details.public_columns.domains)
    (moments,) = publication.certificate.at(MOMENTS)
    deviation = deviation_of(moments.noise, points_per_person=UNIT**2)
    sums = details.noisy_sums
    people = sums.records[0] / UNIT**2 if sums.records else details.estimated_records
    filled = {
        "unit": UNIT**2,
        "factor": f"{quantile(CONFIDENCE, excess_of(moments.noise)):.3g}",
        "deviation": f"{deviation:.5g}",
        "people": f"{people:.8g}",
        "n_deviation": f"{deviation if sums.records else 0:.5g}",
    }
    if coordinates.centered and not coordinates.cells:
        place = next(iter(coordinates.centered.values()))
        filled |= {"noisy": sums.coordinates[place], "weight": sums.weights_of_coordinates[place]}
        filled |= {"shift": 0.5, "divisor": "n"}
        template = CENTERED
    else:
        counted = next(iter(coordinates.cells.values()), None) or coordinates.class_place
        place = counted.start
        noisy, weight = next((noisy, weight) for i, j, noisy, weight in sums.products if i == j == place)
        least = f"max(n - {filled['factor']} * n_sd, 1)"  # people, at least: a share's error grows with both
        filled |= {"noisy": noisy, "weight": weight, "shift": 0, "divisor": least}
        template = GROUP
    filled |= {"coordinate": quoted(details.coordinates[place])}
    filled |= {"what": quoted(f"share: {details.coordinates[place]}")}
    return Snippets(with_copublish(publication), template.format(**filled), R.format(**filled))
