"""Rules about Chat Completions and Responses requests."""

from tests.provider.blocks import Json, digest, listed
from tests.provider.rejection import Rejection
from tests.provider.seal import Seal

CHAT_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def _invalid(rule: str, message: str, param: str | None = None) -> Rejection:
    return Rejection(rule, message, param=param)


def check_chat(body: Json) -> None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _invalid("messages", "Missing required parameter: 'messages'.", "messages")
    for index, message in enumerate(messages):
        if message.get("role") not in CHAT_ROLES:
            raise _invalid(
                "role", f"Invalid value: {message.get('role')!r}.", f"messages[{index}].role"
            )
        _check_content(index, message)
    _check_calls(messages)
    _check_response_format(body.get("response_format"))
    if body.get("stream_options") and not body.get("stream"):
        raise _invalid(
            "stream-options", "The 'stream_options' parameter is only allowed when 'stream' is set."
        )


def _check_content(index: int, message: Json) -> None:
    optional = message["role"] == "assistant" and message.get("tool_calls")
    if message.get("content") is None and not optional:
        problem = "Invalid value for 'content': expected a string, got null."
        raise _invalid("content", problem, f"messages[{index}].content")


def _check_calls(messages: list[Json]) -> None:
    """Tool messages follow their call; every call is answered before anyone else speaks."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            id_ = str(message.get("tool_call_id"))
            if id_ not in open_calls:
                raise _invalid(
                    "tool-pairing",
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceding message with 'tool_calls'.",
                    f"messages[{index}].role",
                )
            open_calls.remove(id_)
            continue
        _check_answered(open_calls, index)
        open_calls = [str(call.get("id")) for call in message.get("tool_calls") or []]
        repeated = seen.intersection(open_calls)
        if repeated or len(set(open_calls)) != len(open_calls):
            raise _invalid(
                "tool-id", f"Duplicate tool_call id {sorted(repeated) or open_calls}.", "messages"
            )
        seen.update(open_calls)
    _check_answered(open_calls, len(messages))


def _check_answered(open_calls: list[str], index: int) -> None:
    if open_calls:
        raise _invalid(
            "tool-pairing",
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(open_calls)}",
            f"messages[{index}]",
        )


def _check_response_format(wanted: Json | None) -> None:
    if not wanted or wanted.get("type") != "json_schema":
        return
    # llama.cpp takes the schema without a name around it.
    named = wanted.get("json_schema")
    if named is None:
        if not isinstance(wanted.get("schema"), dict):
            raise _invalid(
                "response-format", "Missing required parameter: 'response_format.json_schema'."
            )
        return
    if not named.get("name") or not isinstance(named.get("schema"), dict):
        raise _invalid(
            "response-format", "Missing required parameter: 'response_format.json_schema.name'."
        )
    _check_strict(named)


def _check_strict(named: Json) -> None:
    schema = named["schema"]
    if not named.get("strict") or schema.get("type") != "object":
        return
    if schema.get("additionalProperties") is not False:
        raise _invalid(
            "response-format",
            f"Invalid schema for response_format '{named['name']}': In context=(), "
            "'additionalProperties' is required to be supplied and to be false.",
            "response_format",
        )


def check_items(items: list[Json], seal: Seal) -> None:
    """Every function call has its output and the other way round; sealed items are ours."""
    calls = {str(i.get("call_id")) for i in items if i.get("type") == "function_call"}
    outputs = {str(i.get("call_id")) for i in items if i.get("type") == "function_call_output"}
    for id_ in sorted(outputs - calls):
        raise _invalid(
            "tool-pairing",
            f"No tool call found for function call output with call_id {id_}.",
            "input",
        )
    for id_ in sorted(calls - outputs):
        raise _invalid("tool-pairing", f"No tool output found for function call {id_}.", "input")
    for index, item in enumerate(items):
        sealed = item.get("encrypted_content")
        if item.get("type") in {"reasoning", "compaction"} and sealed is not None:
            note = seal.read(str(sealed))
            if note is None or note.get("item") != item["type"]:
                raise Rejection(
                    "encrypted-content",
                    f"The encrypted content for item {item.get('id', index)} could not be verified.",
                    code="invalid_encrypted_content",
                    param=f"input[{index}]",
                )


def seal_item(seal: Seal, kind: str, text: str) -> str:
    """Opaque content of a reasoning or compaction item."""
    return seal.write({"item": kind, "text": digest(text)})


def item_text(item: Json) -> str:
    """All text of an input or output item."""
    parts = listed(item.get("content")) + listed(item.get("summary"))
    found = [str(part.get("text", "")) for part in parts]
    found += [str(item[key]) for key in ("name", "arguments", "output") if item.get(key)]
    return "".join(found)
