"""Longer texts the demo's agent writes: modules, tests and documents of the made-up project."""

from __future__ import annotations

WEEK = '''\
"""The week at a harbour: what leaves, day by day."""

from ferry.timetable import DAYS, clock, on_day


def week(sailings, harbour):
    """Seven days, each with its sailings in the order they leave."""
    lines = []
    for day, name in enumerate(DAYS):
        leaving = [one for one in on_day(sailings, day) if one.target == harbour]
        lines.append(f"{name}: {len(leaving)} sailings")
        lines += [
            f"  {clock(one.leaves):10} {one.target:9} {clock(one.arrives):10} {one.ship}"
            for one in leaving
        ]
    return "\\n".join(lines)
'''

TEST_WEEK = """\
from ferry.timetable import DAYS, load
from ferry.week import week

DATA = "data/sailings.csv"


def test_every_day_has_a_line():
    lines = week(load(DATA), "Vestvik").splitlines()
    heads = [line for line in lines if line.endswith(" sailings")]
    assert [head.partition(":")[0] for head in heads] == list(DAYS)


def test_only_what_leaves_here():
    text = week(load(DATA), "Vestvik")
    assert " Storholm" in text, "Storholm is one stop away and must be there"
    assert " Vestvik" not in text, "a ship to Vestvik does not leave from Vestvik"


def test_a_harbour_nobody_knows():
    assert week(load(DATA), "Nowhere").count(": 0 sailings") == 7
"""

TEST_MAIN = '''\
import io
import sys

from ferry.__main__ import main


def said(*arguments):
    """What the command line prints, and the code it ends with."""
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        code = main(list(arguments))
        return sys.stdout.getvalue(), code
    finally:
        sys.stdout = before


def test_a_journey():
    text, code = said("Vestvik", "Ytre", "08:00", "Mo")
    assert code == 0, f"ended with {code}: {text}"
    assert "Vestvik" in text.splitlines()[0]
    assert text.splitlines()[-1].endswith(" kr")


def test_no_way():
    text, code = said("Vestvik", "Ytre", "23:50", "Mo")
    assert (text, code) == ("No way from Vestvik to Ytre on Mo after 23:50.\\n", 1)


def test_a_ship_that_must_be_asked():
    text, code = said("Lyngoy", "Ytre", "12:00", "Sa")
    assert code == 0
    assert text.count("Ring the harbour office the day before.") <= 1


def test_a_week():
    text, code = said("--week", "Storholm")
    assert code == 0
    assert text.startswith("Mo: ")


def test_wrong_words():
    text, code = said("Vestvik")
    assert code == 2
    assert text.startswith("./plan FROM TO TIME DAY")
'''

DESIGN = """\
# How ferry works

For whoever inherits it next.

## The table

The harbour office exports `data/sailings.csv`, one row a sailing. `ferry/timetable.py` reads it into
`Sailing` tuples and nothing else in the program reads the file. A time is whole minutes after midnight
of the day the ship left, so a ship that arrives at five past midnight arrives at 24:05, which is 1445.
The office writes times like that up to 29:59. Days are a set of numbers, Monday is 0; a range may wrap
around the end of the week. Prices are whole cents, read digit by digit: there is no float anywhere.

## The search

`ferry/routes.py` goes through the sailings of one day in the order they leave, once. For every harbour
it keeps the journey that reaches it first; of two that arrive together the one with fewer changes, then
the cheaper one. A sailing can be taken if its harbour is where the journey starts, or if the journey
that reaches this harbour arrives early enough to change. Changing takes seven minutes, and more in the
harbours named in `SLOW`, where the piers are far apart. As soon as a sailing leaves after the target was
reached, nothing better can come, and the search stops.

What it does not do: journeys over midnight into the next day, and journeys that wait for a later ship
because it is cheaper.

## Fares

`ferry/fares.py` knows children, groups and the season. Every share of a price goes through `share`, which
rounds half up in integers, because the invoices of the harbour office do.

## Working on it

`./check` runs everything in the blink of an eye. It prints the timetable as it was loaded when a test
fails, which is long, but in nine of ten cases the reason is in there. Tests give the search sailings of
their own; only two use the office's table, and they ask for nothing that changes from month to month.
"""

GUIDE = """\
# A guide for travellers

## Finding a journey

`./plan Vestvik Ytre 08:00 Mo` says how to get from Vestvik to Ytre on a Monday when one can leave at
eight. It is always the journey that arrives first. If two arrive at the same time, it is the one with
fewer changes, and then the cheaper one.

    08:20 Vestvik -> 08:55 Storholm  (Alke, 102)
    09:36 Storholm -> 10:31 Krokan  (Lomvi, 403)
    10:48 Krokan -> 11:18 Ytre  (Havhest, 504)
    181,80 kr

A time such as 00:05 (+1) is after midnight: the ship leaves on the day you asked for and arrives on the
next one.

## Ships that call only when asked to

Some ships pass a harbour unless somebody wants to board. Where your journey needs one, the plan says
so: ring the harbour office the day before. Nobody will come if you only wait on the pier.

## Changing ships

The plan leaves you at least seven minutes to change. In Storholm it leaves twelve, because the two
piers are far apart; with a pram or a suitcase you will need them. Ships do not wait for each other.

## What it costs

The price under a journey is for one adult, outside the season. Children under twelve pay half. From ten
people on everybody pays a tenth less. From June to August everything costs a fifth more. Half a cent is
rounded up. Bicycles are free, dogs pay like children.

## The whole week

`./plan --week Storholm` lists everything that leaves from a harbour, day by day.

## When something is wrong

If the plan names a harbour you did not mean, it was probably misspelt, and it says which one it thinks you
meant. If it finds no way at all, look whether the day is right: some islands are only served from Friday to
Monday, and some only on Mondays, Wednesdays and Saturdays. If a ship is in the plan but not at the pier, the
table was older than the change; the harbour office exports it on the first Monday of a month, and what
happens in between is only on the board at the pier. The plan knows nothing of fog, strikes and broken
engines. When the weather is bad, ring before you leave home, and think of the last ship back: the plan will
not tell you that you have to stay the night unless you ask it for the way home as well.
"""

