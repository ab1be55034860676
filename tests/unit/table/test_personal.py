"""Personal data by names in four languages, and by values."""

import polars as pl
import pytest

from shoal.assessment.risks.patterns import (
    PATTERNS,
    find_pattern,
    is_card,
    is_iban,
    is_ip,
    is_phone,
)
from shoal.table.personal import KINDS, find_kind, simplify_name

NAMES = {
    "name": "name Name first_name lastName Vorname Nachname nom Prénom nombre Apellidos surname",
    "e-mail address": "email E-Mail mail_address courriel correo_electrónico",
    "telephone number": "phone phone_number Telefon Handynummer téléphone teléfono móvil",
    "postal address": "address street Straße Anschrift adresse rue dirección calle",
    "official number": "ssn passport_no Steuernummer Personalausweis passeport DNI cédula",
    "number of a person": "patient_id CustomerID Kundennummer numéro_patient número_de_cliente PID",
    "bank account": "iban account_number Kontonummer numéro_de_compte tarjeta",
    "internet address": "ip ip_address IP-Adresse adresse_ip mac_address",
    "age": "age Age Alter âge edad age_group",
    "sex": "sex gender Geschlecht sexe sexo género",
    "date or year of birth": "dob birth_date DOBYY Geburtsdatum date_de_naissance fecha_de_nacimiento",
    "postcode": "zip ZipCode postcode PLZ Postleitzahl code_postal código_postal",
    "place": "city Wohnort ville ciudad county Bundesland",
    "nationality or country": "native-country country nationality Staatsangehörigkeit pays país",
    "marital status": "marital_status Familienstand état_civil estado_civil marry",
    "education": "education education_num Schulabschluss niveau_d_études estudios",
    "occupation": "occupation job Beruf métier profesión work_class",
    "origin": "race RACEX ethnicity Herkunft etnia",
    "diagnosis or health": "diagnosis illness Diagnose Krankheit maladie enfermedad medication icd10",
    "income": "income salary salary-class Einkommen Gehalt salaire sueldo",
    "belief or orientation": "religion Konfession political_party sexual_orientation sindicato",
    "date of an event": "admission_date Aufnahmedatum date_d_admission fecha_de_ingreso timestamp",
    "amount of money": "cost price Kosten montant importe capital_gain",
    "survey weight": "final_weight fnlwgt",
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names.split()]
)
def test_columns_are_known_by_name(kind, name):
    found = find_kind(name)
    assert found is not None
    assert found.name == kind


@pytest.mark.parametrize(
    "name", ["sepal length (cm)", "x", "product_name", "petal", "temperature", "pressure_2"]
)
def test_other_columns_are_not(name):
    assert find_kind(name) is None


def test_names_are_simplified():
    assert simplify_name("Prénom_du Patient2") == "prenom du patient 2"
    assert simplify_name("firstName") == "first name"
    assert simplify_name("***") == ""


def test_every_kind_has_a_reason_and_every_pattern_a_kind():
    assert all(kind.why and kind.words for kind in KINDS)
    assert {each.kind for each in PATTERNS} <= {kind.name for kind in KINDS}


def test_checksums():
    assert is_iban("DE89 3704 0044 0532 0130 00")
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("DE89 3704 0044 0532 0130 01")
    assert not is_iban("DE89")
    assert is_card("4111 1111 1111 1111")
    assert is_card("378282246310005")
    assert not is_card("4111 1111 1111 1112")
    assert not is_card("0000000000000000")
    assert not is_card("1234")
    assert is_ip("192.168.0.1")
    assert is_ip("2001:db8::1")
    assert not is_ip("192.168.0.300")
    assert is_phone("+49 30 1234567")
    assert is_phone("(555) 123-4567".replace("555", "212"))
    assert is_phone("030/1234567")
    assert not is_phone("01/02/2024")
    assert not is_phone("12345")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["ada@example.org", "bob@example.com"], "e-mail address"),
        (["https://a.example", "www.b.example"], "web address"),
        (["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "bank account"),
        (["4111111111111111", "5500005555555559"], "bank account"),
        (["10.0.0.1", "10.0.0.2"], "internet address"),
        (["+44 20 7946 0000", "+33 1 23 45 67 89"], "telephone number"),
        (["078-05-1120", "219-09-9999"], "official number"),
        (["E11.9", "I10", "J45.0"], "diagnosis or health"),
        (["<=50K", ">50K"], "income"),
    ],
)
def test_values_reveal_what_they_are(values, kind):
    found = find_pattern(pl.Series(values), "string")
    assert found is not None
    assert found[1].name == kind


def test_some_strange_values_do_not_matter_and_few_fitting_ones_do_not_either():
    mostly = pl.Series([*(f"p{i}@example.org" for i in range(9)), "unknown"])
    assert find_pattern(mostly, "string") is not None
    assert find_pattern(pl.Series(["a@b.org", *(f"x{i}" for i in range(9))]), "string") is None
    assert find_pattern(pl.Series(["a@b.org"]), "string") is None
    assert find_pattern(pl.Series([], dtype=pl.String), "string") is None


def test_of_numbers_only_cards_are_told():
    assert find_pattern(pl.Series([4111111111111111, 5500005555555559]), "integer") is not None
    assert find_pattern(pl.Series([4111111111111112, 5500005555555551]), "integer") is None
    assert find_pattern(pl.Series([1.5, 2.5]), "float") is None
