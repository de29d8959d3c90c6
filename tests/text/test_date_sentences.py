"""Sentences of ordinary people and engineers, in four languages, written on Sunday 2026-11-15.

What must stay comes first: a wrong date in a memory is worse than a vague one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from time import process_time

import pytest

from reverie.text.dates import absolute_dates
from reverie.text.timewords import spans
from reverie.text.validity import validity

SUNDAY = date(2026, 11, 15)

STAY = [
    "Take the antibiotics three times a day from now on.",
    "The backup runs 5 times a week from now on.",
    "Please water the plants twice a week from now onwards.",
    "I can only do one week from now on weekends.",
    "The cron job fires once a day.",
    "We pay 20 euros per month and per seat.",
    "She works four days a week and is off on Fridays.",
    "The rate limit is 100 requests a day per key.",
    "Our standup is at 9:30 every Monday.",
    "We never deploy on Friday.",
    "On Mondays the office is empty.",
    "The shop is open Monday through Friday.",
    "Support answers Monday to Friday until six.",
    "Usually the invoice is due on Friday.",
    "Tests may fail on slow machines.",
    "You may 3 times retry the call.",
    "May I merge this without a review?",
    "March forward and do not look back.",
    "May 5 people share one account?",
    "The sun sat low while we waited.",
    "He sat on the second chair.",
    "In the fall of the Berlin wall many things changed.",
    "The second request wins.",
    "Give me a second, then retry.",
    "Tokens expire in 30 days.",
    "The cache is refreshed in 5 minutes.",
    "It took two weeks to find the leak.",
    "The migration was done in three days.",
    "Sessions live for a day, cookies for a year.",
    "A few days ago I saw something like it.",
    "The next day he came back.",
    "In the next year or so we could rewrite it.",
    "Over the last weeks it got slower.",
    "The last Friday of every month is demo day.",
    "Her birthday is on May 3.",
    "Our anniversary is on 12 June.",
    "The annual audit is on 1 March.",
    "The weekly release is on Friday.",
    "Releases are on Friday.",
    "Don't merge on Friday.",
    "The demo was planned on Friday, nobody knows if it happened.",
    "The deadline was due on Monday or so.",
    "The release of 2026-11-20 is final.",
    "Our contract runs until 2027-03-31.",
    "The meeting on 5 May 2024 decided it.",
    "On Tuesday, 24 November 2026 we ship.",
    "Run `date -d tomorrow` to see it.",
    'Mira wrote "see you next week" on the card.',
    "The file notes/today.md has the list.",
    "Read https://example.org/next-week/tomorrow first.",
    "The class NextWeek and the method today() stay.",
    "The next-day delivery costs more.",
    "The day-after-tomorrow bug is a time zone bug.",
    "Version 5.11 came after 5.10.",
    "Port 2049 is for NFS.",
    "Error 1203 means the disk is full.",
    "There were 2000 users in the test.",
    "Chapter 3 may be skipped.",
    "I like June and her brother August.",
    "April wrote the first draft.",
    "We met in the second week of the project.",
    "Monday is my least favourite day.",
    "Python 3.11 is needed.",
    "Friday's build is green as always.",
    "Die Tests laufen dreimal am Tag und einmal in der Nacht.",
    "Ab und zu ist der Server langsam.",
    "Wir arbeiten von Montag bis Freitag im Büro.",
    "Jeden Montag ist Standup und freitags nie ein Release.",
    "Guten Morgen, das ist der Plan für die Woche.",
    "Das Backup läuft heute morgen nicht.",
    "Er kommt morgen früh mit dem Zug an.",
    "Am Freitag deployen wir nicht.",
    "Wir sind hier in der zweiten Etage.",
    "Der Geburtstag von Mira ist am 3. Mai.",
    "Die Frist ist wie immer am 1. März.",
    "Der Vertrag läuft bis zum 31.12.2027.",
    "Das ist der 3. Versuch und nicht der letzte.",
    "Le lundi nous avons toujours une réunion.",
    "Nous travaillons du lundi au vendredi.",
    "Le magasin est ouvert de lundi à vendredi.",
    "Chaque vendredi on fait une démo.",
    "Son anniversaire est le 3 mai.",
    "Il faut deux jours pour la livraison.",
    "Le premier mars est un film.",
    "La réunion du 3 mai 2024 est close.",
    "Il est tombé en panne, on ne sait pas quand.",
    "Trabajamos de lunes a viernes en la oficina.",
    "Los lunes no hay reunión.",
    "Siempre es el 1 de mayo, como cada año.",
    "Su cumpleaños es el 3 de mayo.",
    "Por la mañana no hay nadie en la oficina.",
    "La tarea se hace dos veces al día.",
    "El martes y los demás días es igual.",
    "Domingo es el nombre de mi vecino.",
    "El acuerdo del 3 de mayo de 2024 es válido.",
    "Tell me more about the climate during March.",
    "I had quinoa for lunch on Monday, Tuesday and Thursday.",
    "Eleanor was born on either September 24 or 25 in the year 1122.",
    "The fair was on May 1 and 2.",
    "The treaty was signed on 5 May in 1955.",
    "From Monday to Friday we always answer within an hour.",
    "We will be in the office from Monday to Friday.",
    "Desde el lunes hasta el viernes hay guardia.",
]

CHANGE = [
    ("We ship the new checkout tomorrow.", "We ship the new checkout 2026-11-16."),
    (
        "It broke yesterday, right after the upgrade.",
        "It broke 2026-11-14, right after the upgrade.",
    ),
    ("Let's talk the day after tomorrow.", "Let's talk 2026-11-17."),
    ("The kids have no school next Monday.", "The kids have no school 2026-11-16."),
    ("I'll be back next Thursday.", "I'll be back 2026-11-19."),
    ("The freeze starts next Thursday.", "The freeze starts 2026-11-19."),
    ("Mira left the team last Friday.", "Mira left the team 2026-11-13."),
    ("The release will be deployed on Friday.", "The release will be deployed on 2026-11-20."),
    (
        "It will be merged on Tuesday, after the review.",
        "It will be merged on 2026-11-17, after the review.",
    ),
    ("We're meeting on Wednesday to settle it.", "We're meeting on 2026-11-18 to settle it."),
    ("I am flying to Berlin on Thursday.", "I am flying to Berlin on 2026-11-19."),
    ("We are switching to pnpm on Monday.", "We are switching to pnpm on 2026-11-16."),
    ("The launch is on 3 May.", "The launch is on 2027-05-03."),
    (
        "The launch of the new mobile app is on 3 May.",
        "The launch of the new mobile app is on 2027-05-03.",
    ),
    ("The audit is on 24 November.", "The audit is on 2026-11-24."),
    ("Our kickoff is on January 12.", "Our kickoff is on 2027-01-12."),
    ("The wedding is on June 6.", "The wedding is on 2027-06-06."),
    ("The demo is on Friday.", "The demo is on 2026-11-20."),
    ("The maintenance is on Saturday.", "The maintenance is on 2026-11-21."),
    ("The meeting is on Monday at ten.", "The meeting is on 2026-11-16 at ten."),
    ("The certificate expires on 3 May.", "The certificate expires on 2027-05-03."),
    ("The trial ends on 30 November.", "The trial ends on 2026-11-30."),
    ("The old endpoint goes away on 1 December.", "The old endpoint goes away on 2026-12-01."),
    ("The report is due Friday.", "The report is due 2026-11-20."),
    ("The tax return is due on 31 May.", "The tax return is due on 2027-05-31."),
    ("Please send the slides by Wednesday.", "Please send the slides by 2026-11-18."),
    ("Pay the rent by the 1st.", "Pay the rent by 2026-12-01."),
    ("No deploys until Friday.", "No deploys until 2026-11-20."),
    ("No deploys through Friday.", "No deploys through 2026-11-20."),
    ("Do not touch the schema until 1 December.", "Do not touch the schema until 2026-12-01."),
    ("From Monday on we use pnpm.", "From 2026-11-16 on we use pnpm."),
    ("From 3 May on we bill in euros.", "From 2027-05-03 on we bill in euros."),
    (
        "Starting Monday, every pull request needs two reviews.",
        "Starting 2026-11-16, every pull request needs two reviews.",
    ),
    ("Starting January 4 the rate limit is 50.", "Starting 2027-01-04 the rate limit is 50."),
    ("Starting Monday Mira owns billing.", "Starting 2026-11-16 Mira owns billing."),
    (
        "The office is closed between 24 December and 1 January.",
        "The office is closed between 2026-12-24 and 2027-01-01.",
    ),
    ("No releases from 20 December to 6 January.", "No releases from 2026-12-20 to 2027-01-06."),
    ("I'm away from December 20 to January 6.", "I'm away from 2026-12-20 to 2027-01-06."),
    ("During November the schema is frozen.", "During 2026-11 the schema is frozen."),
    ("During January the office is closed.", "During 2027-01 the office is closed."),
    ("By the end of March the old API goes away.", "By 2027-03-31 the old API goes away."),
    ("The price is 5 euros until the end of March.", "The price is 5 euros until 2027-03-31."),
    ("For the next two weeks I'm on call.", "For the two weeks until 2026-11-29 I'm on call."),
    (
        "I'll be on leave for the next 10 days.",
        "I'll be on leave for the 10 days until 2026-11-25.",
    ),
    ("The demo is in two weeks.", "The demo is on 2026-11-29."),
    ("The contract was signed two weeks ago.", "The contract was signed on 2026-11-01."),
    ("A year ago we used npm.", "On 2025-11-15 we used npm."),
    (
        "Decided 3 days ago in the planning meeting.",
        "Decided on 2026-11-12 in the planning meeting.",
    ),
    ("Ready two weeks from now.", "Ready on 2026-11-29."),
    ("The build has been red since Thursday.", "The build has been red since 2026-11-12."),
    ("Since 3 October the nightly job is slow.", "Since 2026-10-03 the nightly job is slow."),
    ("We met on Monday and agreed on ports.", "We met on 2026-11-09 and agreed on ports."),
    ("The server fell over on Saturday.", "The server fell over on 2026-11-14."),
    ("It was down until Friday.", "It was down until 2026-11-13."),
    ("This week I'm on call.", "The week of 2026-11-09 I'm on call."),
    ("Next week there is no standup.", "The week of 2026-11-16 there is no standup."),
    ("Last week we lost a disk.", "The week of 2026-11-02 we lost a disk."),
    ("No deploys this month.", "No deploys in 2026-11."),
    ("Next quarter we hire two people.", "In 2027-Q1 we hire two people."),
    ("The budget holds until the end of the year.", "The budget holds until 2026-12-31."),
    ("The retro moves to the first Friday of next month.", "The retro moves to 2026-12-04."),
    ("Nur heute ist die Kantine zu.", "Nur 2026-11-15 ist die Kantine zu."),
    ("Wir deployen morgen, das ist sicher.", "Wir deployen 2026-11-16, das ist sicher."),
    ("Bis 1. Dezember gilt ein Codefreeze.", "Bis 2026-12-01 gilt ein Codefreeze."),
    ("Bis Freitag wird nichts gemergt.", "Bis 2026-11-20 wird nichts gemergt."),
    ("Bis zum 3. Mai ist das Büro zu.", "Bis zum 2027-05-03 ist das Büro zu."),
    ("Ab Montag gilt der neue Prozess.", "Ab 2026-11-16 gilt der neue Prozess."),
    ("Ab dem 1. Januar wird in Euro abgerechnet.", "Ab dem 2027-01-01 wird in Euro abgerechnet."),
    ("Der Launch ist am 3. Mai.", "Der Launch ist am 2027-05-03."),
    ("Am Montag wird der Server umgezogen.", "Am 2026-11-16 wird der Server umgezogen."),
    (
        "Der Server war am Freitag nicht erreichbar.",
        "Der Server war am 2026-11-13 nicht erreichbar.",
    ),
    (
        "Vom 20. Dezember bis 6. Januar gibt es keine Releases.",
        "Vom 2026-12-20 bis 2027-01-06 gibt es keine Releases.",
    ),
    ("Diese Woche bin ich im Urlaub.", "Die Woche vom 2026-11-09 bin ich im Urlaub."),
    (
        "Nächste Woche ist die Demo für den Kunden.",
        "Die Woche vom 2026-11-16 ist die Demo für den Kunden.",
    ),
    (
        "Die nächsten zwei Wochen bin ich nicht da.",
        "Die zwei Wochen bis 2026-11-29 bin ich nicht da.",
    ),
    (
        "Das haben wir vor drei Tagen entschieden, und das ist gut.",
        "Das haben wir am 2026-11-12 entschieden, und das ist gut.",
    ),
    ("Seit Donnerstag ist der Build rot.", "Seit 2026-11-12 ist der Build rot."),
    ("Jusqu'au 1er décembre, pas de déploiement.", "Jusqu'au 2026-12-01, pas de déploiement."),
    (
        "Jusqu'à vendredi on ne touche pas au schéma.",
        "Jusqu'à 2026-11-20 on ne touche pas au schéma.",
    ),
    ("À partir de lundi, on utilise pnpm.", "À partir de 2026-11-16, on utilise pnpm."),
    ("À partir du 4 janvier la limite est de 50.", "À partir du 2027-01-04 la limite est de 50."),
    ("Le lancement est le 3 mai.", "Le lancement est le 2027-05-03."),
    ("La réunion sera lundi.", "La réunion sera le 2026-11-16."),
    ("Nous avons livré vendredi.", "Nous avons livré le 2026-11-13."),
    ("Le serveur est tombé hier.", "Le serveur est tombé 2026-11-14."),
    ("Cette semaine je suis absent.", "La semaine du 2026-11-09 je suis absent."),
    ("La semaine prochaine nous avons un audit.", "La semaine du 2026-11-16 nous avons un audit."),
    (
        "Pas de livraison du 20 décembre au 6 janvier.",
        "Pas de livraison du 2026-12-20 au 2027-01-06.",
    ),
    ("Le contrat a été signé il y a deux semaines.", "Le contrat a été signé le 2026-11-01."),
    ("On se voit dans trois jours, c'est prévu.", "On se voit le 2026-11-18, c'est prévu."),
    ("Le bureau est fermé demain.", "Le bureau est fermé 2026-11-16."),
    ("Hasta el 1 de diciembre no desplegamos.", "Hasta el 2026-12-01 no desplegamos."),
    (
        "Hasta el viernes no hay cambios en la base.",
        "Hasta el 2026-11-20 no hay cambios en la base.",
    ),
    ("A partir del lunes usamos pnpm.", "A partir del 2026-11-16 usamos pnpm."),
    ("Desde el lunes usaremos pnpm.", "Desde el 2026-11-16 usaremos pnpm."),
    ("El lanzamiento es el 3 de mayo.", "El lanzamiento es el 2027-05-03."),
    ("El servidor se cayó el lunes.", "El servidor se cayó el 2026-11-09."),
    ("La reunión será el jueves.", "La reunión será el 2026-11-19."),
    ("Esta semana estoy de vacaciones.", "La semana del 2026-11-09 estoy de vacaciones."),
    ("La semana que viene no hay reunión.", "La semana del 2026-11-16 no hay reunión."),
    (
        "No hay despliegues del 20 de diciembre al 6 de enero.",
        "No hay despliegues del 2026-12-20 al 2027-01-06.",
    ),
    ("El contrato se firmó hace dos semanas.", "El contrato se firmó el 2026-11-01."),
    ("Mañana no hay servicio en la oficina.", "El 2026-11-16 no hay servicio en la oficina."),
    ("Dentro de tres días se cierra el plazo.", "El 2026-11-18 se cierra el plazo."),
]


@pytest.mark.parametrize("text", STAY)
def test_no_date_in_it(text: str) -> None:
    assert absolute_dates(text, SUNDAY) == (text, ())


@pytest.mark.parametrize(("text", "after"), CHANGE)
def test_a_date_in_it(text: str, after: str) -> None:
    assert absolute_dates(text, SUNDAY)[0] == after


@pytest.mark.parametrize("text", [after for _, after in CHANGE])
def test_what_was_made_absolute_stays(text: str) -> None:
    assert absolute_dates(text, SUNDAY) == (text, ())


# --- hostile texts ---

HOSTILE = [
    "on friday ",
    "we will meet on Friday and ",
    "May 3 ",
    "between 3 May and ",
    "“a",
    "‘ ",
    "[[",
    "](",
    "1 day ",
    "launch ",
    "le 3 mai nous sera ",
    "am 3. Mai wird ist der ge ",
    "el lunes hasta de ",
    "until the a b c on ",
    "2026-11-20 until ",
    "before the a b on ",
    "\n- ",
    "*",
    "1. ",
    " ",
]


@pytest.mark.parametrize(
    "work",
    [
        lambda text: absolute_dates(text, SUNDAY),
        lambda text: validity(text, SUNDAY),
        lambda text: spans(f"{text} 2026", 1_794_700_000.0),
    ],
    ids=["dates", "validity", "spans"],
)
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.slow
def test_twice_the_text_takes_about_twice_as_long(
    piece: str, work: Callable[[str], object]
) -> None:
    def cost(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        began = process_time()
        work(text)
        return process_time() - began

    work(piece * 9)
    small = min(cost(6_250) for _ in range(3))
    # Eight times as much; quadratic work would be sixty-four times as much.
    assert cost(50_000) < 16 * small + 0.1
