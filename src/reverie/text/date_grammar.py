"""English date phrases that depend on today: what they look like and the date they mean.

A table of patterns, each with the function that resolves it. Phrases that can also be a
habit or a duration ("on Friday", "in 30 days") need a cue in their sentence; without one
they stay as they are, because a wrong date is worse than a vague one.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from reverie.text.date_cues import Direction, Place, Resolve, Rule
from reverie.text.date_parts import ENGLISH_PARTS, range_of_days, rules_of
from reverie.text.days import (
    ENGLISH,
    day_or_none,
    monday_of,
    month_number,
    months_on,
    nearest,
    nearest_month,
    period,
    shifted,
    weekday_number,
)

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}

_N = ENGLISH.number
_UNIT = ENGLISH.unit
# "5 days a week" is a rate, not a sum: "a" continues a sum only after a comma or "and".
_SPAN = rf"{_N} {_UNIT}(?:(?:,? and|,) {_N} {_UNIT}| (?!an? ){_N} {_UNIT}){{0,2}}"
_DAY = ENGLISH.weekday
_MONTH = ENGLISH.month
_WHICH = r"(?P<which>next|this coming|this|coming|last|past|previous)"
_NO_YEAR = r"(?!\d)(?!(?:,|\.)? ?(?:\d{4}|two thousand))(?![:/]\d)"


def _span(text: str, base: date, sign: int) -> date:
    day = base
    # Largest unit first, so that "1 month 21 days" does not depend on how it was said.
    pieces = re.findall(rf"({_N}) ({_UNIT})", text, re.IGNORECASE)
    for number, unit in sorted(pieces, key=lambda piece: "ymwfdb".index(piece[1][0].lower())):
        day = shifted(day, sign * ENGLISH.count(number), unit.lower())
    return day


def _simple(place: Place) -> str:
    offsets = {"yesterday": -1, "today": 0, "tomorrow": 1, "tmrw": 1}
    offset = offsets[place["day"]] + {"": 0, "after": 1, "before": -1}[place["beyond"]]
    return _opening(place, place.today + timedelta(days=offset))


def _opening(place: Place, day: date) -> str:
    """`Next Tuesday we meet` needs a preposition, `we meet next Tuesday` reads well without."""
    return f"on {day.isoformat()}" if place.opens_a_sentence else day.isoformat()


def _part_of_day(place: Place) -> str:
    night = place["part"] in {"tonight", "last night"}
    day = place.today - timedelta(days=place["part"] == "last night")
    part = "night" if night else place["part"].removeprefix("this ")
    return f"the {part} of {day.isoformat()}"


# "Three times a day from now on", "5 hours a week after today's call": a rate.
_RATE = re.compile(r"(?:\d|\b(?:once|twice|per|\w+s))\s+$")


def _counted(place: Place) -> str | None:
    rate = place["span"].startswith(("a ", "an ")) and place["way"] != "ago"
    if rate and _RATE.search(place.before):
        return None
    base = place.today + timedelta(days={"tomorrow": 1, "yesterday": -1}.get(place["base"], 0))
    sign = -1 if place["way"] in {"ago", "before"} else 1
    day = _span(place["span"], base, sign)
    return day.isoformat() if place.after_preposition else f"on {day.isoformat()}"


def _in_span(place: Place) -> str | None:
    if place.direction != "future":
        return None
    return f"on {_span(place['span'], place.today, 1).isoformat()}"


def _weekday(place: Place) -> str:
    today, wanted = place.today, weekday_number(place["day"])
    ahead = (wanted - today.weekday()) % 7
    match place["which"]:
        case "next":
            # The day in the next week: on a Monday, "next Sunday" is not six days off.
            day = monday_of(today) + timedelta(days=7 + wanted)
        case "last" | "past" | "previous":
            day = today - timedelta(days=(today.weekday() - wanted) % 7 or 7)
        case "coming" | "this coming":
            day = today + timedelta(days=ahead or 7)
        case _:
            day = today + timedelta(days=ahead)
    return _opening(place, day)


def _weekday_of_week(place: Place) -> str:
    shift = {"next": 7, "last": -7}.get(place["which"], 0)
    days = shift + weekday_number(place["day"])
    return _opening(place, monday_of(place.today) + timedelta(days=days))


def _cued_weekday(place: Place) -> str | None:
    direction = _leaning(place)
    if direction is None or _WORKING_WEEK.search(place.before):
        return None
    wanted = weekday_number(place["day"])
    if direction == "future":
        day = place.today + timedelta(days=(wanted - place.today.weekday()) % 7)
    else:
        day = place.today - timedelta(days=(place.today.weekday() - wanted) % 7)
    return place.with_preposition(day)


# "Monday through Friday" means every week.
_WORKING_WEEK = re.compile(rf"\b{_DAY}\s+$", re.IGNORECASE)


def _leaning(place: Place) -> Direction | None:
    """Past or future: a deadline points forward, `since` points back, else the sentence decides."""
    said, lead = place.direction, place["lead"]
    if lead == "since":
        return "past"
    if said == "habit" and lead in _LIMITS and place.match["lead"][0].isupper():
        # "Starting Monday, every change needs a review": the habit is not on Mondays.
        return "future"
    if said in {"habit", "unsure"}:
        return None
    if said == "past" and lead in _LIMITS and _is_notice(place):
        return "future"
    onward = lead == "from" and _ONWARD.match(place.match.string, place.match.end())
    if lead.partition(" ")[0] in _AHEAD or onward:
        return said or "future"
    return said


# "Closed until the end of January" is a notice; "The bar was closed until …" is history.
_NOTICE = re.compile(r"(?:^|[.!?]\s+)[A-Z]\w*ed (?:\w+ ){0,2}$")
_NOTICE_REACH = 60
_LIMITS = frozenset({"from", "starting", "beginning", "effective", "until", "till", "through"})
_ONWARD = re.compile(r" on(?:wards?)?\b(?! (?:the|a|an|our|my)\b)")
_AHEAD = (_LIMITS - {"from"}) | {"by", "thru", "before", "due"}


def _is_notice(place: Place) -> bool:
    start = place.match.start()
    return bool(_NOTICE.search(place.match.string, max(0, start - _NOTICE_REACH), start))


def _month_day(place: Place) -> str | None:
    direction = _leaning(place)
    opens = place.match["lead"] == "From" and place.direction is None
    if direction is None and (opens or place.is_present):
        direction = "future"
    if direction is None or (place["month"] in {"may", "march"} and _counts_things(place)):
        return None
    month = month_number(place["month"] or place["month2"])
    number = int(place["number"] or place["number2"])
    day = nearest(month, number, place.today, future=direction == "future")
    return place.with_preposition(day) if day else None


_THINGS = re.compile(
    r" (?!(?:and|or|at|in|for|is|was|we|the|to|from|until|till|through|with|by|on|as|but|if|when|it"
    r"|because|so|after|before|i|he|she|they|you|our|will|are|were)\b)[a-z]{3,}"
)


def _counts_things(place: Place) -> bool:
    """Whether a number counts things: `May 5 people share it?`, `March 3 miles`."""
    return place.match[0][-1].isdigit() and bool(
        _THINGS.match(place.match.string, place.match.end())
    )


def _end_of_month(place: Place) -> str | None:
    direction = _leaning(place)
    if direction is None:
        return None
    last = nearest(month_number(place["month"]), 28, place.today, future=direction == "future")
    if last is None:
        return None
    first = last.replace(day=1)
    return place.with_preposition(
        first if place["edge"] != "end" else months_on(first, 1) - timedelta(days=1)
    )


def _during(place: Place) -> str | None:
    """`during November`: this or the next one, or a past one if the sentence says so."""
    direction, lead = _leaning(place), place.match["lead"]
    month, today = month_number(place["month"]), place.today
    if direction is None and (lead[0].isupper() or month == today.month):
        direction = None if place.direction else "future"
    if direction not in ("future", "past"):
        return None
    return f"{lead} {nearest_month(month, today, future=direction == 'future')}"


_FROM_THEN_ON = re.compile(r" on(?:wards?)?\b")
# "The tariff applies from February.", but "Send me the letter from May."
_APPLIES = re.compile(
    r"\b(?:applies|holds|works?|open|closed|days|hours|(?:part|full)[- ]time|a (?:week|month|year)|\d)\s+$"
)
_CLAUSE_ENDS = re.compile(r"\s*(?:[.,;!]|$)")


def _limit_month(place: Place) -> str | None:
    """`until March`, `from September on`, `since May`: the whole month."""
    lead = place.match["lead"]
    direction = _leaning(place)
    if lead.lower() == "from":
        # "The mail from April" names a person.
        text, end = place.match.string, place.match.end()
        onward = lead == "From" or _FROM_THEN_ON.match(text, end)
        onward = onward or (_APPLIES.search(place.before) and _CLAUSE_ENDS.match(text, end))
        direction = "future" if onward and direction in (None, "future") else None
    if direction is None or (lead == "From" and place.direction == "habit"):
        return None
    month = month_number(place["month"])
    return f"{lead} {nearest_month(month, place.today, future=direction == 'future')}"


def _coming_span(place: Place) -> str | None:
    """`for the next two weeks`: starts now and ends on a day."""
    if place.direction in {"past", "habit"}:
        return None
    until = _span(place["span"], place.today, 1).isoformat()
    return f"for the {place.match['span']} until {until}"


def _month_of(place: Place) -> date:
    return months_on(
        place.today.replace(day=1), {"next": 1, "last": -1, "previous": -1}.get(place["which"], 0)
    )


def _day_of_month(place: Place) -> str | None:
    first = _month_of(place)
    day = day_or_none(first.year, first.month, int(place["number"]))
    return day.isoformat() if day else None


def _nth_weekday(place: Place) -> str | None:
    first, wanted = _month_of(place), weekday_number(place["day"])
    if place["nth"] == "last":
        end = months_on(first, 1) - timedelta(days=1)
        return (end - timedelta(days=(end.weekday() - wanted) % 7)).isoformat()
    weeks = _ORDINALS[place["nth"]] - 1
    return (first + timedelta(days=(wanted - first.weekday()) % 7 + 7 * weeks)).isoformat()


def _period(place: Place) -> str:
    step = {"next": 1, "last": -1, "previous": -1}.get(place["which"], 0)
    found = period(place.today, place["unit"], step)
    return found if found.startswith("the ") or not place.is_adverb else f"in {found}"


def _after_next(place: Place) -> str:
    return period(place.today, place["unit"], 2)


def _numbered_day(place: Place) -> str | None:
    """`by the 15th`, `Friday the 13th`: the nearest matching day in the direction of the cue."""
    direction = _leaning(place)
    step = 1 if direction == "future" else -1
    for ahead in range(500 if direction else 0):
        day = place.today + timedelta(days=step * ahead)
        named = place["day"] and weekday_number(place["day"]) != day.weekday()
        if day.day == int(place["number"]) and not named:
            return place.with_preposition(day)
    return None


def _edge(place: Place) -> str:
    step = {"next": 1, "last": -1}.get(place["which"], 0)
    size = {"month": 1, "quarter": 3, "year": 12}[place["unit"]]
    first = place.today.replace(day=1, month=(place.today.month - 1) // size * size + 1)
    first = months_on(first, size * step)
    last = months_on(first, size) - timedelta(days=1)
    return (last if place["edge"] == "end" else first).isoformat()


def _named_month(place: Place) -> str:
    month = month_number(place["month"])
    year, now = place.today.year, place.today.month
    if place["which"] == "next":
        year += month <= now
    elif place["which"] == "last":
        year -= month >= now
    return f"{'in ' * place.is_adverb}{year}-{month:02d}"


def _rule(pattern: str, resolve: Resolve) -> Rule:
    return re.compile(rf"(?<![\w/.@-]){pattern}(?![\w/@(]|-\w)", re.IGNORECASE), resolve


_LEAD = (
    r"(?P<lead>on|by|until|till|through|thru|before|since|due(?: on| by)?|starting|beginning"
    r"|effective|from|after)"
)
_NEAR = r"(?P<which>next|this|last|previous)"
_NTH = r"(?P<number>\d{1,2})(?:st|nd|rd|th)"
_BARE_DAY = (
    rf"(?P<day>{_DAY})(?!,? (?:the )?\d)(?!,? {_MONTH}\b)"
    # "On Monday, Tuesday and Friday", "Monday to Friday": more than one day is meant.
    rf"(?!(?:,? (?:and|or)|,| (?:to|through|thru|until|till)| ?[-–]) ?{_DAY})"
    r"(?! (?:next|this|last|of)\b)(?! (?:morning|afternoon|evening)s\b)"
)
_MONTH_DAY = (
    rf"(?:(?-i:(?P<month>{_MONTH}))\.?[ -](?P<number>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<number2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?-i:(?P<month2>{_MONTH}))\b){_NO_YEAR}"
    # "May 1 and 2", "24 or 25 September 1122", "on 5 May in 2019".
    r"(?! ?(?:or|and|to|through|[-–&]) ?(?:the )?\d)(?![^.!?\n]{0,20}\b(?:1\d|20)\d\d\b(?!-))"
)


def _in_range(one: str) -> str:
    """A day of a month in either order, in a group with this number."""
    return (
        rf"(?:the )?(?:(?P<number{one}>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?-i:(?P<month{one}>{_MONTH}))\b)"
        rf"{_NO_YEAR}"
    )


def _in_range_american(one: str) -> str:
    return (
        rf"(?-i:(?P<month{one}>{_MONTH}))\.? (?P<number{one}>\d{{1,2}})(?:st|nd|rd|th)?{_NO_YEAR}"
    )


_RANGES = ((r"from", r"to|until|till|through|thru"), (r"between", r"and"))
# Not a part of a week: "next week between Wednesday and Friday" means those days.
_WHOLE_BEFORE = r"(?<!late )(?<!later )(?<!early )(?<!mid )(?<!mid-)(?<!end of )(?<!middle of )"
_WHOLE_AFTER = r"(?! (?:between|from) (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun))"
_FROM = (
    r"(?P<way>ago|(?:from|after|before)(?= (?:now|today|tomorrow|yesterday)\b"
    # "From now on" says since when, and "after today's call" after what.
    r"(?! on\b| onwards?\b|['’]s\b)))"
)
_UNITS = r"(?P<unit>weekend|week|month|quarter|year)"

RULES: tuple[Rule, ...] = (
    _rule(
        r"(?:(?:the )?day (?P<beyond>after|before) )?(?P<day>today|tomorrow|tmrw|yesterday)",
        _simple,
    ),
    _rule(r"(?P<part>tonight|last night|this (?:morning|afternoon|evening))", _part_of_day),
    _rule(rf"(?P<span>{_SPAN}) {_FROM}(?: (?P<base>now|today|tomorrow|yesterday))?", _counted),
    _rule(rf"in (?P<span>{_SPAN})(?:['’] time)?", _in_span),
    _rule(rf"(?<!the ){_WHICH} (?P<day>{_DAY})(?! of\b)(?! in\b)", _weekday),
    _rule(rf"(?:on )?(?P<day>{_DAY}),? (?:of )?{_NEAR} week", _weekday_of_week),
    _rule(rf"{_NEAR} week(?:'s)?,? (?:on )?(?P<day>{_DAY})", _weekday_of_week),
    _rule(rf"{_LEAD} {_BARE_DAY}", _cued_weekday),
    *(
        _rule(rf"(?P<lead>{lead} ){shape('')}(?P<joint>,? (?:{joint}) ){shape('2')}", range_of_days)
        for lead, joint in _RANGES
        for shape in (_in_range, _in_range_american)
    ),
    _rule(
        r"(?:(?P<lead>by|until|till|through|thru|before|since|from) )(?:the )?(?P<edge>end|start|beginning) of"
        rf" (?-i:(?P<month>{_MONTH}))(?!\.? ?\d)",
        _end_of_month,
    ),
    _rule(rf"(?P<lead>during) (?-i:(?P<month>{_MONTH}))(?!\.? ?\d)", _during),
    _rule(
        rf"(?P<lead>until|till|starting|beginning|since|from) (?:in )?(?-i:(?P<month>{_MONTH}))(?!\.? ?\d)"
        # "From May on Friday" is a letter of May's, "from May to July" a range.
        r"(?! (?:on (?-i:[A-Z\d])|(?:and|or|to|through|until|till)\b))",
        _limit_month,
    ),
    _rule(rf"for the next (?P<span>(?!an? )(?:{_N}) {_UNIT})", _coming_span),
    _rule(rf"(?:{_LEAD} )?(?:{_DAY},? )?(?:the )?{_MONTH_DAY}", _month_day),
    _rule(rf"(?:{_LEAD} )?(?P<day>{_DAY}),? the {_NTH}(?! of\b)", _numbered_day),
    _rule(rf"{_LEAD} the {_NTH}(?P<day>)(?! (?:of\b|\w))", _numbered_day),
    _rule(rf"(?:the )?{_NTH} of {_NEAR} month", _day_of_month),
    _rule(
        rf"(?:the )?(?P<nth>{'|'.join(_ORDINALS)}) (?P<day>{_DAY}) (?:of|in) {_NEAR} month",
        _nth_weekday,
    ),
    _rule(
        rf"(?<!the )(?<!every ){_WHOLE_BEFORE}{_NEAR} {_UNITS}{_WHOLE_AFTER}(?! of\b)(?!['’]?s? (?:on )?\w+day\b)",
        _period,
    ),
    _rule(rf"the {_UNITS} after (?:the )?next", _after_next),
    _rule(
        r"(?:the )?(?P<edge>end|start|beginning) of (?P<which>the|this|next|last) (?P<unit>month|quarter|year)(?! of\b)",
        _edge,
    ),
    _rule(rf"(?P<which>next|last|this) (?-i:(?P<month>{_MONTH}))(?!\.? ?\d)", _named_month),
    *rules_of(ENGLISH_PARTS),
)
