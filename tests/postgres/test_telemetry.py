"""OpenTelemetry of the service: a span for each request and job, in the caller's trace; off by default."""

import pytest
from tests.models.test_traced import Collected, collected
from tests.postgres.serving import Running
from tests.postgres.test_api import SHIP, project

from reverie.memory.postgres.database import Database
from reverie.server.telemetry import Telemetry
from reverie.server.worker import Worker

__all__ = ["collected"]

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_requests_and_jobs(running: Running, collected: Collected):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    assert collected.spans.get_finished_spans() == ()
    running.service.telemetry = Telemetry(enabled=True)
    running.ask(tenant.admin, "POST", f"{at}/remember", {"text": SHIP}, traceparent=PARENT)
    running.ask("rev1.wrong", "GET", "/v1/whoami")
    saved, refused = collected.spans.get_finished_spans()
    assert saved.name == "POST /v1/projects/{project}/remember"
    assert f"{saved.context.trace_id:032x}" == PARENT.split("-")[1]
    assert saved.attributes == {"http.response.status_code": 201}
    assert refused.attributes == {"http.response.status_code": 401}
    told = str([span.to_json() for span in (saved, refused)])
    assert SHIP not in told
    assert tenant.admin not in told
    points = collected.points("reverie.server.duration")
    assert [point.attributes["http.response.status_code"] for point in points] == [201, 401]

    database = Database(running.fleet.worker_url).open()
    row = tenant.tenancy.row(at.rpartition("/")[2])
    payload = f'{{"org": "{row.org}", "space": "{row.space}"}}'.encode()
    worker = Worker(database, {"x": lambda c, d: None}, telemetry=Telemetry(enabled=True))
    worker._once("x", 1, payload)
    database.close()
    assert collected.spans.get_finished_spans()[-1].name == "job x"


def test_off_it_imports_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    quiet = Telemetry()
    with quiet.span("GET /") as tell:
        tell("status", 200)
    quiet.observe("GET /", 200, 0.1)
    with pytest.raises(Exception, match="telemetry"):
        Telemetry(enabled=True)
