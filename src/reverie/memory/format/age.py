"""Age and period of validity of a memory, in words."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

_DAY = timedelta(days=1)


def days_between(then: datetime, now: datetime) -> int:
    """Midnights between two times, in the time zone of `now`; the future counts as today."""
    local = then.astimezone(now.tzinfo) if then.tzinfo and now.tzinfo else then
    return max(0, (now.date() - local.date()).days)


def words(then: datetime, now: datetime) -> str:
    """`today`, `yesterday`, `3 days ago`, `5 weeks ago`, `7 months ago`, `2 years ago`."""
    days = days_between(then, now)
    if days < 2:
        return ("today", "yesterday")[days]
    if days < 14:
        return f"{days} days ago"
    if days < 61:
        return f"{days // 7} weeks ago"
    if days < 730:
        return f"{days // 30} months ago"
    return f"{days // 365} years ago"


def caveat(then: datetime, now: datetime) -> str | None:
    """The warning for a memory older than a day; None for a newer one."""
    if now - then <= _DAY:
        return None
    return (
        f"Saved {words(then, now)}: this is what was seen at that time, not what is true now. "
        "What it says about code, and any file:line in it, may be out of date; "
        "check before you state it as fact."
    )


# --- period of validity ---


def starts_at(valid_from: str | None) -> datetime | None:
    """When a memory becomes valid; a day begins at midnight, local time."""
    return _moment(valid_from, days=0)


def over_at(valid_until: str | None) -> datetime | None:
    """When a memory expires; a day counts to its end, local time."""
    return _moment(valid_until, days=1)


def expired(valid_until: str | None, now: datetime) -> bool:
    over = over_at(valid_until)
    return over is not None and over <= now


def pending(valid_from: str | None, now: datetime) -> bool:
    """Whether a memory is not valid yet."""
    start = starts_at(valid_from)
    return start is not None and start > now


def term(valid_from: str | None, valid_until: str | None, now: datetime) -> str:
    """`expired 2026-11-01`, `from 2027-01-01`, or empty if it is valid now."""
    if expired(valid_until, now):
        return f"expired {(valid_until or '')[:10]}"
    return f"from {(valid_from or '')[:10]}" if pending(valid_from, now) else ""


def holds(valid_from: str | None, valid_until: str | None) -> str:
    """`holds from 2026-12-20 until 2027-01-06`; empty if neither is a day."""
    days = [
        f"{word} {moment}"
        for word, moment in (("from", valid_from), ("until", valid_until))
        if moment and _is_day(moment)
    ]
    return f"holds {' '.join(days)}" if days else ""


def day_before(moment: str | None) -> str | None:
    """The day before a day; a time is returned unchanged."""
    if moment is None or not _is_day(moment):
        return moment
    try:
        return (date.fromisoformat(moment) - timedelta(days=1)).isoformat()
    except OverflowError:
        return moment


def _is_day(moment: str) -> bool:
    try:
        date.fromisoformat(moment)
    except ValueError:
        return False
    return True


def _moment(text: str | None, *, days: int) -> datetime | None:
    """A day in the local zone, plus `days`; a time without a zone is in UTC."""
    if not text:
        return None
    try:
        if _is_day(text):
            day = date.fromisoformat(text) + timedelta(days=days)
            return datetime.combine(day, time()).astimezone()
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
