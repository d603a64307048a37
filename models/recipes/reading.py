"""Readers of replies for the recipes: numbers, points from numbers, and "not there"."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any

from models.recipes.base import Limits
from utils.contracts import WH, Point
from utils.coordinates import UNKNOWN, model_grid_wh, read_size
from utils.geometry.targets import DECLINED, Answer, Declined
from utils.reply_numbers import numbers_of_reply
from utils.thinking import after_thinking
from utils.tool_calls import json_objects, written_calls

NOT_READ = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    MemoryError,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What reading a strange reply may raise, also in the authors' code."""


Numbers = tuple[float, float]


def numbers_or_none(read: Callable[[str], Any]) -> Callable[[str], Numbers | None]:
    """Make a reader of replies return None where it fails or what it found is no two numbers."""
    return _guarded(read, 2)


def four_or_none(read: Callable[[str], Any]) -> Callable[[str], tuple[float, ...] | None]:
    """Make a reader of replies return None where it fails or what it found is no four numbers."""
    return _guarded(read, 4)


def _guarded(read: Callable[[str], Any], count: int) -> Callable[[str], Any]:
    @wraps(read)
    def guarded(response: str) -> tuple[float, ...] | None:
        try:
            numbers = tuple(read(response))
            is_read = len(numbers) == count and all(
                isinstance(number, (int, float)) and math.isfinite(number) for number in numbers
            )
        except NOT_READ:
            return None
        return numbers if is_read else None

    return guarded


def file_wh(meta: Mapping[str, Any]) -> WH:
    """Return width and height of the image file; what the data set says is the second choice."""
    size = meta.get("file_size")
    return read_size(meta["image_size"] if size in UNKNOWN else size)


def seen_wh(meta: Mapping[str, Any], limits: Limits) -> WH:
    """Return width and height of the image as the model resized it."""
    return model_grid_wh(
        meta, factor=limits.factor, min_pixels=limits.min_pixels, max_pixels=limits.max_pixels
    )


def as_point(point_frac: Point | None, meta: Mapping[str, Any]) -> Point | None:
    """Return fractions of an image as a parse function returns them.

    A point beyond the right or lower edge comes in pixels of the file: the score takes every
    coordinate above 1 for pixels.
    """
    if point_frac is None or max(point_frac) <= 1:
        return point_frac
    width, height = file_wh(meta)
    return point_frac[0] * width, point_frac[1] * height


def from_whole(
    numbers: Numbers | None, meta: Mapping[str, Any], full_scale: float = 1000
) -> Point | None:
    """Return the point of numbers of which `full_scale` is the right and the lower edge."""
    if numbers is None:
        return None
    return as_point((numbers[0] / full_scale, numbers[1] / full_scale), meta)


