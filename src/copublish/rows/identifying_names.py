"""Names of columns that usually hold direct identifiers: names, addresses, birth dates and numbers of people.

Words are those of data files in several European languages, without accents and signs between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")
"""How pandas calls the index of a frame in a file."""

COLUMNS_OF: Mapping[str, frozenset[str]] = {
    what: frozenset(words.split())
    for what, words in {
        "names of people": """
            surname lastname firstname forename fullname givenname familyname maidenname middlename nickname
            vorname nachname familienname geburtsname prenom nomdefamille apellido apellidos cognome sobrenome apelido
            voornaam achternaam fornamn efternamn fornavn etternavn efternavn imie nazwisko etunimi sukunimi
        """,
        "e-mail addresses": "email emails mail emailaddress courriel correo epost sahkoposti",
        "phone numbers": """
            phone phonenumber telephone telefon telefonnummer telefono telefone tel cellphone mobilephone mobilenumber
            mobilnummer handynummer fax faxnumber puhelin puhelinnumero
        """,
        "addresses": """
            address addr street streetname housenumber strasse hausnummer anschrift adresse adress adres direccion
            domicilio indirizzo endereco rue calle osoite ipaddress
        """,
        "postcodes": """
            zip zipcode postcode postalcode plz postleitzahl codepostal codigopostal postnummer postnr kodpocztowy
            postinumero pincode eircode
        """,
        "dates of birth": """
            dob birthdate birthday birthdt dateofbirth geburtsdatum geburtstag gebdat datenaissance datedenaissance
            fechanacimiento fechadenacimiento datanascita datadinascita datanascimento datadenascimento geboortedatum
            fodelsedatum fodselsdato syntymaaika dataurodzenia
        """,
        "numbers of people": """
            ssn socialsecurity socialsecuritynumber iban passport passportnumber passnummer ausweisnummer nhsnumber
            insee dni nif codicefiscale cpf bsn pesel personnummer personalnummer fodselsnummer hetu svnr
            sozialversicherungsnummer versichertennummer taxid steuerid steuernummer mrn medicalrecordnumber
            kundennummer kontonummer accountnumber creditcard cardnumber kreditkarte kennzeichen licenseplate
            numberplate username login userid uuid guid
        """,
    }.items()
}

WHOLE: Mapping[str, frozenset[str]] = {
    "names of people": frozenset({"name", "names", "nom", "nombre", "nome", "naam", "namn", "navn", "nimi"}),
    "dates of birth": frozenset({"born", "birth", "naissance", "nacimiento", "nascita"}),
    "numbers of people": frozenset({"id"}),
}
"""Words that say it only if nothing but people stands beside them: a drug has a name, too."""

WORDS_FOR_PEOPLE = """
    patient patients person people customer client member user employee student subject participant citizen insured
    mother father parent spouse child contact holder owner kunde patientin versicherter cliente paciente usuario persona
"""

PEOPLE = frozenset(WORDS_FOR_PEOPLE.split())

NUMBERS = frozenset({"id", "ids", "number", "no", "nr", "num", "nummer", "numero", "key"})


def identifying_name(column: str) -> str | None:
    """Why a column seems to identify people, by its name; nothing if the name does not say so."""
    if INDEX.fullmatch(column):
        return "pandas wrote its index into the file under this name"
    words = _words(column)
    together = {"".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
    rest = [word for word in words if word not in PEOPLE]
    for what, known in COLUMNS_OF.items():
        is_whole = len(rest) == 1 and rest[0] in WHOLE.get(what, ())
        is_number = what == "numbers of people" and 0 < len(rest) < len(words) and set(rest) <= NUMBERS
        if known & together or is_whole or is_number:
            return f"by its name it has {what}"
    return None


def _words(column: str) -> list[str]:
    """The words of a name, in small letters and without accents."""
    divided = re.sub(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])", " ", column)
    folded = unicodedata.normalize("NFKD", divided.casefold().replace("ø", "o").replace("ł", "l"))
    return re.findall(r"[a-z]+|\d+", "".join(c for c in folded if not unicodedata.combining(c)))
