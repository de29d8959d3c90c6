"""Provider failures as Reverie's errors: both official SDKs share one shape, so one map serves both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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

# Providers word "too long" differently; sizes are read where they are given.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|context_length_exceeded|exceed_context_size"
    r"|context window|too many tokens|input is too long",
    re.IGNORECASE,
)
# An error that arrives inside a stream has the status 200; its type says what it is.
_LATER = re.compile(r"overloaded_error|rate_limit_error|'api_error'|server_error")
_SIZES = (
    re.compile(r"(?P<tokens>\d+) tokens > (?P<limit>\d+)"),
    re.compile(r"maximum context length is (?P<limit>\d+).*?(?P<tokens>\d+)", re.DOTALL),
    re.compile(r"n_prompt_tokens\D+(?P<tokens>\d+)\D+n_ctx\D+(?P<limit>\d+)"),
)


@contextmanager
def sdk_missing(package: str) -> Iterator[None]:
    """Say how to install an SDK that is not there."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"the {package!r} package is not installed; run: pip install 'reverie[{package}]'"
        ) from error


@dataclass(slots=True)
class Call:
    """A call under way; `began` once the reply has started to arrive."""

    model: str
    began: bool = False


@contextmanager
def sdk_failures(model: str) -> Iterator[Call]:
    """Translate whatever an official SDK raises while a call is under way."""
    call = Call(model)
    try:
        yield call
    except ReverieError:
        raise
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
        said = f"cannot reach the provider of {call.model} ({_said(error)})"
        return Unreachable(f"{said}; check the connection and providers.<name>.base_url")
    if names & {"APIConnectionError", "TransportError", "StreamError"}:
        return ReplyBroken(f"the stream of {call.model} was cut ({_said(error)}); try again")
    what = f"{call.model} answered something that is no reply"
    return ReplyBroken(f"{what} ({_said(error)}); try again")


def _from_status(status: int, error: Exception, model: str) -> ReverieError:
    said = _said(error)
    if status in {401, 403}:
        return AccessDenied(f"the provider of {model} refused the key: {said}")
    if status == 404:
        return _unknown(model, said)
    if status == 413 or (status == 400 and _TOO_LONG.search(_everything(error))):
        tokens, limit = _sizes(_everything(error))
        return PromptTooLong(f"{model}: {said}", tokens=tokens, limit=limit)
    if status in {408, 409, 429} or status >= 500 or _LATER.search(_everything(error)):
        return Overloaded(
            f"{model} is not available now ({status}: {said})", retry_after=_wait(error)
        )
    if status < 400:
        return ReplyBroken(f"{model} answered something that is no reply ({said}); try again")
    return RequestRefused(f"{model} refused the request ({status}): {said}")


def _unknown(model: str, said: str) -> ModelError | UnknownModelError:
    close = [name for name in similar(model) if name != model]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return UnknownModelError(f"no model {model!r} at this provider ({said}){hint}")


def _no_key(model: str) -> str:
    return (
        f"no key for {model}; put it in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, or the "
        "variable named by providers.<name>.api_key_env)"
    )


def _said(error: Exception) -> str:
    """The provider's own message, short."""
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
