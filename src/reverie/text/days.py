"""Calendar arithmetic: days, months and working days from a date, within what a date can be."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta


def shifted(day: date, number: int, unit: str) -> date:
    """A day so many units on (or back); raises what `date` raises beyond its range."""
    if unit.startswith(("business", "working")):
        return working_days_on(day, number)
    if unit.startswith("month"):
        return months_on(day, number)
    if unit.startswith("year"):
        return months_on(day, 12 * number)
    return day + timedelta(days=number * {"d": 1, "w": 7, "f": 14}[unit[0]])


def months_on(day: date, number: int) -> date:
    """The same day so many months on; the last day of a month that is too short for it."""
    year, month = divmod(day.year * 12 + day.month - 1 + number, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def working_days_on(day: date, number: int) -> date:
    """So many days on, Saturdays and Sundays not counted."""
    step = 1 if number > 0 else -1
    for _ in range(abs(number)):
        day += timedelta(days=step)
        while day.weekday() > 4:
            day += timedelta(days=step)
    return day


def day_or_none(year: int, month: int, number: int) -> date | None:
    """A date, or None for one that does not exist, such as 31 November."""
    try:
        return date(year, month, number)
    except ValueError:
        return None


def monday_of(day: date) -> date:
    """The Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def period(day: date, unit: str, step: int) -> str:
    """The week, month, quarter or year `step` after the one a day is in, as written in a memory."""
    match unit:
        case "week" | "weekend":
            monday = monday_of(day) + timedelta(days=7 * step)
            first = monday if unit == "week" else monday + timedelta(days=5)
            return f"the {unit} of {first.isoformat()}"
        case "month":
            return months_on(day.replace(day=1), step).strftime("%Y-%m")
        case "quarter":
            year, quarter = divmod(day.year * 4 + (day.month - 1) // 3 + step, 4)
            return f"{year}-Q{quarter + 1}"
        case _:
            return str(day.year + step)
