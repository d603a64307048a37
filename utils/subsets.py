"""Subsets of a data set: the rows with some labels, as a part of its mode.

A run on a subset has a mode of its own, `all; platform=os_web|os_mac`: what comes of it counts as a
part of the data set, and answers are shared with runs on the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from utils.errors import UserError
from utils.text import did_you_mean, listed

Only = Mapping[str, Sequence[str]]
"""By grouping the labels, one of which a row must have."""
SEPARATOR = "; "
EVERYTHING = "all"  # the mode that no other one reaches beyond
MOST_LABELS = 30  # that a message names
PLATFORM = "platform"  # the grouping whose labels data sets spell in two ways
_SPELLINGS = {"macos": "mac"}  # of platforms, besides the os_ in front

Label = tuple[str, str]
"""A grouping and one of its labels."""


class UnknownLabels(UserError):
    """A data set has no row with a label, or no such grouping."""

    def __init__(
        self, name: str, problems: Sequence[tuple[str, str]], labels: Iterable[Label]
    ) -> None:
        """Say what is wrong, and with which labels.

        Args:
            name: of the data set.
            problems: a grouping and what is wrong there.
            labels: those that no row has.
        """
        self.labels = frozenset(labels)
        self._name, self._problems = name, problems
        super().__init__(self.lines(is_typed=False))

    def lines(self, *, is_typed: bool) -> list[str]:
        """The problems, one line each, where the user has written them: `--only`, or the config."""
        return [
            f"--only {grouping}, {self._name}: {problem}"
            if is_typed
            else f"data.{self._name}.only.{grouping}: {problem}"
            for grouping, problem in self._problems
        ]


def mode_with(mode: str, only: Only) -> str:
    """The mode of the rows of a mode that have some labels."""
    filters = [f"{grouping}={'|'.join(sorted(only[grouping]))}" for grouping in sorted(only)]
    return SEPARATOR.join([mode, *filters])


def base_mode(mode: str) -> str:
    """The mode without the labels."""
    return mode.partition(SEPARATOR)[0]


def filters_of(mode: str | None) -> str:
    """The labels of a mode, `platform=os_web`; "" where it has none."""
    return (mode or "").partition(SEPARATOR)[2]


def is_subset(mode: str | None) -> bool:
    """Whether a mode selects rows by their labels."""
    return mode is not None and SEPARATOR in mode


def covers(mode: str | None, requested: str) -> bool:
    """Whether a mode has all rows of a requested one; True for None, the mode of a lost record."""
    is_whole = mode in (base_mode(requested), EVERYTHING, None)
    return is_whole or are_same_rows(mode, requested)


def folded_filters(mode: str | None) -> list[str]:
    """The labels of a mode in one spelling, to compare modes: a list item for each grouping."""
    folded_texts = []
    for text in filter(None, filters_of(mode).split(SEPARATOR)):
        grouping, _, labels = text.partition("=")
        folded = {_folded(grouping, label) for label in labels.split("|")}
        folded_texts.append(f"{grouping}={'|'.join(sorted(folded))}")
    return folded_texts


def are_same_rows(mode: str | None, other: str | None) -> bool:
    """Whether two modes are of the same rows, in whichever spelling of the labels."""
    if mode is None or other is None:
        return mode is other
    return base_mode(mode) == base_mode(other) and folded_filters(mode) == folded_filters(other)


def shown_mode(mode: str) -> str:
    """A mode for people: `platform=os_web` of the subset of everything; "" for everything."""
    base, _, filters = mode.partition(SEPARATOR)
    return ", ".join(filter(None, ("" if base == EVERYTHING else base, filters)))


def only_of(typed: Iterable[str]) -> dict[str, list[str]]:
    """Return the labels of `--only` (`platform=os_web`, ...) by grouping.

    Raises:
        UserError: a text is no GROUPING=LABEL.
    """
    only: dict[str, list[str]] = {}
    for text in typed:
        grouping, equals, label = (part.strip() for part in text.partition("="))
        if not (grouping and equals and label):
            raise UserError(f"--only {text}: expected GROUPING=LABEL, as in --only platform=os_web")
        only.setdefault(grouping, []).append(label)
    return only


def check_only(
    only: Only, labels: Mapping[str, Iterable[str]], name: str, passed_over: Collection[Label] = ()
) -> None:
    """Check that a data set has the groupings and labels that are asked for.

    Args:
        only: what is asked for.
        labels: of all its rows, by grouping.
        name: of the data set.
        passed_over: labels that it need not have.

    Raises:
        UnknownLabels: it lacks some.
    """
    problems: list[tuple[str, str]] = []
    unknown: list[Label] = []
    for grouping, wanted_labels in only.items():
        row_labels = sorted(labels.get(grouping, ()))
        spellings = {_folded(grouping, label) for label in row_labels}
        lacking = [
            label
            for label in wanted_labels
            if _folded(grouping, label) not in spellings and (grouping, label) not in passed_over
        ]
        unknown += [(grouping, label) for label in lacking]
        if lacking and grouping not in labels:
            there_are = f"; there are {listed([*labels])}" if labels else "; it has none"
            hint = did_you_mean(grouping, [*labels]) or there_are
            problems.append((grouping, f"no grouping of this data set{hint}"))
            continue
        for label in lacking:
            near = (
                did_you_mean(label, row_labels) or f"; there are {listed(row_labels, MOST_LABELS)}"
            )
            problems.append((grouping, f'no row has the label "{label}"{near}'))
    if problems:
        raise UnknownLabels(name, problems, unknown)


def _folded(grouping: str, label: str) -> str:
    """A label as it is compared: `os_mac`, `macos` and `mac` are one platform."""
    folded = label.casefold()
    if grouping != PLATFORM:
        return folded
    folded = folded.removeprefix("os_")
    return _SPELLINGS.get(folded, folded)


def is_chosen(only: Only, labels: Mapping[str, Iterable[str]]) -> bool:
    """Whether a row has one of the labels in each grouping that is asked for."""
    return all(
        {_folded(grouping, label) for label in wanted_labels}
        & {_folded(grouping, label) for label in labels.get(grouping, ())}
        for grouping, wanted_labels in only.items()
    )
