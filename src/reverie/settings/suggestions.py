"""What to say about a key or variable that nobody knows: what was probably meant."""

from __future__ import annotations

from reverie.settings import schema
from reverie.settings.values import KEYS_ADVICE, names_a_secret, shown

# The longest key anyone writes is shorter; comparing more would only be slow.
_LONGEST_KEY = 100


def unknown_key(key: str) -> str:
    """The whole complaint, with a suggestion when there is a likely one."""
    if len(key) > _LONGEST_KEY:
        return f"unknown setting {shown(key)}"
    inside = [row.key for row in schema.SETTINGS if row.key.startswith(f"{key}.")]
    if inside:
        return f"{shown(key)} is a table, not a value; set what is in it, such as {inside[0]}"
    if names_a_secret(key):
        return f"unknown setting {shown(key)}; {KEYS_ADVICE}"
    half = None if "." in key else _closest_part(key)
    meant = half or _closest(key, _candidates(key))
    return f"unknown setting {shown(key)}" + (f"; did you mean {meant}?" if meant else "")


def unknown_variable(name: str) -> str:
    """The same for an environment variable; its value may be a key, so it is not shown."""
    known = [row.variable for row in schema.SETTINGS if "*" not in row.key]
    # All share the prefix; comparing it too would make everything alike.
    bare = [each.removeprefix(schema.PREFIX) for each in (*known, *schema.OTHER_VARIABLES)]
    closest = _closest(name.removeprefix(schema.PREFIX)[:_LONGEST_KEY], bare)
    meant = f"{schema.PREFIX}{closest}" if closest else None
    advice = f"did you mean {meant}?" if meant else "unset it, or see `reverie settings`"
    return f"{shown(name)}: no such variable; {advice}"


def _closest_part(key: str) -> str | None:
    """`recall` for `features.recall`, `featurs` for `features`: half of the key is there."""
    whole = {row.key.rpartition(".")[2]: row.key for row in schema.SETTINGS}
    whole |= {table: table for table in (row.key.partition(".")[0] for row in schema.SETTINGS)}
    closest = _closest(key, list(whole))
    return whole[closest] if closest else None


def _candidates(key: str) -> list[str]:
    """All keys, with the person's own name where one is chosen freely."""
    parts = key.split(".")
    # The name stands where the `*` does: second in `tools.*.x`, third in `spend.purpose.*`.
    return [
        ".".join(
            parts[place] if part == "*" and place < len(parts) else part
            for place, part in enumerate(row.key.split("."))
        )
        for row in schema.SETTINGS
    ]


def _closest(word: str, known: list[str]) -> str | None:
    # Needed only to tell a mistake.
    from difflib import get_close_matches  # noqa: PLC0415

    return next(iter(get_close_matches(word, known, n=1)), None)
