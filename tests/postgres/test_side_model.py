"""Workers with a model: what it finds, what it may see of the machine, and who pays."""

import json
from pathlib import Path

import psycopg
import pytest
from tests.flows.sessions import MODEL, Desk
from tests.place import Place
from tests.postgres.running import Tenant
from tests.postgres.serving import Running
from tests.postgres.test_api import project
from tests.postgres.test_learning import memories, post, two_of_a_kind
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import ScriptItem, ToolCall

from reverie.errors import InputError
from reverie.server.side_model import SideModel

PAYROLL = "Bruno owns the payroll service since 2026-03."
PREFERENCE = "From now on always use pnpm instead of npm in this repository."
TALK = [{"role": "user", "content": text} for text in (PAYROLL, PREFERENCE)]


@pytest.fixture
def desk(
    place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch, running: Running
) -> Desk:
    made = Desk(place, provider, monkeypatch)
    running.model = SideModel.of(made.app(f"server.model={MODEL}"))
    return made


def keeps_payroll(request: RecordedRequest) -> ScriptItem:
    last = json.dumps(request.json["messages"][-1])
    if "tool_result" in last or PAYROLL not in last:
        return "Nothing more."
    number = last.split(f". user: {PAYROLL}")[0].rsplit("\\n", 1)[-1]
    head = f"name: Payroll\ndescription: {PAYROLL}\ntype: project\nsource: [{number}]\n"
    content = f"---\n{head}---\n\n{PAYROLL}\n"
    return ToolCall("Write", {"path": "/memory/project_payroll.md", "content": content})


def ledger(running: Running) -> list[tuple[object, ...]]:
    with psycopg.connect(running.fleet.owner_url) as connection:
        return connection.execute(
            "SELECT key, purpose, session, settled, cost > 0, entry ->> 'model' FROM reverie.ledger"
        ).fetchall()


def laptop(tenant: Tenant) -> str:
    return tenant.tenancy.create_key("laptop", {"ada": "write"})


def test_a_model_finds_what_no_rule_does(running: Running, desk: Desk):
    tenant = running.fleet.tenant("acme")
    at, key = project(running, tenant), laptop(tenant)
    desk.provider.respond(keeps_payroll)
    body = {"messages": TALK}
    assert running.ask(key, "POST", f"{at}/conversations/monday", body)[0] == 202
    running.work_off()
    found = memories(running, tenant, at)
    assert len(found) == 2
    assert any("payroll" in one for one in found)
    revisions = running.ask(tenant.admin, "GET", f"{at}/revisions")[1]["revisions"]
    assert sorted(one["author"]["model"] for one in revisions) == ["", MODEL]
    # The key that posted it pays.
    paid = (key.partition(".")[0], "extract", "monday", True, True, MODEL.partition(":")[2])
    assert {*ledger(running)} == {paid}
    tools = {tool["name"] for tool in desk.provider.requests[0].json["tools"]}
    assert tools == {"Read", "Grep", "Edit", "Write"}


@pytest.mark.parametrize("whose", ["organisation", "operator"])
def test_a_cap_leaves_the_rules_alone(running: Running, desk: Desk, whose: str):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    if whose == "organisation":
        cap = {"purpose": "extract", "day": 0.0001}
        assert running.ask(tenant.admin, "PUT", "/v1/caps", cap)[0] == 204
    else:
        app = desk.app(f"server.model={MODEL}", "spend.day=0.0001")
        running.model = SideModel.of(app)
    post(running, tenant, at, "monday", TALK)
    running.work_off()
    assert desk.provider.requests == []
    assert ledger(running) == []
    assert len(memories(running, tenant, at)) == 1


def test_its_agents_see_their_copy_and_no_other_file(running: Running, desk: Desk, tmp_path: Path):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    two_of_a_kind(running, tenant, at)
    (tmp_path / "secret.md").write_text("the crown jewels")
    outside = str(tmp_path / "secret.md")
    tries = [
        ToolCall("Read", {"path": outside}),
        ToolCall("Read", {"path": "../../../../../../etc/passwd"}),
        ToolCall("Read", {"path": "~/secret.md"}),
        ToolCall("Grep", {"pattern": "jewels", "path": str(tmp_path), "output": "content"}),
        ToolCall("Write", {"path": str(tmp_path / "new.md"), "content": "x"}),
    ]
    for call in tries:
        desk.provider.script(call)
    desk.provider.respond(lambda request: "Done.")
    post(running, tenant, at, "monday", TALK)
    running.work_off()
    told = json.dumps([request.json["messages"] for request in desk.provider.requests])
    assert told.count("may be read here") >= 4
    assert "crown" not in told
    assert "root:" not in told
    assert not (tmp_path / "new.md").exists()


def test_a_dream_with_a_model(running: Running, desk: Desk):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    two_of_a_kind(running, tenant, at)
    post(running, tenant, at, "monday", [{"role": "user", "content": "Good morning."}])
    asked: list[str] = []

    def respond(request: RecordedRequest) -> ScriptItem:
        text = json.dumps(request.json["messages"])
        asked.append(text)
        if "tool_result" in text:
            return "ship_1.md | cues | ship_1.md"
        folder = text.split("Past conversations are in ")[1].split(":")[0]
        return ToolCall("Read", {"path": f"{folder}/monday.jsonl"})

    desk.provider.respond(respond)
    assert running.ask(tenant.admin, "POST", f"{at}/dreams")[0] == 202
    running.work_off()
    [dream] = running.ask(tenant.admin, "GET", f"{at}/dreams")[1]["dreams"]
    assert (dream["state"], dream["report"]["model"]) == ("completed", MODEL)
    assert "Good morning." in asked[-1]
    assert {row[:2] for row in ledger(running)} == {("worker", "dream")}


def test_a_model_that_no_provider_has_is_told_at_the_start(desk: Desk):
    assert SideModel.of(desk.app()) is None
    with pytest.raises(InputError, match="nowhere"):
        SideModel.of(desk.app("server.model=nowhere:small"))
