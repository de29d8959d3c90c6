"""Ways for letters to leave the process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reverie.core.agent_mail import Letter


class Mail(Protocol):
    """Letters from and to other processes of the team; a reason where one is refused."""

    def names(self) -> tuple[str, ...]: ...

    def send(self, letter: Letter) -> str | None: ...

    def waiting(self) -> bool:
        """Is there something to take?"""
        ...

    def take(self, room: int) -> Sequence[Letter]:
        """What came for us, in order, of about so many characters; it comes again unless acknowledged."""
        ...

    def acknowledge(self, letters: Sequence[Letter]) -> None: ...


class Wire(Protocol):
    """Letters to other sessions: `uds:PATH`, `bridge:ID`."""

    async def send(self, address: str, letter: Letter) -> str | None: ...


class NoMail:
    """Where there is nobody outside."""

    def names(self) -> tuple[str, ...]:
        return ()

    def send(self, letter: Letter) -> str | None:
        return f"nobody here is called {letter.to!r}"

    def waiting(self) -> bool:
        return False

    def take(self, room: int) -> Sequence[Letter]:
        return ()

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        return None
