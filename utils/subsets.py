"""Subsets of a data set: the rows with some labels, as a part of its mode.

A run on a subset has a mode of its own, `all; platform=os_web|os_mac`: what comes of it counts as a
part of the data set, and answers are shared with runs on the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from utils.errors import UserError
from utils.text import did_you_mean, listed

Only = Mapping[str, Sequence[str]]
"""By grouping the labels, one of which a row must have."""
SEPARATOR = "; "
EVERYTHING = "all"  # the mode that no other one reaches beyond
MOST_LABELS = 30  # that a message names


def mode_with(mode: str, only: Only) -> str:
    """The mode of the rows of a mode that have some labels."""
    filters = [f"{grouping}={'|'.join(sorted(only[grouping]))}" for grouping in sorted(only)]
    return SEPARATOR.join([mode, *filters])


def base_mode(mode: str) -> str:
    """The mode without the labels."""
    return mode.partition(SEPARATOR)[0]


def is_subset(mode: str | None) -> bool:
    """Whether a mode is one of some labels."""
    return mode is not None and SEPARATOR in mode


def covers(mode: str | None, wanted: str) -> bool:
    """Whether what was asked in a mode has all rows of another one; None: of a lost record."""
    return mode in (wanted, base_mode(wanted), EVERYTHING, None)


def shown_mode(mode: str) -> str:
    """A mode for people: `platform=os_web` of the subset of everything; "" for everything."""
    base, _, filters = mode.partition(SEPARATOR)
    return ", ".join(filter(None, ("" if base == EVERYTHING else base, filters)))


def only_of(typed: Iterable[str]) -> dict[str, list[str]]:
    """What `--only` says: `platform=os_web`, ...

    Raises:
        UserError: something is no GROUPING=LABEL.
    """
    only: dict[str, list[str]] = {}
    for text in typed:
        grouping, equals, label = (part.strip() for part in text.partition("="))
        if not (grouping and equals and label):
            raise UserError(f"--only {text}: expected GROUPING=LABEL, as in --only platform=os_web")
        only.setdefault(grouping, []).append(label)
    return only


def only_problems(only: Only, labels: Mapping[str, Iterable[str]]) -> list[str]:
    """Say which groupings and labels a data set does not have.

    Args:
        only: what is asked for.
        labels: of all its rows, by grouping.
    """
    problems: list[str] = []
    for grouping, wanted_labels in only.items():
        if grouping not in labels:
            hint = did_you_mean(grouping, [*labels]) or f"; there are {listed([*labels])}"
            problems.append(f"only.{grouping}: no grouping of this data set{hint}")
            continue
        known = sorted(labels[grouping])
        folded = {label.casefold() for label in known}
        for label in wanted_labels:
            if label.casefold() not in folded:
                near = did_you_mean(label, known)
                there = f"; there are {listed(known, MOST_LABELS)}"
                problems.append(f'only.{grouping}: no row has the label "{label}"{near or there}')
    return problems


def is_chosen(only: Only, labels: Mapping[str, Iterable[str]]) -> bool:
    """Whether a row has one of the labels in each grouping that is asked for."""
    return all(
        {label.casefold() for label in wanted}
        & {label.casefold() for label in labels.get(grouping, ())}
        for grouping, wanted in only.items()
    )
