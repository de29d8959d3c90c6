"""A model on loopback that is asked in Gemini's way: it says one word, and keeps what it was shown."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class GeminiServer(ThreadingHTTPServer):
    """Serves between entering and leaving."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def shown(self) -> str:
        """Everything the model was shown the last time beside the tools, in order."""
        return "\n".join(
            part.get("text") or json.dumps(part)
            for content in self.asked[-1]["contents"]
            for part in content["parts"]
        )


class _Handler(BaseHTTPRequestHandler):
    server: GeminiServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        part = {"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}
        data = json.dumps({"candidates": [part], "usageMetadata": {"totalTokenCount": 7}})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {data}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None: ...
