"""Why a request could not reuse the prefix of an earlier one, as the API reports it."""

from dataclasses import dataclass

from tests.provider.blocks import Json, Prompt, compact


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a later request is compared with."""

    model: bytes
    system: tuple[bytes, ...]
    tools: tuple[bytes, ...]
    messages: tuple[bytes, ...]
    settings: bytes
    tokens: int

    @classmethod
    def of(cls, prompt: Prompt, body: Json) -> "Fingerprint":
        return cls(
            compact([prompt.model, body.get("speed")]),
            tuple(block.content for block in prompt.system),
            tuple(block.content for block in prompt.tools),
            tuple(block.role.encode() + block.content for block in prompt.messages),
            prompt.settings["system"] + prompt.settings["messages"],
            prompt.tokens,
        )


def diagnose(earlier: Fingerprint | None, now: Fingerprint, read: int) -> Json | None:
    """The `cache_miss_reason`, or None when the earlier request is a prefix of this one."""
    if earlier is None:
        return {"type": "previous_message_not_found"}
    missed = max(0, earlier.tokens - read)
    for name, before, after in (
        ("model", earlier.model, now.model),
        ("system", earlier.system, now.system),
        ("tools", earlier.tools, now.tools),
        ("messages", earlier.messages, now.messages[: len(earlier.messages)]),
    ):
        if before != after:
            return {"type": f"{name}_changed", "cache_missed_input_tokens": missed}
    return {"type": "unavailable"} if earlier.settings != now.settings else None
