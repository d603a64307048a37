"""A format of one's own: a function, named by its dotted path, that yields plain rows.

def rows(path):
    for line in open(path):
        task, picture, text = line.rstrip().split("|")
        yield {"image": picture, "instruction": task, "reply": text}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from utils.contracts import UserFunctionError
from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.files import MOST_ROWS, refuse_unusual
from utils.exchange.formats import plain
from utils.functions.calling import call_user_function

END = object()  # behind the last row; a function may well yield None
COLUMNS = "id (or image and instruction) and reply (or x and y)"


def rows_of(dotted: str, function: Callable[..., Any], path: Path) -> Iterator[Answer]:
    """Yield the answers of a function of the user's.

    Raises:
        UserError: it raised, or yields what is no row, or too many rows.
    """
    refuse_unusual(path)
    try:
        rows = iter(call_user_function("format", function, path))
        for number in count(1):
            row = call_user_function("format", next, rows, END)
            if row is END:
                return
            if number > MOST_ROWS:
                raise UserError(f"--format {dotted}: {path} has more than {MOST_ROWS:,} rows")
            if not isinstance(row, Mapping) or not plain.recognise([dict(row)]):
                columns = [*row] if isinstance(row, Mapping) else row
                raise UserError(
                    f"--format {dotted}: row {number} of {path} is {columns!r:.200}; expected a "
                    f"dict with {COLUMNS}"
                )
            yield plain.answer_of(number, dict(row))
    except UserFunctionError as failure:
        raise UserError(f"--format {dotted}: {failure.summary}, in {path}") from None
    except TypeError:
        raise UserError(
            f"--format {dotted}: yields no rows; expected dicts with {COLUMNS}"
        ) from None
