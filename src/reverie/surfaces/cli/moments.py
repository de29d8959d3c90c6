"""Points in time as a person types them: a day, or a day and a time."""

from __future__ import annotations

from datetime import datetime, time

import click


def moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """`2026-03-01` is the end of that day, `2026-03-01T14:30` that minute, in the local zone."""
    if value is None:
        return None
    text = value.strip()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a date; write it like 2026-03-01 or 2026-03-01T14:30"
        ) from None
    if len(text) <= len("2026-03-01"):
        found = datetime.combine(found.date(), time.max)
    return found.astimezone()
