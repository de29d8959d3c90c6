"""Every error Reverie raises on purpose, sorted by who must act.

    ReverieError
    ├── InputError                 you: something you gave us is wrong
    │   ├── SettingsError              a settings file, variable or option
    │   ├── TranscriptError            a transcript that cannot be read
    │   ├── UnknownModelError          a model name no provider serves
    │   └── NotRemembered              a memory that was not saved, where the caller insisted
    ├── SpendCapReached            you: raise the cap, or wait
    ├── WindowFull                 you: compact the conversation, or begin a new one
    ├── WriteConflict              you: a file changed meanwhile; look at both, then write again
    ├── ModelError                 the provider, or the way to it
    │   ├── PromptTooLong              the request is larger than the window
    │   ├── Overloaded                 try later (429, 529)
    │   ├── RequestRefused             the provider rejects the request as it is (400)
    │   ├── AccessDenied               key or permission (401, 403)
    │   ├── Unreachable                no connection
    │   │   └── TimedOut                   the provider said nothing for too long
    │   └── ReplyBroken                a cut stream, or an answer that makes no sense
    ├── StorageError               the disk, or who may write to it
    └── InvariantBroken            us: a bug in Reverie, please report it

A message says what is wrong, where, and what to do; it quotes the offending value.
Expected outcomes ("gate closed", "nothing to do") are return values, never errors.
"""

from __future__ import annotations


class ReverieError(Exception):
    """Root of the tree; the command line prints it as one line and exits with 1."""


class InputError(ReverieError):
    """Something the person or the calling program gave us is wrong."""


class SettingsError(InputError):
    """A settings file, an environment variable or an option holds a bad key or value."""


class TranscriptError(InputError):
    """A transcript cannot be found or read."""


class UnknownModelError(InputError):
    """A model name that no configured provider serves."""


class NotRemembered(InputError):
    """A memory was not saved; `existing` is the file that already says it."""

    def __init__(self, reason: str, existing: str | None = None) -> None:
        super().__init__(reason)
        self.existing = existing


class SpendCapReached(ReverieError):
    """A call was stopped before it was made, because it could exceed a spend cap."""


class WindowFull(ReverieError):
    """The conversation no longer fits its window, and nothing could make it fit."""


class WriteConflict(ReverieError):
    """A file changed since the version a write was based on, and the two do not merge cleanly.

    Nothing was written: `current` is what the file holds now, `proposed` what was to be written.
    """

    def __init__(self, file: str, current: bytes | None, proposed: bytes | None) -> None:
        now = "was removed" if current is None else "changed"
        super().__init__(
            f"{file} {now} since it was read, and the two versions do not merge; "
            "nothing was written: read it again, then repeat the change"
        )
        self.file = file
        self.current = current
        self.proposed = proposed


class ModelError(ReverieError):
    """The provider, or the way to it, failed."""


class PromptTooLong(ModelError):
    """The request is larger than the model's window; sizes are given when the provider said them."""

    def __init__(
        self, message: str, *, tokens: int | None = None, limit: int | None = None
    ) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.limit = limit


class Overloaded(ModelError):
    """The provider asks to try again later; `retry_after` in so many seconds, where it says so.

    `in_reply`: it said so when a part of the reply had been received.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.in_reply = False


class RequestRefused(ModelError):
    """The provider rejects the request as it stands; sending it again will not help."""


class AccessDenied(ModelError):
    """The key is missing, wrong, or not allowed to do this."""


class Unreachable(ModelError):
    """No connection to the provider, or no answer in time."""


class TimedOut(Unreachable):
    """The provider said nothing for longer than `models.idle_timeout`."""


class ReplyBroken(ModelError):
    """The stream was cut, or the reply is not what the protocol promises."""


class StorageError(ReverieError):
    """A file could not be read or written."""


class InvariantBroken(ReverieError):
    """A promise Reverie makes to itself was broken: a bug in Reverie."""
