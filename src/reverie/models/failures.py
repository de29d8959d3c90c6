"""What the provider SDKs have in common: errors become Reverie's errors, event streams become stream items."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from reverie.core.request import Reply, StreamItem
from reverie.errors import (
    AccessDenied,
    InputError,
    ModelError,
    Overloaded,
    PromptTooLong,
    ReplyBroken,
    RequestRefused,
    ReverieError,
    TimedOut,
    UnknownModelError,
    Unreachable,
)
from reverie.models.catalog import similar

# The messages by which providers say that a prompt is too long.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|context_length_exceeded|exceed_context_size"
    r"|context window|too many tokens|input is too long",
    re.IGNORECASE,
)
# An error inside a stream has status 200; its type says whether a retry may help.
_LATER = re.compile(r"overloaded_error|rate_limit_error|'api_error'|server_error")
_SIZES = (
    re.compile(r"(?P<tokens>\d+) tokens > (?P<limit>\d+)"),
    re.compile(r"maximum context length is (?P<limit>\d+).*?(?P<tokens>\d+)", re.DOTALL),
    re.compile(r"n_prompt_tokens\D+(?P<tokens>\d+)\D+n_ctx\D+(?P<limit>\d+)"),
)


@contextmanager
def sdk_missing(package: str) -> Iterator[None]:
    """Turn ImportError into an error that says how to install the SDK."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"the {package!r} package is not installed; run: pip install 'reverie[{package}]'"
        ) from error


@dataclass(slots=True)
class Call:
    """A call in progress; `began` is set when the first event of the reply arrives."""

    model: str
    began: bool = False


@contextmanager
def sdk_failures(model: str) -> Iterator[Call]:
    """Translate every exception of an SDK call."""
    call = Call(model)
    try:
        yield call
    except ReverieError:
        raise
    # The SDKs' exceptions can be named only where they are installed.
    except Exception as error:
        raise translate(error, call) from error


def translate(error: Exception, call: Call) -> ReverieError:
    names = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _from_status(status, error, call.model)
    if "api_key" in str(error) or "CredentialsError" in names:
        return AccessDenied(_no_key(call.model))
    if not call.began and "APITimeoutError" in names:
        return TimedOut(
            f"{call.model} did not answer in time; check the connection, try again, or give it "
            "longer with models.idle_timeout"
        )
    if not call.began and "APIConnectionError" in names:
        reason = f"cannot reach the provider of {call.model} ({_message(error)})"
        return Unreachable(f"{reason}; check the connection and providers.<name>.base_url")
    if names & {"APIConnectionError", "TransportError", "StreamError"}:
        return ReplyBroken(f"the stream of {call.model} was cut ({_message(error)}); try again")
    return ReplyBroken(f"{call.model} sent an invalid reply ({_message(error)}); try again")


def _from_status(status: int, error: Exception, model: str) -> ReverieError:
    message = _message(error)
    if status in {401, 403}:
        return AccessDenied(f"the provider of {model} refused the key: {message}")
    if status == 404:
        return _unknown(model, message)
    if status == 413 or (status == 400 and _TOO_LONG.search(_everything(error))):
        tokens, limit = _sizes(_everything(error))
        return PromptTooLong(f"{model}: {message}", tokens=tokens, limit=limit)
    if status in {408, 409, 429} or status >= 500 or _LATER.search(_everything(error)):
        return Overloaded(
            f"{model} is not available now ({status}: {message})", retry_after=_wait(error)
        )
    if status < 400:
        return ReplyBroken(f"{model} sent an invalid reply ({message}); try again")
    return RequestRefused(f"{model} refused the request ({status}): {message}")


def _unknown(model: str, message: str) -> ModelError | UnknownModelError:
    close = [name for name in similar(model) if name != model]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return UnknownModelError(f"no model {model!r} at this provider ({message}){hint}")


def _no_key(model: str) -> str:
    return (
        f"no key for {model}; put it in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, or the "
        "variable named by providers.<name>.api_key_env)"
    )


def _message(error: Exception) -> str:
    """The provider's message, shortened."""
    body = getattr(error, "body", None)
    message = _find_message(body) or str(error) or type(error).__name__
    return message if len(message) <= 300 else message[:297] + "…"


def _find_message(body: Any) -> str | None:
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict):
            return _find_message(inner)
        message = body.get("message")
        return message if isinstance(message, str) else None
    return None


def _everything(error: Exception) -> str:
    return f"{error} {getattr(error, 'body', '')} {getattr(error, 'code', '')}"


def too_long(message: str) -> tuple[int | None, int | None] | None:
    """The size and the limit that a refusal for length names; None for another refusal."""
    return _sizes(message) if _TOO_LONG.search(message) else None


def _sizes(text: str) -> tuple[int | None, int | None]:
    for pattern in _SIZES:
        if found := pattern.search(text):
            return int(found["tokens"]), int(found["limit"])
    return None, None


def _wait(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None


class Accumulator(Protocol):
    """Turns a provider's events into deltas and, at the end, a complete reply."""

    def feed(self, event: dict[str, Any]) -> list[StreamItem]: ...

    def reply(self) -> Reply: ...


# Default time-outs: between two events, and for connecting.
IDLE_SECONDS = 180.0
CONNECT_SECONDS = 10.0


async def streamed(events: Any, accumulator: Accumulator, call: Call) -> AsyncIterator[StreamItem]:
    """Yield deltas as they arrive, then the reply; always close the connection."""
    try:
        async for event in events:
            call.began = True
            for item in accumulator.feed(event.model_dump(mode="json", warnings=False)):
                yield item
    finally:
        await events.close()
    yield accumulator.reply()