LETTER = """\
Kaja has answered, I paste it whole. “Thank you for asking. Ringing the day before is enough, also on
Sundays, somebody sits here until six. The numbers 2xx and 4xx use different piers in Storholm, the 4xx
the outer one, which is also why changing there takes so long; please do not print that it is our fault.
Summer prices hold from 1 June to 31 August, both included, and they are the same for everybody on board,
there are no exceptions for islanders, whatever they tell you at the counter. For the autumn we plan a
late sailing from Ytre at 25:10 on Fridays, you will find it in the export of the first Monday in
September; it runs only until the clocks change. And one thing you did not ask: sailing 415 was entered
with the wrong ship for years. It is the Terne, not the Alke. Leave the table as it is, I will correct it
on our side. Best wishes from the harbour office.” Tell me which of this needs work in the code, and
which does not."""

HOLIDAYS = '''\
"""Public holidays, on which the ships run as on a Sunday. Days are numbers; there is no datetime."""

SUNDAY = 6

FIXED = {
    (1, 1): "New Year's Day",
    (5, 1): "Labour Day",
    (5, 17): "Constitution Day",
    (12, 25): "Christmas Day",
    (12, 26): "Second Day of Christmas",
}
# Days after Easter Sunday.
MOVING = {-3: "Maundy Thursday", -2: "Good Friday", 1: "Easter Monday", 39: "Ascension", 50: "Whit Monday"}

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SHIFTS = (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)


def weekday(year, month, day):
    """The day of the week, Monday is 0."""
    if month < 3:
        year -= 1
    return (year + year // 4 - year // 100 + year // 400 + _SHIFTS[month - 1] + day - 1) % 7


def easter(year):
    """Month and day of Easter Sunday."""
    golden, century, rest = year % 19, year // 100, year % 100
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return month, day + 1


def day_of_year(month, day):
    """Counted from 0, as if there were no leap years: none of these days is in February."""
    return sum(LENGTHS[: month - 1]) + day - 1


def holiday(year, month, day):
    """The name of a holiday; nothing on other days."""
    away = day_of_year(month, day) - day_of_year(*easter(year))
    return FIXED.get((month, day)) or MOVING.get(away, "")


def runs_as(year, month, day):
    """The day of the week whose sailings run."""
    return SUNDAY if holiday(year, month, day) else weekday(year, month, day)
'''

TEST_HOLIDAYS = """\
from ferry.holidays import SUNDAY, easter, holiday, runs_as, weekday


def equal(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def test_the_day_of_the_week():
    equal(weekday(2026, 11, 15), 6)
    equal(weekday(2027, 4, 15), 3)
    equal(weekday(2028, 2, 29), 1)


def test_easter():
    equal(easter(2026), (4, 5))
    equal(easter(2027), (3, 28))
    equal(easter(2028), (4, 16))


def test_holidays_move_with_easter():
    equal(holiday(2027, 3, 26), "Good Friday")
    equal(holiday(2027, 3, 29), "Easter Monday")
    equal(holiday(2027, 5, 6), "Ascension")
    equal(holiday(2027, 5, 17), "Constitution Day")
    equal(holiday(2027, 5, 18), "")


def test_ships_run_as_on_a_sunday():
    equal(runs_as(2027, 5, 17), SUNDAY)
    equal(runs_as(2027, 5, 18), 1)
"""

HOLIDAY_WISH = """\
One more thing before I forget, it comes up every May. On public holidays the ships run as on a Sunday,
and people miss them every year because the plan has a Monday. The ones that count are New Year, 1 May,
17 May, both days of Christmas, and those around Easter: Thursday, Friday and Monday, then Ascension and
Whit Monday. I want a module that says for a date as which day of the week the ships run. Mind the ground
rules: no datetime, so you will have to work out the day of the week and Easter yourself. Tests with dates
that one can look up. Do not wire it into the command line yet, I want to think about how people would
type a date.""".replace("\n", " ")

NEWS = """\
# News from the ferry planner

Dear islanders,

the planner has been tidied up, and you will notice some of it.

- **Ships after midnight.** The late sailings are in the plan now. A time such as 00:05 (+1) means five
  past midnight on the following day.
- **Weekends.** Ships that run from Friday to Monday were missing altogether. They are there.
- **Changing in Storholm.** The plan leaves you twelve minutes, because the piers are far apart. When the
  shuttle starts, it will be seven as everywhere else.
- **Ships that must be asked.** Where a ship calls only when somebody wants to board, the plan says so:
  ring the harbour office the day before.
- **Prices.** Half a cent is rounded up, like on your invoice. Some fares for children and groups change by
  a cent.
- **The week.** `./plan --week` and the name of your harbour lists everything that leaves.
- **Misspelt harbours.** Instead of “no way” you get the harbour you probably meant.

Thank you to Kaja at the harbour office, who answered more questions than anybody should have to, and to
Henrik, who walked the piers of Storholm with a pram.
"""
