"""Requests that may wait up to a day, at half the price: Anthropic's Message Batches, OpenAI's Batch API.

Other providers are not supported. A batch is submitted with a token chosen by the caller, by which
`find` recognises it if the caller died before storing the provider's id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from reverie.core.request import Reply, Request
from reverie.core.usage import Prices
from reverie.errors import InputError, ReverieError
from reverie.models import anthropic, openai, openai_chat, openai_responses
from reverie.models.catalog import batch_prices
from reverie.models.failures import sdk_failures
from reverie.models.selection import OFFLINE, find_provider, make_model

if TYPE_CHECKING:
    from reverie.settings import Settings

# How much the clocks of this machine and the provider may differ, in seconds.
_SKEW = 300.0
# The longest time from a call to the start of the batch it created.
_LATE = 900.0
_METADATA = "reverie"
_GONE = 404


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to one request of a batch, or why there is none, and whether it is charged anyway."""

    reply: Reply | None
    why: str = ""
    cancelled: bool = False
    charged: bool = False


_EXPIRED = Answer(None, "it was not answered within a day")
_CANCELLED = Answer(None, "it was cancelled", cancelled=True)
GONE = Answer(None, "the provider no longer has its answer", charged=True)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of looking for a batch; not `sure` while another one may still be the right one."""

    batch: str = ""
    sure: bool = True


class Batches(Protocol):
    """The batches of one model at its provider. Failures are `ReverieError`s."""

    name: str
    prices: Prices | None

    async def submit(self, token: str, requests: Mapping[str, Request]) -> str:
        """Submit requests by their ids, which begin with the token; returns the batch's id."""
        ...

    async def find(self, token: str, size: int, at: float) -> Found:
        """Look for a batch of this size, submitted at about this time."""
        ...

    async def poll(self, batch: str) -> bool:
        """Whether every request has an answer, or will never have one."""
        ...

    async def collect(self, batch: str) -> dict[str, Answer]:
        """The answers by id, in any order; the answer for "" applies to every request without its own."""
        ...

    async def cancel(self, batch: str) -> None:
        """Cancel the batch; answers that exist by then are charged and can be collected."""
        ...

    async def delete(self, batch: str) -> None:
        """Delete the provider's data of an ended batch."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


def refusal(settings: Settings, name: str) -> str:
    """Why requests to this model cannot go as a batch; empty if they can."""
    if name == OFFLINE:
        return "no model is configured (models.side, models.main)"
    provider, model = find_provider(settings, name)
    if provider.name in ("anthropic", "openai"):
        return ""
    return f"the provider {provider.name!r} of {model} has no batches that Reverie can use; Anthropic and OpenAI have"


def open_batches(settings: Settings, name: str) -> Batches:
    """The batches of a model; InputError if its provider has none."""
    if why := refusal(settings, name):
        raise InputError(why)
    model = make_model(settings, name)
    if isinstance(model, anthropic.AnthropicModel):
        return AnthropicBatches(model)
    if isinstance(model, openai.OpenAIModel):
        return OpenAIBatches(model)
    raise InputError(f"the provider of {name} has no batches that Reverie can use")


class AnthropicBatches:
    """Message Batches. They have no name, so only the results identify a batch."""

    def __init__(self, model: anthropic.AnthropicModel) -> None:
        self._model = model
        self.name = model.name
        self.prices = batch_prices(model.prices)

    async def submit(self, token: str, requests: Mapping[str, Request]) -> str:
        bodies = {id_: self._model.body(request) for id_, request in requests.items()}
        betas = sorted({beta for body in bodies.values() for beta in body.pop("betas", ())})
        for body in bodies.values():
            body.pop("diagnostics", None)
        made: Any = [{"custom_id": id_, "params": body} for id_, body in bodies.items()]
        more: Any = {"betas": betas} if betas else {}
        api = await self._api()
        with sdk_failures(self.name):
            return str((await api.create(requests=made, **more)).id)

    async def find(self, token: str, size: int, at: float) -> Found:
        api, unsure = await self._api(), False
        with sdk_failures(self.name):
            async for batch in api.list(limit=100):
                created = batch.created_at.timestamp()
                if created < at - _SKEW:
                    break
                counts = batch.request_counts.model_dump(warnings=False)
                if created > at + _LATE or sum(counts.values()) != size or batch.archived_at:
                    continue
                if batch.processing_status != "ended":
                    unsure = True
                elif any(id_.startswith(token) for id_ in await self.collect(batch.id)):
                    return Found(batch.id)
        return Found(sure=not unsure)

    async def poll(self, batch: str) -> bool:
        api = await self._api()
        with sdk_failures(self.name):
            try:
                return bool((await api.retrieve(batch)).processing_status == "ended")
            except Exception as error:
                if _is_gone(error):
                    return True
                raise

    async def collect(self, batch: str) -> dict[str, Answer]:
        api, answers = await self._api(), {}
        with sdk_failures(self.name):
            try:
                async for line in await api.results(batch):
                    answers[line.custom_id] = _claude_answer(line.result)
            except Exception as error:
                if _is_gone(error):
                    return {"": GONE}
                raise
        return answers

    async def cancel(self, batch: str) -> None:
        api = await self._api()
        with sdk_failures(self.name):
            await api.cancel(batch)

    async def delete(self, batch: str) -> None:
        api = await self._api()
        with sdk_failures(self.name):
            await api.delete(batch)

    async def aclose(self) -> None:
        await self._model.aclose()

    async def _api(self) -> Any:
        # The SDK takes a second to import; do not block the event loop.
        return await asyncio.to_thread(lambda: self._model.sdk().beta.messages.batches)


def _claude_answer(result: Any) -> Answer:
    match result.type:
        case "succeeded":
            raw = result.message.model_dump(mode="json", warnings=False)
            return _answered(lambda: anthropic.whole_reply(raw))
        case "errored":
            return Answer(None, f"the provider refused it: {result.error.error.message}")
        case "canceled":
            return _CANCELLED
        case _:
            return _EXPIRED


class OpenAIBatches:
    """The Batch API: a file of requests, and files of answers and errors."""

    def __init__(self, model: openai.OpenAIModel) -> None:
        self._model = model
        self.name = model.name
        self.prices = batch_prices(model.prices)
        chat = model.protocol == "chat"
        self._url: Any = "/v1/chat/completions" if chat else "/v1/responses"
        self._reply = openai_chat.whole_reply if chat else openai_responses.whole_reply

    async def submit(self, token: str, requests: Mapping[str, Request]) -> str:
        lines = [json.dumps(self._line(id_, request)) for id_, request in requests.items()]
        sdk = await self._sdk()
        with sdk_failures(self.name):
            data = (_file_name(token), "\n".join(lines).encode())
            file = await sdk.files.create(file=data, purpose="batch")
            batch = await sdk.batches.create(
                input_file_id=file.id,
                endpoint=self._url,
                completion_window="24h",
                metadata={_METADATA: token},
            )
            return str(batch.id)

    def _line(self, id_: str, request: Request) -> dict[str, Any]:
        body = self._model.body(request)
        body.pop("stream_options", None)
        return {"custom_id": id_, "method": "POST", "url": self._url, "body": body}

    async def find(self, token: str, size: int, at: float) -> Found:
        sdk = await self._sdk()
        with sdk_failures(self.name):
            async for batch in sdk.batches.list(limit=100):
                if batch.created_at < at - _SKEW:
                    break
                if (batch.metadata or {}).get(_METADATA) == token:
                    return Found(batch.id)
            # The file may have arrived without a batch for it.
            async for file in sdk.files.list(purpose="batch"):
                if file.filename == _file_name(token):
                    await sdk.files.delete(file.id)
        return Found()

    async def poll(self, batch: str) -> bool:
        found = await self._retrieve(batch)
        return found is None or found.status in ("completed", "failed", "expired", "cancelled")

    async def collect(self, batch: str) -> dict[str, Answer]:
        found = await self._retrieve(batch)
        if found is None:
            return {"": GONE}
        sdk, answers = await self._sdk(), {"": _without_answer(found)}
        with sdk_failures(self.name):
            for file in filter(None, (found.error_file_id, found.output_file_id)):
                text = (await sdk.files.content(file)).text
                for line in filter(str.strip, text.splitlines()):
                    raw = json.loads(line)
                    answers[str(raw["custom_id"])] = self._answer(raw)
        return answers

    def _answer(self, line: dict[str, Any]) -> Answer:
        response, error = line.get("response") or {}, line.get("error") or {}
        if response.get("status_code") == 200:
            return _answered(lambda: self._reply(response["body"]))
        if error.get("code") == "batch_expired":
            return _EXPIRED
        if error.get("code") == "batch_cancelled":
            return _CANCELLED
        told = error or (response.get("body") or {}).get("error") or {}
        return Answer(None, f"the provider refused it: {told.get('message') or 'no reason given'}")

    async def cancel(self, batch: str) -> None:
        sdk = await self._sdk()
        with sdk_failures(self.name):
            await sdk.batches.cancel(batch)

    async def delete(self, batch: str) -> None:
        """Remove its files; the batch itself cannot be deleted, but holds no text."""
        found, sdk = await self._retrieve(batch), await self._sdk()
        if found is None:
            return
        with sdk_failures(self.name):
            for file in (found.input_file_id, found.output_file_id, found.error_file_id):
                if file:
                    await sdk.files.delete(file)

    async def aclose(self) -> None:
        await self._model.aclose()

    async def _retrieve(self, batch: str) -> Any:
        """The batch; None if the provider does not know it."""
        sdk = await self._sdk()
        with sdk_failures(self.name):
            try:
                return await sdk.batches.retrieve(batch)
            except Exception as error:
                if _is_gone(error):
                    return None
                raise

    async def _sdk(self) -> Any:
        # The SDK takes a second to import; do not block the event loop.
        return await asyncio.to_thread(self._model.sdk)


def _answered(read: Any) -> Answer:
    try:
        return Answer(read())
    except (ReverieError, KeyError, TypeError, IndexError) as error:
        return Answer(None, f"its answer cannot be read ({error})", charged=True)


def _without_answer(batch: Any) -> Answer:
    """Why a request that is in none of OpenAI's result files has no answer."""
    if batch.status == "cancelled":
        return _CANCELLED
    errors = [str(error.message) for error in (batch.errors and batch.errors.data) or ()]
    return Answer(None, f"the provider refused the batch: {errors[0]}") if errors else _EXPIRED


def _is_gone(error: Exception) -> bool:
    return getattr(error, "status_code", None) == _GONE


def _file_name(token: str) -> str:
    return f"reverie-{token}.jsonl"
