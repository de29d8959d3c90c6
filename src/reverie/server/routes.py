"""The table of endpoints; the router and the OpenAPI description are made from it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from reverie.server import administration as admin
from reverie.server import conversations, forgetting, memories, moving
from reverie.server.calls import Handler


class Endpoint(NamedTuple):
    """A method, a path as Starlette writes it, and the function that answers."""

    method: str
    path: str
    handler: Handler
    # Names of the fields that the body must have.
    body: tuple[str, ...] = ()


_P = "/v1/projects/{project}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/v1/whoami", admin.who_am_i),
    Endpoint("GET", "/v1/spaces", admin.list_spaces),
    Endpoint("POST", "/v1/spaces", admin.create_space, ("name", "kind")),
    Endpoint("PATCH", "/v1/spaces/{space}", conversations.change_space),
    Endpoint("PUT", "/v1/spaces/{space}/projects/{name:path}", admin.open_project),
    Endpoint("GET", "/v1/projects", admin.list_projects),
    Endpoint("GET", f"{_P}/memories", memories.list_memories),
    Endpoint("GET", f"{_P}/memories/{{file:path}}", memories.read_memory),
    Endpoint("PUT", f"{_P}/memories/{{file:path}}", memories.write_memory),
    Endpoint("DELETE", f"{_P}/memories/{{file:path}}", memories.delete_memory),
    Endpoint("POST", f"{_P}/remember", memories.remember, ("text",)),
    Endpoint("POST", f"{_P}/forget", forgetting.forget_everywhere, ("file", "sentences")),
    Endpoint("POST", f"{_P}/recall", memories.recall, ("question",)),
    Endpoint("POST", f"{_P}/changes", memories.post_changes, ("changes", "summary", "author")),
    Endpoint("GET", f"{_P}/index", memories.read_index),
    Endpoint("GET", f"{_P}/mirror", memories.mirror),
    Endpoint("GET", f"{_P}/revisions", memories.list_revisions),
    Endpoint("GET", f"{_P}/revisions/{{revision}}", memories.revision_files),
    Endpoint("GET", f"{_P}/contents/{{version}}", memories.read_content),
    Endpoint("GET", f"{_P}/export", moving.export_revisions),
    Endpoint("POST", f"{_P}/import", moving.import_revisions, ("revisions",)),
    Endpoint("PUT", f"{_P}/import", moving.finish_import, ("files",)),
    Endpoint("GET", f"{_P}/proposals", memories.list_proposals),
    Endpoint("PUT", f"{_P}/proposals/{{id}}", memories.put_proposal),
    Endpoint("POST", f"{_P}/proposals/{{id}}", memories.decide_proposal, ("state",)),
    Endpoint("DELETE", f"{_P}/proposals/{{id}}", memories.delete_proposal),
    Endpoint("POST", f"{_P}/promotions", admin.ask_promotion, ("file", "space")),
    Endpoint("GET", "/v1/promotions", admin.list_promotions),
    Endpoint("POST", "/v1/promotions/{id}", admin.decide_promotion, ("decision",)),
    Endpoint("PUT", f"{_P}/leases/{{name}}", admin.take_lease, ("holder", "seconds")),
    Endpoint("DELETE", f"{_P}/leases/{{name}}", admin.give_lease_back),
    Endpoint("GET", f"{_P}/conversations", conversations.list_conversations),
    Endpoint(
        "POST",
        f"{_P}/conversations/{{session}}",
        conversations.post_conversation,
        ("messages",),
    ),
    Endpoint("GET", f"{_P}/conversations/{{session}}", conversations.read_conversation),
    Endpoint("DELETE", f"{_P}/conversations/{{session}}", conversations.delete_conversation),
    Endpoint("POST", f"{_P}/search", conversations.search, ("question",)),
    Endpoint("POST", f"{_P}/dreams", conversations.ask_dream),
    Endpoint("GET", f"{_P}/dreams", conversations.list_dreams),
    Endpoint("GET", "/v1/ledger", admin.list_spending),
    Endpoint("POST", "/v1/ledger", admin.reserve_money, ("purpose", "ceiling")),
    Endpoint("PUT", "/v1/ledger/{ticket}", admin.settle_money, ("cost",)),
    Endpoint("PUT", "/v1/caps", admin.set_cap, ("day",)),
    Endpoint("GET", "/v1/keys", admin.list_keys),
    Endpoint("POST", "/v1/keys", admin.create_key, ("label", "spaces")),
    Endpoint("POST", "/v1/keys/{key}/rotate", admin.rotate_key),
    Endpoint("DELETE", "/v1/keys/{key}", admin.revoke_key),
)

_PARAMETER = re.compile(r"{(?P<name>\w+)(?::path)?}")


def openapi(version: str) -> dict[str, Any]:
    """The description of the API, as OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        path = _PARAMETER.sub(r"{\g<name>}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Reverie", "version": version},
        "security": [{"key": []}],
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM},
        },
        "paths": paths,
    }


_PROBLEM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    summary = (endpoint.handler.__doc__ or "").strip()
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    if endpoint.method != "GET":
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}})
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    made: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "done"},
            "default": {"description": "a problem", "content": problem},
        },
    }
    if endpoint.body:
        schema = {"type": "object", "properties": {name: {} for name in endpoint.body}}
        made["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return made
