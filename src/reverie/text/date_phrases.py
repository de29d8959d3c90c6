"""How German, French and Spanish write dates: the phrases, and the words that identify each language."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.text.days import (
    FRENCH,
    GERMAN,
    SPANISH,
    Names,
)


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The date phrases of one language; `{day}`, `{number}`, `{unit}`, `{date}` are placeholders."""

    names: Names
    # Function words that identify the language.
    common: frozenset[str]
    offsets: tuple[tuple[str, int], ...]
    next_day: tuple[str, ...]
    last_day: tuple[str, ...]
    ahead: str
    ago: str
    on: str
    # A day of a month: "1. November", "1er novembre", "1 de noviembre".
    date: str
    # Prepositions before a date: those that point forward, back, or in neither direction.
    leads_ahead: str
    leads_back: str
    # Before a month without a day, and which of these look back.
    month_leads: str
    since: frozenset[str]
    leads: str
    # Weekday phrases that are dates if the sentence shows past or future.
    weekday: str
    ranges: tuple[tuple[str, str], ...]
    # This, next and last week or month.
    weeks: tuple[tuple[str, int], ...]
    months: tuple[tuple[str, int], ...]
    week_of: str
    coming: str
    until: str
    # Before a month.
    in_month: str
    # Habits, future, past, and words that look like past but show no tense.
    cues: tuple[str, str, str, str]
    # Verbs in the present which, with a day of a month, refer to the future.
    present: str
    # A span that is a date only if the sentence speaks of the future.
    within: str = r"(?!)"


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = word_set("the and is of to in that for with are was on we it this not")
_GERMAN = Language(
    names=GERMAN,
    common=word_set(
        "der die das und ist ein eine nicht wir mit für den dem auf wird am im zu bis ab seit"
        " vom zum ich kein keine war bei nur gilt sind diese dieser nächste nächsten letzte"
        " letzten woche wochen tagen zwei drei vier fünf ende mitte nach heute gestern morgen übermorgen monat sich auch noch hat haben"
    ),
    offsets=(
        (r"heute(?! (?:morgen|früh|nacht|abend))", 0),
        (r"vorgestern", -2),
        (r"gestern(?! (?:morgen|früh|nacht|abend))", -1),
        (r"übermorgen", 2),
        # In lower case it means tomorrow; after these words it means the morning.
        (r"(?<!heute )(?<!gestern )(?<!jeden )(?<!guten )(?-i:morgen)(?! früh| abend)", 1),
    ),
    next_day=(r"(?:am )?(?:nächsten|kommenden) {day}",),
    last_day=(r"(?:am )?(?:letzten|vergangenen|vorigen) {day}",),
    ahead=r"heute in {number} {unit}",
    ago=r"vor {number} {unit}",
    on="am ",
    date=r"(?P<number>\d{1,2})\. ?(?-i:(?P<month>{month}))\b(?!\.? ?\d)",
    leads_ahead=r"bis (?:zum |einschließlich )?|ab (?:dem )?|spätestens (?:am |bis )",
    leads_back=r"seit (?:dem )?",
    month_leads=r"bis |ab |seit ",
    since=frozenset({"seit "}),
    leads=r"am |vom |zum |den |vor dem |nach dem ",
    weekday=r"(?P<lead>am |bis (?:zum )?|ab |seit |spätestens (?:am |bis ))(?P<day>{weekday})(?!,? (?:dem )?\d| (?:bis|und|oder)\b)",
    ranges=((r"vom ", r" bis (?:zum )?"), (r"zwischen dem ", r" und (?:dem )?")),
    weeks=(
        (r"diese Woche|(?<=ab )dieser Woche", 0),
        (r"(?<!der )nächste Woche|(?<=ab )nächster Woche", 1),
        (r"(?<!der )übernächste Woche|(?<=ab )übernächster Woche", 2),
        (
            r"(?<!der )(?:letzte|vorige|vergangene) Woche|(?<=seit )(?:letzter|voriger|vergangener) Woche",
            -1,
        ),
    ),
    months=((r"diesen Monat", 0), (r"nächsten Monat", 1), (r"(?:letzten|vorigen) Monat", -1)),
    week_of="die Woche vom ",
    coming=r"(?P<head>in den|die|für die) nächsten {number} {unit}",
    until="bis ",
    in_month="in ",
    cues=(
        r"jede[nrsm]?|jeweils|immer|nie|niemals|meistens|normalerweise|regelmäßig|täglich|wöchentlich"
        r"|monatlich|jährlich|Geburtstag|Jahrestag|(?:mon|diens|donners|frei|sams|sonn)tags|mittwochs",
        r"wird|werden|werde|geplant|fällig|findet|startet|beginnt|endet|läuft|soll|sollen|kommt"
        r"|(?:Termin|Treffen|Besprechung|Meeting|Release|Launch|Freeze|Demo|Audit|Workshop|Prüfung"
        r"|Konferenz|Wartung|Umzug|Hochzeit|Abgabe|Frist|Abgabetermin|Konzert|Ausflug|Turnier|Auftritt"
        r"|Aufführung|Rennen|Beerdigung|Operation|Untersuchung|Klassenfahrt|Lieferung|Feier|Flug) ist",
        r"war|waren|wurde|wurden|hatte|hatten|gab|ging|kam|lief|begann|startete|endete|fiel|sagte"
        r"|(?:hat|haben|ist|sind|bin|habe)\b[^.!?\n]{0,80}?\bge[a-zäöüß]{2,20}(?:t|en)",
        r"(?:ist|sind)\b[^.!?\n]{0,60}?\b(?:geplant|gesperrt|geschlossen|gedacht|geöffnet)",
    ),
    present=(
        r"singt|spielt|zieht|ziehen|übernimmt|übernehmen|löst|reist|fährt|fahren|fliegt|fliegen|besucht|bekommt"
        r"|öffnet|eröffnet|schließt|wechselt|geht|trifft|treffen|heiratet|heiraten|tritt"
    ),
    within=r"in {number} {unit}",
)
_FRENCH = Language(
    names=FRENCH,
    common=word_set(
        "le la les des est une un du et dans pour que qui sur avec pas nous au jusqu partir"
        " depuis ce cette je on sera avant il en ne prochain prochaine dernier dernière de"
        " à deux trois quatre semaine semaines jours aujourd hui demain hier je suis sont ont plus"
    ),
    offsets=(
        (r"aujourd['’]hui", 0),
        (r"avant-hier", -2),
        (r"(?<!-)hier(?! (?:soir|matin))", -1),
        (r"après-demain", 2),
        (r"(?<!-)demain(?! (?:soir|matin))", 1),
    ),
    next_day=(r"(?:le )?{day} prochain",),
    last_day=(r"(?:le )?{day} (?:dernier|passé)",),
    ahead=r"dans {number} {unit}",
    ago=r"il y a {number} {unit}",
    on="le ",
    date=r"(?P<number>1er|\d{1,2}) (?P<month>{month})\b(?! ?\d)",
    leads_ahead=r"jusqu['’]au |à partir du |dès le |d['’]ici le |au plus tard le |avant le ",
    leads_back=r"depuis le ",
    month_leads=r"jusqu['’]en |à partir de |à partir d['’]|dès |depuis ",
    since=frozenset({"depuis "}),
    leads=r"le |du |au |pour le |après le ",
    weekday=(
        r"(?P<lead>jusqu['’]à |à partir de |dès |depuis |d['’]ici |au plus tard |ce |)"
        r"(?P<day>{weekday})(?! (?:prochain|dernier|passé|\d|au|à|et|ou|de))"
    ),
    ranges=((r"du ", r" (?:au|jusqu['’]au) "), (r"entre le ", r" et (?:le )?")),
    weeks=(
        (r"cette semaine", 0),
        (r"la semaine prochaine", 1),
        (r"la semaine (?:dernière|passée)", -1),
    ),
    months=((r"ce mois-ci", 0), (r"le mois prochain", 1), (r"le mois (?:dernier|passé)", -1)),
    week_of="la semaine du ",
    coming=r"(?P<head>(?:pendant|pour) les) {number} prochaine?s {unit}",
    until="jusqu'au ",
    in_month="en ",
    cues=(
        r"chaque|tous les|toutes les|toujours|jamais|souvent|d['’]habitude|normalement|anniversaire"
        r"|quotidien\w*|hebdomadaire\w*|mensuel\w*|annuel\w*",
        r"irai|irons|iront|sera|seront|aura|auront|va|vont|allons|commence|commencera|démarre|débute|prévue?s?|doit|doivent"
        r"|expire|se termine|a lieu|aura lieu|\w{3,20}(?:eront|erons)"
        r"|(?:réunion|lancement|démo|audit|atelier|examen|conférence|maintenance|mariage|échéance"
        r"|date limite|entretien|livraison|sortie|gel|concert|excursion|tournoi|spectacle|rendez-vous|voyage|opération)\b[^.!?\n]{0,40}? est",
        r"était|étaient|avait|avaient|(?:ai|as|a|avons|avez|ont) (?:été|eu|\w{2,20}(?:é|i|u|is)e?s?)"
        r"|(?:est|sont|suis|sommes) (?:tombé|parti|arrivé|venu|allé|resté|sorti|né|devenu|passé)e?s?",
        r"(?:a|avons|ont|ai|est|sont) (?:prévu|décidé|reporté|fermé)e?s?",
    ),
    present=(
        r"chante|joue|arrive|arrivent|part|partons|partent|déménage|déménageons|déménagent|ouvre|ferme|reprend"
        r"|devient|revient|reviennent|prend|visite|vient|viennent|voyage|se marie|se marient|succède|remplace|a (?:son|sa|un|une)"
    ),
)
_SPANISH = Language(
    names=SPANISH,
    common=word_set(
        "el la los las que es una un y en con para por del no se al lo hasta desde partir esta"
        " este nosotros está será antes próximo próxima pasado de semana hoy ayer mañana estoy"
        " están estamos su hay dentro dos tres cuatro semanas días finales mediados"
    ),
    offsets=(
        (r"hoy", 0),
        (r"anteayer|antes de ayer", -2),
        (r"(?<!de )(?<!antes )ayer", -1),
        (r"pasado mañana", 2),
        (r"(?<!la )(?<!las )(?<!cada )(?<!pasado )(?<!de )(?<!esta )mañana(?! por)", 1),
    ),
    next_day=(r"(?:el )?próximo {day}", r"(?:el )?{day} que viene"),
    last_day=(r"(?:el )?{day} pasado", r"(?:el )?pasado {day}"),
    ahead=r"dentro de {number} {unit}",
    ago=r"hace {number} {unit}",
    on="el ",
    date=r"(?P<number>\d{1,2}) de (?P<month>{month})\b(?! (?:del? )?\d)",
    leads_ahead=r"hasta el |a partir del |antes del |a más tardar el |para el ",
    leads_back=r"(?!)",
    month_leads=r"hasta |a partir de |desde ",
    since=frozenset({"desde "}),
    leads=r"el |del |al |desde el ",
    weekday=(
        r"(?P<lead>el |hasta el |a partir del |desde el |antes del |para el )"
        r"(?P<day>{weekday})(?! (?:que viene|pasado|hasta|al?|y|o|\d))"
    ),
    ranges=((r"del ", r" al "), (r"desde el ", r" hasta el "), (r"entre el ", r" y (?:el )?")),
    weeks=(
        (r"esta semana", 0),
        (r"la (?:próxima semana|semana que viene|semana próxima)", 1),
        (r"la semana pasada", -1),
    ),
    months=(
        (r"este mes", 0),
        (r"el (?:próximo mes|mes que viene)", 1),
        (r"el mes pasado", -1),
    ),
    week_of="la semana del ",
    coming=r"(?P<head>(?:durante|en) (?:las|los)) próxim[oa]s {number} {unit}",
    until="hasta el ",
    in_month="en ",
    cues=(
        r"cada|todos los|todas las|siempre|nunca|normalmente|a menudo|cumpleaños|aniversario|diari\w+"
        r"|semanal\w*|mensual\w*|anual\w*|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)",
        r"iré|iremos|será|serán|tendrá|habrá|voy a|va a|van a|vamos a|empieza|comienza|termina|vence|caduca"
        r"|previst[oa]s?|programad[oa]s?|planead[oa]s?|\w{3,20}(?:rán?|ré)|(?!quer|esper)\w{2,20}[aei]remos"
        r"|(?:reunión|lanzamiento|demo|auditoría|taller|examen|conferencia|mantenimiento|boda|plazo"
        r"|fecha límite|entrevista|cita|entrega|evento|concierto|excursión|torneo|vuelo|viaje|operación)\b[^.!?\n]{0,40}? es",
        r"fue|fueron|era|eran|estaba|estaban|hubo|tuvo|tuvimos|hicimos|\w{2,20}(?:ó|aron|ieron)"
        r"|(?:he|ha|hemos|han) \w{2,20}(?:ado|ido|to|cho)",
        r"(?!)",
    ),
    # "Cambiamos" may be past.
    present=(
        r"canta|toca|llega|llegan|sale|salen|viaja|viajan|vuela|abre|cierra|asume|sustituye|reemplaza|se muda|se mudan"
        r"|cambia|cambian|vamos|vuelve|vuelven|viene|vienen|visita|tiene|tenemos|se casa|se casan"
    ),
    within=r"en {number} {unit}",
)
LANGUAGES = (_GERMAN, _FRENCH, _SPANISH)
