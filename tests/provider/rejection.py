"""A request refused: which rule it broke and what each provider answers."""

from dataclasses import dataclass, field

from tests.provider.blocks import Json

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI_TYPES = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", None),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


@dataclass(slots=True)
class Rejection(Exception):
    """The request breaks a documented rule; `rule` is the name tests use to expect it."""

    rule: str
    message: str
    status: int = 400
    # A stable code that names the cause: `details.error_code` or OpenAI's `code`.
    code: str | None = None
    param: str | None = None
    extra: Json = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def anthropic_type(status: int) -> str:
    return _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def anthropic_error(status: int, message: str, code: str | None, request_id: str) -> Json:
    error: Json = {"type": anthropic_type(status), "message": message}
    if code is not None:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": request_id}


def openai_error(
    status: int, message: str, code: str | None = None, param: str | None = None
) -> Json:
    kind, usual = _OPENAI_TYPES.get(status, ("server_error" if status >= 500 else "", None))
    return {
        "error": {
            "message": message,
            "type": kind or "invalid_request_error",
            "param": param,
            "code": code or usual,
        }
    }
