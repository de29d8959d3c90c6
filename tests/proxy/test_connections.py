"""Connections to providers: TLS, the environment's proxy, slow addresses, and bodies that wait."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading

import httpcore2
import httpx2
import pytest
from tests.proxy.test_pass_through import response

from reverie.proxy import connections
from reverie.proxy.running import server


class Named:
    """An application that says how it was reached."""

    async def __call__(self, scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["scheme"].encode()})


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, made = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    command += (
        f" -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {key} -out {made}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return key, made


@pytest.fixture
def secure_upstream(certificate):
    key, made = certificate
    ready = threading.Event()
    running = server(Named(), ready.set)
    running.config.ssl_keyfile, running.config.ssl_certfile = str(key), str(made)
    running.config.lifespan = "off"
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, args=([bound],))
    thread.start()
    ready.wait()
    yield f"https://localhost:{bound.getsockname()[1]}"
    running.should_exit = True
    thread.join()


def test_a_provider_with_tls(start, secure_upstream, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    proxy = start(upstream=secure_upstream)
    # The second request takes the connection that was kept.
    for _ in range(2):
        assert httpx2.get(f"{proxy.url}/v1/models").text == "https"


def test_a_provider_whose_certificate_is_not_trusted(start, secure_upstream, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    answer = httpx2.get(f"{start(upstream=secure_upstream).url}/v1/models")
    assert answer.status_code == 502
    assert "certificate" in answer.json()["error"]["message"]


def test_the_proxy_that_the_environment_names(start, raw_upstream, monkeypatch):
    raw_upstream.answers = [response(b"{}")]
    monkeypatch.setenv("http_proxy", raw_upstream.url.replace("//", "//me:secret@"))
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    proxy = start(upstream="http://gateway.example:8080/team")
    assert httpx2.get(f"{proxy.url}/v1/models").status_code == 200
    (sent,) = raw_upstream.received
    assert sent.startswith(b"GET http://gateway.example:8080/team/v1/models HTTP/1.1\r\n")
    assert b"authorization: basic" in sent.lower()


def test_an_address_that_does_not_answer_is_not_waited_for(monkeypatch):
    """The first address of the host never answers; the second one does."""

    async def connect() -> bytes:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        # A full queue: nothing more is accepted here.
        full = socket.create_server(("127.0.0.2", port), backlog=0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.2", port))
        loop = asyncio.get_running_loop()
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")

        async def addresses(*given, **options):
            return [(*kind, ("127.0.0.2", port)), (*kind, ("127.0.0.1", port))]

        monkeypatch.setattr(loop, "getaddrinfo", addresses)
        made = await connections.LoopBackend().connect_tcp("localhost", port, timeout=60)
        peer, _ = listening.accept()
        peer.sendall(b"hello")
        data = await made.read(3)
        data += await made.read(3)
        await made.aclose()
        for one in (peer, listening, full, *waiting):
            one.close()
        return data

    assert asyncio.run(connect()) == b"hello"


def test_what_cannot_be_reached_or_taken_is_an_error():
    async def run() -> None:
        backend = connections.LoopBackend()
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            with pytest.raises(httpcore2.ConnectError):
                await backend.connect_tcp("127.0.0.1", reserved.getsockname()[1], timeout=60)
        listening = socket.create_server(("127.0.0.1", 0))
        made = await backend.connect_tcp("127.0.0.1", listening.getsockname()[1], timeout=60)
        peer, _ = listening.accept()
        with pytest.raises(httpcore2.ReadTimeout):
            await made.read(10, timeout=0.01)
        # The peer does not read.
        with pytest.raises(httpcore2.WriteTimeout):
            await made.write(b"x" * 64_000_000, timeout=0.01)
        context = ssl.create_default_context()
        peer.sendall(b"no TLS at all")
        with pytest.raises(httpcore2.ConnectError):
            await made.start_tls(context, "localhost", timeout=60)
        peer.close()
        listening.close()
        await made.aclose()

    asyncio.run(run())
