"""Batches of both providers: requests that are answered when the test says so, at the earliest.

Each request of a batch passes the rules and the script of the ordinary endpoint. Results come in the
reverse order of the requests: the documentation promises none. `Provider.end_batches` answers what waits; a test may
let some expire. A deleted batch and a deleted file are gone.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email import message_from_bytes
from typing import TYPE_CHECKING, Any

from tests.provider.blocks import Json, compact
from tests.provider.gate import Gate
from tests.provider.record import RecordedRequest
from tests.provider.rejection import Rejection
from tests.provider.transport import Delivery, json_delivery

if TYPE_CHECKING:
    from tests.provider.provider import Provider

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DAY = 86_400
# Answers one request as its own endpoint would.
Answering = Callable[[RecordedRequest, str], Delivery]


@dataclass(slots=True)
class Job:
    """One batch: its requests by id, and its results once it has ended."""

    id: str
    requests: dict[str, Json]
    headers: Mapping[str, str]
    answering: Answering
    created: float
    endpoint: str = ""
    metadata: Json = field(default_factory=dict)
    input_file: str = ""
    status: str = "in_progress"
    # Status and body of each answer; None: expired or cancelled.
    results: dict[str, tuple[int, Json] | None] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Desk:
    """All batches and files of one provider."""

    jobs: dict[str, Job] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    # Holds the answer to this verb of the API until the test lets it go; `cut` breaks it off.
    gates: dict[str, Gate] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)

    def end(self, provider: "Provider", *, expired: tuple[int, ...] = ()) -> None:
        """Answer every request that waits, but those at these places of a batch."""
        for job in self.jobs.values():
            if job.status in ("in_progress", "canceling"):
                stopped = job.status == "canceling"
                for place, (id_, body) in reversed(list(enumerate(job.requests.items()))):
                    left = stopped or place in expired
                    job.results[id_] = None if left else _answer(provider, job, body)
                job.status = "cancelled" if stopped else "expired" if expired else "ended"

    def job(self, id_: str) -> Job:
        if id_ not in self.jobs:
            raise Rejection("batch", f"batch {id_} not found", status=404)
        return self.jobs[id_]

    def sent(self, verb: str, delivery: Delivery) -> Delivery:
        if verb in self.cut:
            return replace(delivery, chunks=(b"{",), complete=False)
        return replace(delivery, gate=self.gates.get(verb))


def _answer(provider: "Provider", job: Job, body: Json) -> tuple[int, Json]:
    raw = compact(body)
    record = provider.receive(RecordedRequest(0, "batched", "POST", "", job.headers, raw, body))
    try:
        delivery = job.answering(record, provider.number("req"))
        delivery.begin()
        return delivery.status, json.loads(b"".join(delivery.chunks))
    except Rejection as rejection:
        provider.refuse(record, rejection)
        return rejection.status, {"error": {"message": rejection.message}}


def _check_ids(ids: list[str]) -> None:
    if not ids or len(set(ids)) != len(ids) or not all(map(_ID.fullmatch, ids)):
        raise Rejection("batch", "custom_id: must be unique, 1 to 64 of a-z, A-Z, 0-9, _ and -")


def _jsonl(lines: list[Json]) -> bytes:
    return b"".join(compact(line) + b"\n" for line in lines)


class AnthropicBatchesApi:
    """/v1/messages/batches"""

    def __init__(self, provider: "Provider", answering: Answering) -> None:
        self._provider = provider
        self._desk = provider.batches
        self._answering = answering

    def handle(self, verb: str, request: RecordedRequest) -> Delivery:
        if not request.headers.get("anthropic-version"):
            raise Rejection("version", "anthropic-version: header is required")
        id_ = request.path.split("/")[4] if request.path.count("/") > 3 else ""
        answers: dict[str, Callable[[], Json | bytes]] = {
            "create": lambda: self._create(request),
            "list": self._list,
            "retrieve": lambda: self._shown(self._desk.job(id_)),
            "cancel": lambda: self._cancel(id_),
            "delete": lambda: self._delete(id_),
            "results": lambda: self._results(id_),
        }
        body = answers[verb]()
        self._provider.finish(request, 200, None, None)
        if isinstance(body, bytes):
            return self._desk.sent(verb, Delivery(200, {"content-type": "binary"}, (body,)))
        return self._desk.sent(verb, json_delivery(200, body))

    def _create(self, request: RecordedRequest) -> Json:
        lines = request.json.get("requests") or []
        _check_ids([line.get("custom_id", "") for line in lines])
        if any(line["params"].get("stream") for line in lines):
            raise Rejection("batch", "stream: not supported in a batch")
        requests = {line["custom_id"]: line["params"] for line in lines}
        id_ = self._provider.number("msgbatch")
        job = Job(id_, requests, request.headers, self._answering, self._desk.now())
        self._desk.jobs[id_] = job
        return self._shown(job)

    def _list(self) -> Json:
        shown = [self._shown(job) for job in reversed(self._desk.jobs.values())]
        return {"data": shown, "has_more": False, "first_id": None, "last_id": None}

    def _cancel(self, id_: str) -> Json:
        self._desk.job(id_).status = "canceling"
        return self._shown(self._desk.job(id_))

    def _delete(self, id_: str) -> Json:
        job = self._desk.job(id_)
        if job.status in ("in_progress", "canceling"):
            raise Rejection("batch", "a batch cannot be deleted while it is processed")
        del self._desk.jobs[id_]
        return {"id": id_, "type": "message_batch_deleted"}

    def _results(self, id_: str) -> bytes:
        job = self._desk.job(id_)
        other = "canceled" if job.status == "cancelled" else "expired"
        return _jsonl([_claude_line(id_, one, other) for id_, one in job.results.items()])

    def _shown(self, job: Job) -> Json:
        ended = job.status not in ("in_progress", "canceling")
        counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
        counts["succeeded" if ended else "processing"] = len(job.requests)
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else job.status,
            "request_counts": counts,
            "created_at": _stamp(job.created),
            "expires_at": _stamp(job.created + _DAY),
            "ended_at": _stamp(job.created + 60) if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self._provider.base_url}/v1/messages/batches/{job.id}/results"
            if ended
            else None,
        }


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _claude_line(id_: str, result: tuple[int, Json] | None, other: str) -> Json:
    if result is None:
        return {"custom_id": id_, "result": {"type": other}}
    status, body = result
    if status == 200:
        return {"custom_id": id_, "result": {"type": "succeeded", "message": body}}
    error = {"type": "error", "error": {"type": "invalid_request_error", **body["error"]}}
    return {"custom_id": id_, "result": {"type": "errored", "error": error}}


class OpenAiBatchesApi:
    """/v1/files and /v1/batches"""

    def __init__(self, provider: "Provider", answering: Mapping[str, Answering]) -> None:
        self._provider = provider
        self._desk = provider.batches
        self._answering = answering

    def handle(self, verb: str, request: RecordedRequest) -> Delivery:
        parts = request.path.split("/")
        id_ = parts[3] if len(parts) > 3 else ""
        answers: dict[str, Callable[[], Json | bytes]] = {
            "upload": lambda: self._upload(request),
            "files": lambda: _page([self._file(id_) for id_ in self._desk.files]),
            "content": lambda: self._found(id_)[1],
            "remove": lambda: self._remove(id_),
            "create": lambda: self._create(request),
            "list": lambda: _page([_shown(job) for job in reversed(self._desk.jobs.values())]),
            "retrieve": lambda: self._retrieve(id_),
            "cancel": lambda: self._cancel(id_),
        }
        body = answers[verb]()
        self._provider.finish(request, 200, None, None)
        if isinstance(body, bytes):
            return self._desk.sent(verb, Delivery(200, {"content-type": "binary"}, (body,)))
        return self._desk.sent(verb, json_delivery(200, body))

    def _upload(self, request: RecordedRequest) -> Json:
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts: Any = message_from_bytes(head + request.body).get_payload()
        named = {part.get_param("name", header="content-disposition"): part for part in parts}
        if named["purpose"].get_payload().strip() != "batch":
            raise Rejection("batch", "purpose: only batch is served here")
        file = named["file"]
        return self._file(self._keep(file.get_filename(), file.get_payload(decode=True)))

    def _keep(self, name: str, data: bytes) -> str:
        id_ = self._provider.number("file")
        self._desk.files[id_] = (name, data)
        return id_

    def _found(self, id_: str) -> tuple[str, bytes]:
        if id_ not in self._desk.files:
            raise Rejection("batch", f"No such File object: {id_}", status=404)
        return self._desk.files[id_]

    def _file(self, id_: str) -> Json:
        name, data = self._found(id_)
        more = {"object": "file", "created_at": 0, "purpose": "batch", "status": "processed"}
        return {"id": id_, "filename": name, "bytes": len(data), **more}

    def _remove(self, id_: str) -> Json:
        self._found(id_)
        del self._desk.files[id_]
        return {"id": id_, "object": "file", "deleted": True}

    def _create(self, request: RecordedRequest) -> Json:
        asked = request.json
        if asked.get("completion_window") != "24h":
            raise Rejection("batch", "completion_window: must be 24h")
        lines = [json.loads(line) for line in self._found(asked["input_file_id"])[1].splitlines()]
        _check_ids([line["custom_id"] for line in lines])
        if any(line["url"] != asked["endpoint"] for line in lines):
            raise Rejection("batch", "url: must be the endpoint of the batch")
        job = Job(
            self._provider.number("batch"),
            {line["custom_id"]: line["body"] for line in lines},
            request.headers,
            self._answering[asked["endpoint"]],
            self._desk.now(),
            asked["endpoint"],
            asked.get("metadata") or {},
            asked["input_file_id"],
        )
        self._desk.jobs[job.id] = job
        return _shown(job)

    def _cancel(self, id_: str) -> Json:
        self._desk.job(id_).status = "canceling"
        return _shown(self._desk.job(id_))

    def _retrieve(self, id_: str) -> Json:
        job = self._desk.job(id_)
        if job.results and not job.files:
            good, bad = list[Json](), list[Json]()
            for name, result in job.results.items():
                line = _gpt_line(name, result, job.status)
                (bad if line["error"] or result is None or result[0] != 200 else good).append(line)
            for kind, lines in (("output", good), ("error", bad)):
                if lines:
                    job.files[kind] = self._keep(f"{id_}_{kind}.jsonl", _jsonl(lines))
        return _shown(job)


def _page(rows: list[Json]) -> Json:
    return {"object": "list", "data": rows, "has_more": False}


def _shown(job: Job) -> Json:
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.endpoint,
        "input_file_id": job.input_file,
        "completion_window": "24h",
        "status": {"ended": "completed", "canceling": "cancelling"}.get(job.status, job.status),
        "created_at": int(job.created),
        "metadata": job.metadata,
        "output_file_id": job.files.get("output"),
        "error_file_id": job.files.get("error"),
    }


def _gpt_line(id_: str, result: tuple[int, Json] | None, status: str) -> Json:
    if result is None:
        code = "batch_cancelled" if status == "cancelled" else "batch_expired"
        error = {"code": code, "message": "This request could not be executed in time."}
        return {"id": f"r_{id_}", "custom_id": id_, "response": None, "error": error}
    response = {"status_code": result[0], "request_id": "req", "body": result[1]}
    return {"id": f"r_{id_}", "custom_id": id_, "response": response, "error": None}
