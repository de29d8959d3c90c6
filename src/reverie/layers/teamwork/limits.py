"""How far agents may multiply: depth, number, tokens and time, each with words for the asking model. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What agents may use, all those of one session together; `seconds` is for each of them."""

    depth: int = 2
    concurrent: int = 8
    tokens: int = 2_000_000
    seconds: float = 1_800.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the one who asks stands: its own depth (a person's session is 0), and what all use."""

    depth: int
    running: int
    tokens: int


def refusal(limits: Limits, standing: Standing) -> str | None:
    """Why no further agent is started, for the model that asked for one; None when it may be."""
    if limits.depth <= 0 or limits.concurrent <= 0:
        return "No agent can be started here: none are allowed, or all places are taken. Do the task yourself."
    if standing.depth >= limits.depth:
        return (
            f"No agent was started: you are an agent {standing.depth} deep, and they may be nested "
            f"{limits.depth} deep. Do the task yourself, or name it in your report for whoever asked you."
        )
    if standing.running >= limits.concurrent:
        return (
            f"No agent was started: {standing.running} are running, and {limits.concurrent} may run "
            "at once. Wait until one has reported, or do the task yourself."
        )
    if over := over_tokens(limits, standing.tokens):
        return f"No agent was started. {over}"
    return None


def over_tokens(limits: Limits, tokens: int) -> str | None:
    """Why agents must end now: together they used what they had; None while there is some left."""
    if tokens < limits.tokens:
        return None
    return (
        f"The agents of this session have used {tokens:,} tokens of {limits.tokens:,}. "
        "Go on with what they have reported, and do the rest yourself."
    )


def out_of_time(limits: Limits) -> str:
    """Why an agent was ended that took too long."""
    return (
        f"The agent was ended after {_duration(limits.seconds)}, the longest one may take. What it "
        "changed until then is still there: look at it, then do the rest yourself or give out a "
        "smaller task."
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} seconds"
    return f"{seconds / 60:g} minutes" if seconds % 60 == 0 else f"{seconds / 60:.1f} minutes"
