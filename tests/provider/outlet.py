"""From the next scripted answer to a response, the same way for every API."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import Held, Reply, ScriptItem
from tests.provider.transport import Delivery, Family, Rendered, reply_delivery, whole_fault


@dataclass(frozen=True, slots=True)
class Outlet:
    provider: Provider
    family: Family

    def answer(
        self,
        request: RecordedRequest,
        request_id: str,
        echo: ScriptItem,
        render: Callable[[Reply], Rendered],
        *,
        stream: bool,
        begin: Callable[[], None],
    ) -> Delivery:
        """Take the next answer of the script and make it a response.

        `begin` runs when a reply starts, and not for a fault that has no reply in it.
        """
        answer = self.provider.next_answer(request, echo)
        held = answer if isinstance(answer, Held) else None
        inner = answer.answer if isinstance(answer, Held) else answer
        failed = None if isinstance(inner, Reply) else whole_fault(self.family, inner, request_id)
        if failed is not None:
            delivery = replace(
                failed,
                begin=lambda: self.provider.finish(request, failed.status, None, None),
            )
        else:
            reply = inner if isinstance(inner, Reply) else getattr(inner, "reply", Reply())
            rendered = render(reply)
            sent = reply_delivery(self.family, rendered, inner, request_id, stream=stream)
            ok = sent.status == 200

            def started() -> None:
                if ok:
                    begin()
                usage, body = (rendered.usage, rendered.body) if ok else (None, None)
                self.provider.finish(request, sent.status, usage, body)

            delivery = replace(sent, begin=started)
        if held is not None:
            delivery = replace(delivery, gate=held.gate, gate_at=held.after)
        return delivery
