"""A stand-in for a small local model: an OpenAI-compatible server that only reads.

It answers with the line of the message that shares the most words with the question, else with what it
`knows`, else that it does not know. It cannot reason, and it believes whatever it is given.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WORD = re.compile(r"[a-z0-9_-]+")
_SMALL = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "we",
        "i",
        "you",
        "it",
        "its",
        "this",
        "that",
        "what",
        "which",
        "who",
        "where",
        "when",
        "how",
        "know",
        "about",
        "give",
        "missing",
        "value",
        "now",
        "says",
        "person",
        "and",
        "or",
        "to",
        "for",
        "with",
        "use",
        "used",
        "should",
    ]
)
_FEWEST_SHARED = 2


def words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in _SMALL}


def answer(message: str, knows: Mapping[str, str]) -> str:
    """The best line above the question, else what is known, else that it is not."""
    notes, _, question = message.rpartition("---\n\n")
    asked = words(question)
    lines = [line.strip() for line in notes.splitlines() if line.strip()]
    scored = [(len(asked & words(line)), n) for n, line in enumerate(lines)]
    best = max(scored, default=(0, 0))
    if best[0] >= _FEWEST_SHARED:
        return lines[best[1]]
    for key, value in knows.items():
        if words(key) <= asked:
            return value
    return "I don't know."


class _Handler(BaseHTTPRequestHandler):
    knows: Mapping[str, str] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(p.get("text", "") for p in content)
        reply = answer(text, self.knows)
        sent = sum(len(str(one["content"])) for one in body["messages"]) // 4
        usage = {"prompt_tokens": sent, "completion_tokens": len(reply) // 4 + 1}
        usage["total_tokens"] = sum(usage.values())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choices, used in (
            (
                [
                    {
                        "index": 0,
                        "delta": {"role": "assistant", "content": reply},
                        "finish_reason": None,
                    }
                ],
                None,
            ),
            ([{"index": 0, "delta": {}, "finish_reason": "stop"}], None),
            ([], usage),
        ):
            chunk: dict[str, Any] = {
                "id": "r", "object": "chat.completion.chunk", "created": 0,
                "model": body["model"], "choices": choices, "usage": used,
            }  # fmt: skip
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def reading_model(knows: Mapping[str, str] | None = None) -> Iterator[tuple[str, ...]]:
    """Serve the model on loopback; yields the settings with which Reverie reaches it as `reader:reader`."""
    handler = type("Handler", (_Handler,), {"knows": dict(knows or {})})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield (
            "providers.reader.kind=openai",
            f"providers.reader.base_url=http://127.0.0.1:{server.server_port}/v1",
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