def from_pixels(numbers: Numbers | None, image_wh: WH, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of pixels of an image of this size, of the file or resized."""
    if numbers is None:
        return None
    return as_point((numbers[0] / image_wh[0], numbers[1] / image_wh[1]), meta)


def from_grid(numbers: Numbers | None, meta: Mapping[str, Any], limits: Limits) -> Point | None:
    """Return the point of pixels of the image as the model resized it."""
    if numbers is None:
        return None
    return from_pixels(numbers, seen_wh(meta, limits), meta)


def whole_parser(
    read: Callable[[str], Any],
    full_scale: float = 1000,
    declined: Callable[[str], Declined | None] = lambda _: None,
) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Return a parse function: what `read` finds counts up to `full_scale` at the far edges.

    Args:
        read: returns two numbers of a reply, or fails.
        full_scale: 1000 for per mille, 1 for fractions.
        declined: returns DECLINED for a reply without a point that says "not there".
    """
    numbers_of = numbers_or_none(read)

    def parse(response: str, meta: Mapping[str, Any]) -> Answer:
        return from_whole(numbers_of(response), meta, full_scale) or declined(response)

    return parse


def file_pixel_parser(
    read: Callable[[str], Any], full_scale: float, as_whole: Callable[[float], int]
) -> Callable[[str, Mapping[str, Any]], Point | None]:
    """Return a parse function like that of `whole_parser`, for points in whole pixels of the file.

    Args:
        read: returns two numbers of a reply, or fails.
        full_scale: the number at the right and the lower edge.
        as_whole: `int` cuts the pixels, `round` rounds them.
    """
    numbers_of = numbers_or_none(read)

    def parse(response: str, meta: Mapping[str, Any]) -> Point | None:
        numbers = numbers_of(response)
        if numbers is None:
            return None
        width, height = file_wh(meta)
        x_px = as_whole(numbers[0] / full_scale * width)
        y_px = as_whole(numbers[1] / full_scale * height)
        return from_pixels((x_px, y_px), (width, height), meta)

    return parse


def grid_parser(
    read: Callable[[str], Any],
    limits: Limits,
    declined: Callable[[str], Declined | None] = lambda _: None,
) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Return a parse function: what `read` finds are pixels of the image as the model resized it."""
    numbers_of = numbers_or_none(read)

    def parse(response: str, meta: Mapping[str, Any]) -> Answer:
        return from_grid(numbers_of(response), meta, limits) or declined(response)

    return parse


def centre(box: Sequence[float]) -> Numbers:
    """Return the centre of x1, y1, x2, y2."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


# -- replies in JSON and in Python ----------------------------------------------------------------


def up_to_last_brace(response: str) -> str:
    """Return a reply without what stands behind its last `}`; all of it without any."""
    end = response.rfind("}") + 1
    return response[:end] if end else response


def read_bare_pair(response: str) -> Any:
    """Return the first `[x,y]` without a blank, wherever it stands up to the last `}`."""
    x, y = _BARE_PAIR.findall(up_to_last_brace(response))[0]
    return int(x), int(y)


def tool_call(response: str) -> Any:
    """Return the JSON of the first tool call, whose tags stand on lines of their own."""
    return json.loads(response.split("<tool_call>\n")[1].split("\n</tool_call>")[0])


def between(response: str, opening: str, closing: str) -> str:
    """The text between the first `opening` and the first `closing` behind it.

    Raises:
        ValueError: there is no such pair.
    """
    start = response.index(opening) + len(opening)
    return response[start : response.index(closing, start)]


def last_between(response: str, opening: str, closing: str) -> str:
    """The text in the last of the pairs that follow each other, each as `between` has it.

    Raises:
        ValueError: there is no such pair.
    """
    inside = between(response, opening, closing)
    position = 0
    with suppress(ValueError):
        while True:
            start = response.index(opening, position) + len(opening)
            end = response.index(closing, start)
            inside = response[start:end]
            position = end + len(closing)
    return inside


def braced_call(response: str, end: int) -> str:
    """Return the first `{` in a tool call's tags up to a `}` before a closing tag.

    Args:
        response: the reply.
        end: which `}` of several: 0 is the first, -1 the last.

    Raises:
        LookupError: there is none.
    """
    opened = _OPENED_CALL.search(response)
    start = len(response) if opened is None else opened.end()
    ends = [closed.start() + 1 for closed in _CLOSED_CALL.finditer(response, start)]
    return response[start : ends[end]]


def declined_by_tool(response: str) -> Declined | None:
    """Return DECLINED for a tool call that ends the task as failed: there is no such element."""
    try:
        call = json.loads(braced_call(response, -1))["arguments"]
        is_failure = (call["action"], call["status"]) == ("terminate", "failure")
    except NOT_READ:
        return None
    return DECLINED if is_failure else None


def call_parser(limits: Limits | None = None) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Return this program's own parse function for tool calls, beside those of the authors.

    It reads calls in JSON, in XML and in Python's words behind any thinking, and takes the first
    one with a point.

    Args:
        limits: of the resized image whose pixels the numbers are; None: they are per mille.
    """

    def parse(response: str, meta: Mapping[str, Any]) -> Answer:
        calls = [_arguments_of(call) for call in written_calls(after_thinking(response))]
        numbers = next(filter(None, map(_point_of_call, calls)), None)
        point = from_grid(numbers, meta, limits) if limits else from_whole(numbers, meta)
        is_failure = any(
            (call.get("action"), call.get("status")) == ("terminate", "failure") for call in calls
        )
        return DECLINED if point is None and is_failure else point

    return parse


def _arguments_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = call.get("arguments", call)
    if isinstance(arguments, str):
        arguments = next(json_objects(arguments), None)
    return arguments if isinstance(arguments, Mapping) else {}


def _point_of_call(arguments: Mapping[str, Any]) -> Numbers | None:
    """Return the `coordinate` of a call, of a box its centre, else its x and y."""
    named = {name: arguments[name] for name in ("x", "y") if name in arguments}
    try:
        text = json.dumps(arguments.get("coordinate", named))
    except NOT_READ:
        return None
    numbers = numbers_of_reply(text.strip('"'))
    return numbers if numbers is None or len(numbers) == 2 else centre(numbers)


_BARE_PAIR = re.compile(r"\[(\d+),(\d+)\]")
_OPENED_CALL = re.compile(r"<tool_call>\s*+(?=\{)")
_CLOSED_CALL = re.compile(r"\}\s*+</tool_call>")
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def python_value(response: str) -> Any:
    """The value in Python of a reply of numbers, lists and arithmetic, without running it.

    Some authors' parsers call `eval` on the reply.

    Raises:
        SyntaxError, TypeError, ValueError: the reply is no such expression.
    """
    return _value(ast.parse(response.lstrip(" \t"), mode="eval").body)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
    if isinstance(node, ast.BoolOp):
        return _first_deciding(node)
    raise ValueError(f"{type(node).__name__} is not read")


def _number(node: ast.expr) -> float:
    value = _value(node)
    if not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a number")
    return value


def _first_deciding(node: ast.BoolOp) -> Any:
    """Return the value of `a or b` and `a and b`; what does not decide it is not read."""
    is_or = isinstance(node.op, ast.Or)
    value: Any = None
    for part in node.values:
        value = _value(part)
        if bool(value) == is_or:
            break
    return value
