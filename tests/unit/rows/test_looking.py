"""Columns that seem to identify people, by their names and by what is in them; and those that do not."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from copublish.rows.agreed_columns import column_types, offered_values
from copublish.rows.identifying_names import identifying_name
from copublish.rows.looking import look_at_columns

ROWS = 300
COINS = np.random.default_rng(7)
DAYS = pd.to_timedelta(COINS.integers(0, 25_000, ROWS), "D")
LETTERS = ["".join(COINS.choice(list("abcdefghij"), 9)) for _ in range(ROWS)]

BORN = pd.Series(pd.to_datetime("1930-01-01") + DAYS)
ADMITTED = pd.Series(pd.to_datetime("2019-01-01") + pd.to_timedelta(COINS.integers(0, 1500, ROWS), "D"))
AREAS = [f"SW{one}{letter} {one}{letter}B" for one in range(1, 10) for letter in "ABCDE"]

IDENTIFYING = pd.DataFrame(
    {
        "label": [f"{one} {other}" for one, other in zip(LETTERS, reversed(LETTERS), strict=True)],
        "write to": [f"{word}@mail.example" for word in LETTERS],
        "call at": [f"+49 171 {number}" for number in COINS.integers(10**6, 10**7, ROWS)],
        "or call": [f"(555) 123-{number}" for number in COINS.integers(1000, 9999, ROWS)],
        "pays from": [f"DE{number} 5001 0517 5407 3249 31" for number in COINS.integers(10, 99, ROWS)],
        "area": [f"{number:05}" for number in COINS.integers(1000, 99_999, ROWS)],
        "other area": COINS.choice(AREAS, ROWS),
        "first day": BORN,
        "first day as text": BORN.dt.strftime("%d.%m.%Y"),
        "row": range(1000, 1000 + ROWS),
        "birth_date": ADMITTED,
        "family_name": ["Miller", "Smith"] * (ROWS // 2),
    }
)
"""Twelve kinds of columns that have to be marked; the last two by their names alone."""

ORDINARY = pd.DataFrame(
    {
        "age": COINS.integers(0, 100, ROWS),
        "cost": COINS.integers(10_000, 99_999, ROWS),
        "income": COINS.normal(40_000, 9_000, ROWS).round(2),
        "region": COINS.choice(["north", "south", "east"], ROWS),
        "diagnosis": COINS.choice(["I10", "E11.9", "J45", "C34"], ROWS),
        "industry": [f"{number:04}" for number in COINS.choice([111, 2562, 8610, 9609], ROWS)],
        "admitted": ADMITTED,
        "year_of_birth": COINS.integers(1930, 2005, ROWS),
        "birth_weight": COINS.integers(900, 5200, ROWS),
        "drug_name": COINS.choice(["aspirin", "insulin"], ROWS),
        "has_email": COINS.choice([True, False], ROWS),
        "income with codes": [*COINS.normal(40_000, 9_000, ROWS - 20).round(2).astype(str), *["N"] * 20],
    }
)
"""Twelve kinds of columns that must not be marked."""


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "arrow"])
def test_columns_that_identify_people_are_marked_and_others_are_not(kind, tmp_path):
    frame = pd.concat([IDENTIFYING, ORDINARY], axis=1)
    sources = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}
    if kind in ("csv", "parquet"):
        source = tmp_path / f"people.{kind}"
        frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    else:
        source = sources[kind]
    seen = look_at_columns(source)
    assert set(seen.identifying) == set(IDENTIFYING)
    assert list(seen.types) == list(frame)
    reasons = {
        "label": "a text of its own",
        "write to": "e-mail",
        "call at": "phone",
        "or call": "phone",
        "pays from": "IBAN",
        "area": "postcodes",
        "other area": "postcodes",
        "first day": "dates of birth",
        "first day as text": "dates of birth",
        "row": "numbers the rows",
        "birth_date": "by its name it has dates of birth",
        "family_name": "by its name it has names",
    }
    assert {column: words in seen.identifying[column] for column, words in reasons.items()} == dict.fromkeys(
        reasons, True
    )


def test_what_is_said_of_a_column_repeats_no_value():
    said = repr(look_at_columns(IDENTIFYING)) + "".join(look_at_columns(IDENTIFYING).identifying.values())
    cells = {str(cell) for column in IDENTIFYING for cell in IDENTIFYING[column]}
    assert not [cell for cell in cells if len(cell) > 3 and cell in said]


OF_PEOPLE = """
name Name FIRST_NAME lastName patient_name Vorname Nachname prénom apellido cognome voornaam efternamn nazwisko
email e-mail E_Mail phone_number Telefon street Straße home_address indirizzo zip ZipCode plz code_postal dob
birthDate date_of_birth Geburtsdatum fecha_nacimiento date_de_naissance fødselsdato SSN iban passport_number
patient_id PatientID customer_number id uuid username __index_level_0__
"""


@pytest.mark.parametrize("column", OF_PEOPLE.split())
def test_names_in_several_languages_are_known(column):
    assert identifying_name(column)


OF_OTHER_THINGS = """
age cost region product_name drug_name hospital_name region_id product_id birth_weight births year_of_birth sex
stage smoker income visits streetwise mailing_list_size number amount nameless zipper country state
"""


@pytest.mark.parametrize("column", OF_OTHER_THINGS.split())
def test_names_of_other_things_are_not(column):
    assert identifying_name(column) is None


def test_few_rows_say_nothing_about_texts_of_their_own():
    assert look_at_columns(pd.DataFrame({"label": LETTERS[:19]})).identifying == {}
    assert look_at_columns(pd.DataFrame({"label": LETTERS[:20]})).identifying.keys() == {"label"}


def test_numbers_with_a_decimal_comma_are_numbers_and_named(tmp_path):
    numbers = [str(Decimal(number) / 100).replace(".", ",") for number in range(101, 160)]
    numbers[7] = "1.234,56"
    source = tmp_path / "numbers.csv"
    pd.DataFrame({"rent": numbers, "pair": ["a,b", *["c"] * 58]}).to_csv(source, index=False, sep=";")
    seen = look_at_columns(source)
    assert seen.decimal_commas == ["rent"]
    assert seen.types == {"rent": "number", "pair": "text"}
    assert seen.identifying == {}


def test_an_empty_file_and_columns_without_values_are_looked_at(tmp_path):
    (tmp_path / "empty.csv").write_text("age,name\n")
    assert look_at_columns(tmp_path / "empty.csv").identifying.keys() == {"name"}
    frame = pd.DataFrame({"a": pd.Series([None] * 30, dtype="string"), "b": [None] * 30})
    assert look_at_columns(frame).identifying == {}


STAGES = ["low", "middle", "high", "severe"]


@pytest.mark.parametrize("kind", ["parquet", "pandas", "polars", "arrow"])
def test_categories_of_frames_are_text_and_ordered_ones_are_offered_in_their_order(kind, tmp_path):
    frame = pd.DataFrame(
        {
            "stage": pd.Categorical(["high", "low", "middle"] * 30, categories=STAGES, ordered=True),
            "town": pd.Categorical(["b", "a", "c"] * 30, categories=["c", "b", "a"]),
            "code": pd.Categorical([3, 1, 2] * 30),
        }
    )
    source = {"pandas": frame, "arrow": pa.Table.from_pandas(frame)}.get(kind)
    if kind == "parquet":
        source = tmp_path / "people.parquet"
        frame.to_parquet(source)
    if kind == "polars":
        stages = pl.Series("stage", frame["stage"].astype(str).tolist(), dtype=pl.Enum(STAGES))
        others = [pl.Series(name, frame[name].astype(str).tolist(), dtype=pl.Categorical) for name in ("town", "code")]
        source = pl.DataFrame([stages, *others])
    assert column_types(source) == dict.fromkeys(frame, "text")
    offered = {
        name: [value.text for value in values] for name, values in offered_values(source, list(frame), at_most=9)
    }
    # 'severe' is declared and occurs nowhere, so nobody is asked to make it public.
    assert offered == {"stage": ["low", "middle", "high"], "town": ["a", "b", "c"], "code": ["1", "2", "3"]}
