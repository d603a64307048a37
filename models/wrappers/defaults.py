"""What most model wrappers have nothing to say to."""

from __future__ import annotations


class WrapperDefaults:
    """The quiet half of `utils.contracts.ModelWrapper`."""

    def in_flight(self, wanted: int | None) -> int | None:
        """As many as the user asks for."""
        return wanted

    def problems(self) -> list[str]:
        """None that can be seen without asking."""
        return []

    def abandon(self) -> None:
        """No call waits for another."""

    def notes_before(self) -> list[str]:
        """Nothing to know."""
        return []

    def notes_after(self) -> list[str]:
        """Nothing to tell."""
        return []
