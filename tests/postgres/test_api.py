"""The HTTP API: memories, compare-and-swap, idempotency, recall, keys, promotion, money."""

from tests.postgres.running import Tenant
from tests.postgres.serving import Running

SHIP = "We deploy the shop with make ship every Friday."


def project(running: Running, tenant: Tenant, space: str = "ada", name: str = "github.com/a/b"):
    status, found, _ = running.ask(tenant.admin, "PUT", f"/v1/spaces/{space}/projects/{name}")
    assert status == 200, found
    return f"/v1/projects/{found['project']}"


def test_probes_and_description(running: Running):
    assert running.ask(None, "GET", "/livez")[0] == 200
    assert running.ask(None, "GET", "/readyz")[1] == {"ready": True}
    status, described, _ = running.ask(None, "GET", "/openapi.json")
    assert status == 200
    assert "/v1/projects/{project}/memories/{file}" in described["paths"]
    assert all(op["summary"] for path in described["paths"].values() for op in path.values())
    status, problem, headers = running.ask(None, "GET", "/v1/whoami")
    assert (status, headers["content-type"]) == (401, "application/problem+json")
    assert "Authorization: Bearer" in problem["detail"]
    assert running.ask("rev1.no", "GET", "/v1/whoami")[0] == 401
    assert running.ask(None, "GET", "/nowhere")[2]["content-type"] == "application/problem+json"
    assert b"reverie_requests_total" in running.ask(None, "GET", "/metrics")[1]
    running.service.draining = True
    assert running.ask(None, "GET", "/readyz")[0] == 503
    assert running.ask(None, "GET", "/livez")[0] == 200


