"""Personal data by the name of a column: words in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Role = Literal["quasi", "sensitive", "identifier", "plain", "person"]

# Between the words of camelCase, before the last capital of an acronym, and before digits.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])")


@dataclass(frozen=True, slots=True)
class PersonalDataKind:
    """A kind of personal data."""

    name: str
    role: Role
    why: str
    """Why columns of this kind have that role."""
    words: str
    """What their names are made of: a pattern for a name in lower case, words divided by one space."""
    safe_harbor: str = ""
    """What HIPAA's Safe Harbor list calls it; empty if it is not on the list."""
    category: bool = False
    """Whether numbers in such a column are codes of categories."""
    generic: bool = False
    """Whether the name says so little that the values have to agree."""


def simplify_name(name: str) -> str:
    """A column name in lower case without accents, words divided by one space."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name)).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", " ", plain.lower()).strip()


def find_kind(name: str) -> PersonalDataKind | None:
    """The kind of personal data that the name of a column announces, if any."""
    # ß has no accent to take off, and would be dropped as not ASCII.
    text = simplify_name(name.replace("ß", "ss"))
    return next((kind for kind in KINDS if re.search(rf"\b(?:{kind.words})\b", text)), None)


PERSON_NUMBERS = ("number of a person", "official number", "user name", "number")
"""Kinds of columns that may say whose row it is."""


def may_name_person(name: str, kind: str) -> bool:
    """Whether a column has numbers of people; a number with another word, such as hospital_id, has not."""
    return kind in PERSON_NUMBERS and (kind != "number" or " " not in simplify_name(name))


def announces_person(name: str) -> bool:
    """Whether the name of a column alone says that it has numbers of people."""
    kind = find_kind(name)
    return kind is not None and may_name_person(name, kind.name)


# The first that fits counts, so what is more special stands before what is more general. Of each kind the
# words of English, then German, French and Spanish.
KINDS: tuple[PersonalDataKind, ...] = (
    PersonalDataKind(
        "e-mail address",
        "identifier",
        "it reaches one person",
        r"e ?mails?|mail address|mailadresse|courriel|correo(?: electronico)?",
        "e-mail addresses",
    ),
    PersonalDataKind(
        "internet address",
        "identifier",
        "it leads to one connection or device",
        r"ip(?: ?v?[46])?|ip addr(?:ess)?|mac(?: address)?|ip adresse|adresse ip|direccion ip|device id"
        r"|imei|cookie(?: id)?",
        "device identifiers and IP addresses",
    ),
    PersonalDataKind(
        "web address", "identifier", "it may lead to one person", r"url|website|homepage|web page", "URLs"
    ),
    PersonalDataKind(
        "telephone number",
        "identifier",
        "it reaches one person",
        r"(?:tele)?phone(?: ?(?:no|nr|number))?|phones?|mobile(?: (?:no|number))?|cell ?phone"
        r"|fax(?: number)?|tel|telefon(?:nummer|nr)?|handy(?:nummer|nr)?|mobil(?:nummer|telefon)?|telefax"
        r"|rufnummer|portable|telecopie|telefono|movil|celular",
        "telephone and fax numbers",
    ),
    PersonalDataKind(
        "bank account",
        "identifier",
        "it belongs to one person",
        r"iban|bic|account (?:no|nr|num|number|id)|bank account|konto(?:nummer|nr)?|kreditkarten?(?:nummer"
        r"|nr)?|(?:credit|debit) card(?: (?:no|number))?|card (?:no|number)|numero de compte"
        r"|compte bancaire|carte (?:bancaire|de credit)|cuenta(?: bancaria)?|numero de cuenta"
        r"|tarjeta(?: de credito)?",
        "account numbers",
    ),
    PersonalDataKind(
        "official number",
        "identifier",
        "an office gave it to one person",
        r"ssn|social security(?: (?:no|number))?|national id|passport(?: (?:no|number))?|tax id|nhs (?:no"
        r"|number)|driver s? ?licen[cs]e|licen[cs]e (?:no|number|plate)|medicare(?: (?:no|number))?"
        r"|sozialversicherungs ?(?:nummer|nr)|svnr|(?:kranken)?versicherten ?(?:nummer|nr)"
        r"|versicherungs ?(?:nummer|nr)|steuer ?(?:nummer|nr|id)|ausweis ?(?:nummer|nr)?|personalausweis"
        r"|reisepass(?:nummer)?|fuhrerschein|kennzeichen|numero (?:de )?(?:securite sociale|secu)|nir"
        r"|passeport|permis de conduire|plaque|dni|nie|nif|curp|rfc|cedula|pasaporte"
        r"|numero de (?:la )?seguridad social|nss|matricula",
        "Social Security, licence, plate and certificate numbers",
    ),
    PersonalDataKind(
        "number of a person",
        "identifier",
        "it points at one person",
        r"(?:patient|person|client|customer|member|user|subject|participant|employee|student|respondent"
        r"|case|record|medical record|mrn|health plan|beneficiary|policy|donor|contact|citizen)s? ?(?:id"
        r"|ids|no|nr|num|number|key|code|uuid|identifier)|mrn|pid|uid|uuid|guid|du ?pers ?id|persid"
        r"|pseudonym|(?:patienten?|personen?|kunden|mitglieds?|mitarbeiter|personal|probanden|teilnehmer"
        r"|matrikel|fall) ?(?:id|nr|nummer)|(?:numero|num|no|n|id|identifiant|code) (?:de |du "
        r"|d )?(?:la )?(?:patient|client|dossier|personne|assure|adherent|employe|paciente|cliente"
        r"|expediente|persona|empleado|socio|afiliado|historia clinica)|id ?(?:paciente|cliente|persona"
        r"|usuario)|matricule|identifiant(?: patient)?|expediente",
        "medical record and health plan beneficiary numbers",
    ),
    PersonalDataKind(
        "user name",
        "identifier",
        "a person goes by it",
        r"user ?name|login|nick ?name|screen ?name|benutzername|nom d utilisateur|pseudo|usuario|twitter"
        r"|facebook|instagram",
        "any other unique identifying number, characteristic or code",
    ),
    PersonalDataKind(
        "employer",
        "quasi",
        "colleagues and public profiles tell it",
        r"employer|company(?: name)?|firm|arbeitgeber|firma|unternehmen|employeur|entreprise|empleador"
        r"|empresa",
        category=True,
    ),
    PersonalDataKind(
        "name",
        "identifier",
        "it names the person",
        r"(?:full|first|last|middle|given|family|maiden|birth|patient|person|customer|client|employee"
        r"|student|contact|member|doctor|physician|mother s?|father s?) ?names?|^names?|surname|forename"
        r"|initials|vor ?und ?nachname|vorname|nachname|familienname|geburtsname|zuname|rufname|^nom"
        r"|nom (?:de famille|du patient|complet|de naissance)|prenoms?|^nombres?|nombre (?:completo"
        r"|del paciente|de pila)|apellidos?",
        "names",
    ),
    PersonalDataKind(
        # After e-mail and internet addresses, which end with the same word.
        "postal address",
        "identifier",
        "few people live there",
        r"(?:street|home|mailing|postal|house)? ?address(?: line)?|street(?: (?:name|no|number))?"
        r"|house (?:no|number)|adresse|anschrift|strasse|str|hausnummer|hausnr|rue|voie|calle|direccion"
        r"|domicilio",
        "geographic subdivisions smaller than a state",
    ),
    PersonalDataKind(
        "place on the map",
        "quasi",
        "it is where somebody lives or was",
        r"lat|latitude|lon|lng|long|longitude|gps|geo(?: ?(?:point|code|hash))?|coord(?:inate)?s?"
        r"|breitengrad|langengrad|koordinaten?|coordonnees|latitud|longitud|coordenadas",
        "geographic subdivisions smaller than a state",
    ),
    PersonalDataKind(
        "postcode",
        "quasi",
        "address books list it, and some areas are small",
        r"zip(?: ?codes?)?|post(?:al)? ?codes?|plz|postleitzahl|code postal|cp|codigo postal|cod postal",
        "geographic subdivisions smaller than a state",
    ),
    PersonalDataKind(
        "date or year of birth",
        "quasi",
        "registers, family and friends know it",
        r"dob(?: ?(?:mm|yy|dd|m|y|d))?|birth ?(?:dates?|days?|years?|months?)?|date of birth|year of birth"
        r"|yob|born|geburts(?:datum|jahr|tag|monat)|geb(?: ?(?:datum|jahr))|geboren|(?:date|annee"
        r"|mois) de naissance|naissance|ne le|(?:fecha|ano|mes) de nacimiento|nacimiento",
        "all elements of dates (except year)",
    ),
    PersonalDataKind(
        "age",
        "quasi",
        "everybody around the person knows it",
        r"ages?|age ?(?:years|group|band|range)|alter(?:sgruppe)?|lebensalter|age en annees|edad",
        "ages over 89",
    ),
    PersonalDataKind(
        "sex",
        "quasi",
        "everybody around the person knows it",
        r"sex|gender|geschlecht|sexe|genre|sexo|genero",
        category=True,
    ),
    PersonalDataKind(
        "diagnosis or health",
        "sensitive",
        "health is what people want to keep to themselves",
        r"diagnos[ei]s|diagnos(?:tic|en)?|diag|dx|disease|illness|condition|disorder|symptoms?"
        r"|icd(?: ?(?:9|10|11))?(?: ?(?:code|cm))?|medications?|drugs?|treatments?|therapy|prescription"
        r"|allerg(?:y|ies)|hiv(?: status)?|cancer|tumou?r|blood (?:pressure|group|type|sugar)|bmi"
        r"|disabilit(?:y|ies)|handicap|pregnan(?:t|cy)|mental health|covid|smok(?:er|ing)|alcohol|genetic"
        r"|genotype|mutation|test result|lab result|procedure|diagnose|krankheit|erkrankung|befund"
        r"|symptome|medikament[e]?|medikation|behandlung|therapie|allergien?|blutgruppe|blutdruck"
        r"|behinderung|schwanger(?:schaft)?|krebs|raucher|gesundheit|maladie|pathologie|symptome"
        r"|medicaments?|traitement|allergies?|grossesse|sante|groupe sanguin|diagnostico|enfermedad"
        r"|sintomas?|medicamentos?|tratamiento|alergias?|embarazo|discapacidad|salud|grupo sanguineo",
    ),
    PersonalDataKind(
        "income",
        "sensitive",
        "money is what people want to keep to themselves",
        r"(?:annual |monthly |household |gross |net )?(?:income|salar(?:y|ies)|wages?|earnings|pay"
        r"|remuneration)(?: ?(?:class|group|band|bracket|level|range))?|(?:income|salary|tax|pay) bracket"
        r"|poverty|debts?|credit ?(?:score|rating)|wealth|benefits|pension|einkommen(?:sklasse|sgruppe)?"
        r"|gehalt|lohn|verdienst|schulden|vermogen|bonitat|rente|revenus?|salaire|dettes?|patrimoine"
        r"|retraite|pauvrete|(?<!fecha de )ingresos?|salario|sueldo|deudas?|patrimonio|pobreza",
    ),
    PersonalDataKind(
        "belief or orientation",
        "sensitive",
        "the law protects it more than other data",
        r"religions?|faith|denomination|belief|political(?: (?:party|view|opinion))?|party|vote[ds]?"
        r"|union(?: member)?|sexual orientation|orientation|konfession|glaube|partei|gewerkschaft"
        r"|sexuelle orientierung|confession|croyance|parti(?: politique)?|syndicat|orientation sexuelle"
        r"|creencia|partido(?: politico)?|sindicato|orientacion sexual",
        category=True,
    ),
    PersonalDataKind(
        "offence",
        "sensitive",
        "the law protects it more than other data",
        r"crimes?|criminal(?: record)?|convict(?:ed|ions?)|offen[cs]es?|arrests?|recidivism|sentence"
        r"|straftat|vorstrafen?|verurteilung|delit|condamnation|casier judiciaire|delitos?|condena"
        r"|antecedentes",
    ),
    PersonalDataKind(
        "origin",
        "quasi",
        "it can be seen or heard",
        r"race(?: ?[a-z]{1,3})?|races|racethn?x?|ethnic(?:ity)?(?: group)?|hispanic|hispan ?x?|hispcat"
        r"|hisp|skin colou?r|ethnie|ethnische(?: herkunft)?|herkunft|origine(?: ethnique)?|raza|etnia"
        r"|origen(?: etnico)?|race [a-z]+|race[a-z]{1,3}",
        category=True,
    ),
    PersonalDataKind(
        "nationality or country",
        "quasi",
        "everybody around the person knows it",
        r"(?:native |birth |home )?countr(?:y|ies)(?: of (?:birth|origin|residence))?|nationalit(?:y|ies)"
        r"|citizenship|birth ?place|place of birth|immigra(?:nt|tion)|land|staatsangehorigkeit"
        r"|nationalitat|geburtsland|geburtsort|pays(?: de naissance)?|nationalite|lieu de naissance"
        r"|pais(?: de nacimiento)?|nacionalidad|lugar de nacimiento",
        category=True,
    ),
    PersonalDataKind(
        # After the country: 'place of birth' has the word 'place' in it.
        "place",
        "quasi",
        "it is where the person lives or works",
        r"city|cities|town|village|municipality|district|county|region|state|province|borough|ward"
        r"|neighbou?rhood|place(?: of residence)?|residence|location|area|stadt|ort|wohnort|gemeinde|kreis"
        r"|landkreis|bezirk|bundesland|kanton|ville|commune|departement|canton|lieu|ciudad|municipio"
        r"|localidad|provincia|barrio|comunidad(?: autonoma)?|estado(?! civil)",
        "geographic subdivisions smaller than a state",
        category=True,
    ),
    PersonalDataKind(
        "marital status",
        "quasi",
        "public registers hold it",
        r"marital(?: ?status)?|marri(?:ed|age)|marry|civil status|spouse|familienstand|verheiratet"
        r"|zivilstand|etat civil|situation (?:de famille|familiale|matrimoniale)|marie e?|estado civil"
        r"|casado",
        category=True,
    ),
    PersonalDataKind(
        "family and household",
        "quasi",
        "neighbours know it",
        r"relationship|household(?: ?size)?|famil(?:y|ies)(?: ?size)?|children|kids|dependents?|siblings"
        r"|num(?:ber)?(?: of)? (?:children|kids|dependents)|haushalt(?:sgrosse)?|kinder(?:zahl)?|familie"
        r"|menage|foyer|enfants|nombre d enfants|hogar|hijos|numero de hijos|familia",
    ),
    PersonalDataKind(
        "education",
        "quasi",
        "it stands in public career profiles",
        r"educ(?:ation)?(?: ?(?:num|level|years?))?|educyear|degree|school(?:ing)?|qualification"
        r"|bildung(?:sabschluss)?|abschluss|schulabschluss|ausbildung|diplome|niveau d etudes|etudes"
        r"|formation|educacion|nivel (?:de estudios|educativo)|estudios|titulo",
    ),
    PersonalDataKind(
        "occupation",
        "quasi",
        "colleagues and public profiles tell it",
        r"occupation|job(?: ?title)?|profession|work ?class|employment(?: ?status)?|industry|sector"
        r"|position|beruf|tatigkeit|beschaftigung|branche|metier|emploi|poste|ocupacion|profesion|trabajo"
        r"|empleo|puesto",
        category=True,
    ),
    PersonalDataKind(
        "language",
        "quasi",
        "everybody around the person hears it",
        r"language|mother tongue|native language|sprache|muttersprache|langue(?: maternelle)?|idioma"
        r"|lengua",
        category=True,
    ),
    PersonalDataKind(
        "body",
        "quasi",
        "it can be seen",
        r"height|body weight|eye colou?r|hair colou?r|grosse|korpergrosse|gewicht|taille|poids|altura"
        r"|estatura|peso",
    ),
    PersonalDataKind(
        "survey weight",
        "identifier",
        "it differs from row to row, and the survey's own file holds it too; keep it only if it is needed",
        r"(?:final|sampl(?:e|ing)|survey|person|design) ?(?:weight|wgt|wt)|fnlwgt|weight(?:ing)? factor"
        r"|pweight|gewichtungsfaktor|hochrechnungsfaktor|ponderation|factor de (?:expansion|ponderacion)",
    ),
    PersonalDataKind(
        # After the date of birth: both have the word 'date' in them.
        "date of an event",
        "quasi",
        "who was there knows it",
        r"(?:admission|discharge|visit|death|arrival|departure|hire|hiring|start|end|event|service|order"
        r"|purchase|accident|injury|surgery|encounter|appointment|enrol?ment|registration|entry"
        r"|exit) ?(?:date|day|time|dt)?|dates?|timestamp|datum|aufnahme(?:datum)?|entlassung(?:sdatum)?"
        r"|(?:todes|eintritts|kauf|unfall)datum|date d? ?(?:admission|entree|sortie|deces|achat)"
        r"|fecha(?: de (?:ingreso|alta|compra|defuncion|entrada))?",
        "all elements of dates (except year)",
    ),
    PersonalDataKind(
        "amount of money",
        "plain",
        "outsiders seldom know it, and analyses need it",
        r"costs?|price|amount|charges?|fees?|bill|expenses?|capital(?: ?(?:gain|loss))?|gains?|loss(?:es)?"
        r"|balance|total|revenue|payment|premium|kosten|preis|betrag|gebuhr|ausgaben|umsatz|beitrag|couts?"
        r"|prix|montant|frais|depenses|prime|costes?|costos?|precio|importe|monto|gastos?|tarifa",
    ),
    PersonalDataKind(
        # Nearly last: many names have 'id' or 'no' in them, and other words say more.
        "number",
        "identifier",
        "it is made to point at one row",
        r"id|ids|no|nr|num|number|key|index|row(?: ?(?:id|no|number))?|serial|identifier|nummer|lfd nr"
        r"|kennung|schlussel|numero|identificador|clave|folio|[a-z0-9]*id",
        "any other unique identifying number, characteristic or code",
        generic=True,
    ),
    PersonalDataKind(
        "outcome",
        "sensitive",
        "it looks like what the table is about",
        r"class|target|label|outcome|results?|score|status|grade|rating|ergebnis|zielvariable|klasse"
        r"|resultat|note|classe|resultado|clase|nota",
        generic=True,
    ),
)
