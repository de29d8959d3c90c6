"""Run the provider by hand: `python -m tests.provider --port 8900`."""

import argparse
import signal
import threading

from tests.provider.provider import Provider
from tests.provider.server import ProviderServer

_ABOUT = """\
Anthropic SDK  base_url={url}
OpenAI SDK     base_url={url}/v1
Any key works except "bad". Every request gets an echo; the documented rules are enforced, and
each refusal says which rule was broken. Ctrl-C stops the server."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.provider",
        description="A local server that speaks the Anthropic and OpenAI wire formats and "
        "enforces their documented rules. It never leaves this machine.",
    )
    parser.add_argument("--port", type=int, default=8900, help="port on 127.0.0.1 (default 8900)")
    parser.add_argument(
        "--window",
        action="append",
        default=[],
        metavar="MODEL=TOKENS",
        help="shrink a model's context window; repeatable",
    )
    options = parser.parse_args()
    window = {name: int(size) for name, _, size in (w.partition("=") for w in options.window)}
    server = ProviderServer(options.port)
    server.start()
    server.serve(Provider(window=window))
    print(_ABOUT.format(url=server.url), flush=True)
    stopped = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.set())
    stopped.wait()
    server.stop()


if __name__ == "__main__":
    main()
