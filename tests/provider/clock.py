"""Time as the test wants it."""

from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """Seconds since the provider started; only the test moves it."""

    now: float = 0.0

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"a clock goes forwards; got {seconds} seconds")
        self.now += seconds
