"""How old a memory is, in words, and what to say about an old one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_DAY = timedelta(days=1)


def days_between(then: datetime, now: datetime) -> int:
    """Midnights passed between two moments, seen where `now` is; the future counts as today."""
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
    """What a reader must know about a memory older than a day; None for a fresh one."""
    if now - then <= _DAY:
        return None
    return (
        f"Saved {words(then, now)}: this is what was seen at that time, not what is true now. "
        "What it says about code, and any file:line in it, may be out of date; "
        "check before you state it as fact."
    )


def has_ended(until: str | None, now: datetime) -> bool:
    """Whether the moment up to which a memory holds is over; a time without a zone is read as UTC."""
    if not until:
        return False
    try:
        end = datetime.fromisoformat(until)
        return (end if end.tzinfo else end.replace(tzinfo=UTC)) < now
    except (ValueError, OverflowError):
        return False