def test_remember_recall_and_history(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    status, saved, _ = running.ask(tenant.admin, "POST", f"{at}/remember", {"text": SHIP})
    assert (status, saved["saved"]) == (201, True)
    running.ask(tenant.admin, "POST", f"{at}/remember", {"text": "The office plant is a ficus."})
    assert running.ask(tenant.admin, "POST", f"{at}/remember", {"text": SHIP})[1]["saved"] is False
    asked = {"question": "when do we deploy the shop?"}
    found = running.ask(tenant.admin, "POST", f"{at}/recall", asked)[1]
    assert found["hits"][0]["file"] == saved["file"]
    running.work_off()
    found = running.ask(tenant.admin, "POST", f"{at}/recall", asked)[1]
    assert found["hits"][0]["file"] == saved["file"]
    assert found["hits"][0]["sure"]
    assert found["semantic"]
    [second, first] = running.ask(tenant.admin, "GET", f"{at}/revisions")[1]["revisions"]
    assert first["files"] == ["MEMORY.md", saved["file"]]
    page = running.ask(tenant.admin, "GET", f"{at}/revisions?limit=1")[1]
    assert page["revisions"] == [second]
    rest = running.ask(tenant.admin, "GET", f"{at}/revisions?limit=1&cursor={page['cursor']}")[1]
    assert (rest["revisions"], rest["cursor"]) == ([first], None)
    listed = running.ask(tenant.admin, "GET", f"{at}/memories?limit=2")[1]
    rest = running.ask(tenant.admin, "GET", f"{at}/memories?cursor={listed['cursor']}")[1]
    assert len(listed["memories"]) + len(rest["memories"]) == 2


def test_compare_and_swap(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant) + "/memories/note.md"
    assert running.ask(tenant.admin, "PUT", at, b"one\n")[0] == 428
    status, _, headers = running.ask(tenant.admin, "PUT", at, b"one\n", If_None_Match="*")
    assert status == 200
    first = headers["etag"]
    assert running.ask(tenant.admin, "GET", at, If_None_Match=first)[0] == 304
    assert running.ask(tenant.admin, "PUT", at, b"two\n", If_Match=first)[0] == 200
    status, problem, _ = running.ask(tenant.admin, "PUT", at, b"three\n", If_Match=first)
    assert (status, problem["file"]) == (409, "note.md")
    assert running.ask(tenant.admin, "GET", at)[1] == b"two\n"
    assert running.ask(tenant.admin, "DELETE", at, If_Match=first)[0] == 409
    status, problem, _ = running.ask(
        tenant.admin, "PUT", at.replace("note", "..%2f..%2fx"), b"x", If_None_Match="*"
    )
    assert status == 422


def test_a_repeated_request_is_done_once(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    body = {"text": SHIP}
    first = running.ask(tenant.admin, "POST", f"{at}/remember", body, Idempotency_Key="k1")
    again = running.ask(tenant.admin, "POST", f"{at}/remember", body, Idempotency_Key="k1")
    assert again[:2] == first[:2]
    assert again[2]["idempotent-replay"] == "true"
    other = running.ask(tenant.admin, "POST", f"{at}/remember", {"text": "x"}, Idempotency_Key="k1")
    assert other[0] == 422
    assert len(running.ask(tenant.admin, "GET", f"{at}/revisions")[1]["revisions"]) == 1


def test_scopes_of_keys(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    make = {"label": "reader", "spaces": {"ada": "read"}}
    reader = running.ask(tenant.admin, "POST", "/v1/keys", make)[1]["token"]
    team = {"label": "team", "spaces": {"everyone": "write"}}
    member = running.ask(tenant.admin, "POST", "/v1/keys", team)[1]["token"]
    assert running.ask(reader, "GET", f"{at}/memories")[0] == 200
    status, problem, _ = running.ask(reader, "POST", f"{at}/remember", {"text": SHIP})
    assert status in (403, 422), problem
    assert running.ask(member, "GET", f"{at}/memories")[0] == 404
    assert running.ask(reader, "POST", "/v1/keys", make)[0] == 403
    assert running.ask(reader, "GET", "/v1/keys")[0] == 403
    id_ = reader.split(".")[0]
    fresh = running.ask(tenant.admin, "POST", f"/v1/keys/{id_}/rotate")[1]["token"]
    assert running.ask(reader, "GET", "/v1/whoami")[0] == 401
    assert running.ask(fresh, "GET", "/v1/whoami")[1]["spaces"][0]["scope"] == "read"
    assert running.ask(tenant.admin, "DELETE", f"/v1/keys/{id_}")[0] == 204
    assert running.ask(fresh, "GET", "/v1/whoami")[0] == 401


def test_promotion_is_reviewed_by_another_key(running: Running):
    tenant = running.fleet.tenant("acme")
    mine, team = project(running, tenant), project(running, tenant, "everyone")
    saved = running.ask(tenant.admin, "POST", f"{mine}/remember", {"text": SHIP})[1]["file"]
    ask = {"file": saved, "space": "everyone"}
    status, asked, _ = running.ask(tenant.admin, "POST", f"{mine}/promotions", ask)
    assert status == 201
    decide = f"/v1/promotions/{asked['id']}"
    assert running.ask(tenant.admin, "POST", decide, {"decision": "approve"})[0] == 403
    assert running.ask(tenant.admin, "GET", f"{team}/memories/{saved}")[0] == 404
    make = {"label": "reviewer", "spaces": {"everyone": "write"}}
    reviewer = running.ask(tenant.admin, "POST", "/v1/keys", make)[1]["token"]
    assert running.ask(reviewer, "POST", decide, {"decision": "approve"})[0] == 200
    assert b"origin: team" in running.ask(reviewer, "GET", f"{team}/memories/{saved}")[1]
    personal = b"---\nname: me\ntype: user\n---\nI like tea.\n"
    put = f"{mine}/memories/me.md"
    running.ask(tenant.admin, "PUT", put, personal, If_None_Match="*")
    ask = {"file": "me.md", "space": "everyone"}
    status, problem, _ = running.ask(tenant.admin, "POST", f"{mine}/promotions", ask)
    assert status == 422
    assert "always private" in problem["detail"]
    put = f"{team}/memories/me.md"
    assert running.ask(tenant.admin, "PUT", put, personal, If_None_Match="*")[0] == 422


def test_leases_and_caps(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant) + "/leases/dream"
    assert running.ask(tenant.admin, "PUT", at, {"holder": "a", "seconds": 60})[0] == 200
    assert running.ask(tenant.admin, "PUT", at, {"holder": "b", "seconds": 60})[0] == 409
    assert running.ask(tenant.admin, "DELETE", f"{at}?holder=a")[0] == 204
    assert running.ask(tenant.admin, "PUT", at, {"holder": "b", "seconds": 60})[0] == 200
    assert running.ask(tenant.admin, "PUT", "/v1/caps", {"day": 1.0})[0] == 204
    call = {"purpose": "dream", "ceiling": 0.6}
    status, reserved, _ = running.ask(tenant.admin, "POST", "/v1/ledger", call)
    assert status == 201
    status, problem, _ = running.ask(tenant.admin, "POST", "/v1/ledger", call)
    assert status == 402
    assert "$0.6000 is spent" in problem["detail"]
    settle = f"/v1/ledger/{reserved['ticket']}"
    assert running.ask(tenant.admin, "PUT", settle, {"cost": 0.1})[0] == 204
    assert running.ask(tenant.admin, "POST", "/v1/ledger", call)[0] == 201
