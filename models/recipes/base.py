"""What the recipes share: their record, chat messages, the ways back from numbers to a point.

A recipe is one file about one family of models: the prompt that its authors use for grounding, a
parse function that reads replies as their code does, and a record of all else that decides answers
(`Recipe`). Copy the nearest one for a model that has none. A config names it:

    "qwen3": {"recipe": "qwen3_vl", "model_path": "http://127.0.0.1:8000/v1?model=..."}

A module of your own is named by its path, "acme" for acme.py beside the config.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from models.wrappers.local.defaults import sequences_of
from utils.contracts import WH, Line, Message, ParseFunction, Point
from utils.coordinates import UNKNOWN, model_grid_wh, read_size, smart_resize
from utils.errors import UserError
from utils.images import image_path_of, read_header
from utils.targets import DECLINED, Answer, Declined

GRID = "pixels of the image resized in steps of 28"
GRID_BOX = f"box in {GRID}"
GRID_FRAMES = (GRID, GRID_BOX)
OTHER_DATA_SETS = ("GUIContentUnderstanding", "GUITaskAutomation", "GUITaskCollaboration")
"""Levels that do not ask for a point; a recipe leaves them to the benchmark's own prompt."""
HELPFUL = "You are a helpful assistant."
"""What the chat templates of Qwen2-VL and Qwen2.5-VL say where there is no system message."""
LIBRARY_GRID = {"factor": 28, "min_pixels": 3136, "max_pixels": 12845056}
"""What qwen_vl_utils resizes to where it is not told the checkpoint's patch size."""
KEEP_TOKENS = {"extra_body": {"skip_special_tokens": False}}
"""For parsers that need special tokens, which are usually dropped where a reply is written out."""
KEEP_TOKENS_LOCALLY = {"postprocess_function": f"{__name__}.with_special_tokens"}

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


# -- the record -----------------------------------------------------------------------------------


class Part(TypedDict):
    """A part of a chat message; an image part stands for the image of the sample."""

    type: str
    text: NotRequired[str]


class ChatMessage(TypedDict):
    """A message as the authors' code builds it, before a chat template or a server sees it."""

    role: str
    content: str | list[Part]


@dataclass(frozen=True, slots=True)
class Limits:
    """The areas in pixels within which a Qwen-VL style processor resizes an image."""

    factor: int
    min_pixels: int
    max_pixels: int

    def grid_wh(self, image_wh: WH) -> WH:
        """Return the size in pixels that an image is resized to."""
        width, height = image_wh
        grid_h, grid_w = smart_resize(height, width, self.factor, self.min_pixels, self.max_pixels)
        return grid_w, grid_h

    def with_settings(self, settings: Mapping[str, Any]) -> Limits:
        """Return the limits with those of a config's `kwargs` in their place."""
        changes = {
            key: int(settings[key])
            for key in ("min_pixels", "max_pixels")
            if settings.get(key) not in UNKNOWN
        }
        return replace(self, **changes)

    def as_kwargs(self) -> dict[str, int]:
        """Return the limits as a config's `kwargs` has them."""
        return {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}


@dataclass(frozen=True, slots=True)
class PromptForm:
    """One way in which the authors ask: what `messages` makes of an instruction and a size."""

    messages: Callable[[str, WH], list[ChatMessage]]
    limits: Limits | None = None
    """Set where the prompt names the size of the resized image."""
    size: Callable[[WH], WH] | None = None
    """Set where `resize` of the recipe changes that size: it as a function of the file's."""
    prefix: str = ""
    """What the authors' code begins the reply with; it belongs in front of what is parsed."""
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Mapping[str, Any] | None = None

    def named_wh(self, file_wh: WH, settings: Mapping[str, Any]) -> WH:
        """Return the size that the authors' prompt names for an image file of this size."""
        return self.size(file_wh) if self.size else self.seen_wh(file_wh, settings)

    def seen_wh(self, sent_wh: WH, settings: Mapping[str, Any]) -> WH:
        """Return the size that a model sees of an image that is sent in this size."""
        if self.limits is None:
            return sent_wh
        return self.limits.with_settings(settings).grid_wh(sent_wh)


@dataclass(frozen=True, slots=True)
class Parser:
    """A parse function and whose code it follows."""

    parse: ParseFunction
    nothing_found: str = ""
    """The point that the authors' code returns for "nothing found"; ours returns None there."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A published result of a model of the family."""

    model: str
    value: float
    source: str
    dataset: str = "GUIElementGrounding"


@dataclass(frozen=True, slots=True)
class Crop:
    """The part of an image that a second look shows; `edges` before they are cut to whole pixels."""

    image_wh: WH
    edges: tuple[float, float, float, float]  # left, top, right, bottom in pixels of the file
    resize_to: WH | None

    @property
    def box_px(self) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom in whole pixels of the file."""
        left_px, top_px, right_px, bottom_px = (int(edge) for edge in self.edges)
        return left_px, top_px, right_px, bottom_px

    @property
    def sent_wh(self) -> WH:
        """Return the size in which the part is sent."""
        left_px, top_px, right_px, bottom_px = self.box_px
        return self.resize_to or (right_px - left_px, bottom_px - top_px)

    def in_image(self, point_per_mille: Point) -> Point:
        """Return a point of the part, per mille, as a point of the image, per mille."""
        left_px, top_px, right_px, bottom_px = self.edges
        x = (point_per_mille[0] / 1000 * (right_px - left_px) + left_px) / self.image_wh[0] * 1000
        y = (point_per_mille[1] / 1000 * (bottom_px - top_px) + top_px) / self.image_wh[1] * 1000
        return min(max(x, 0.0), 1000.0), min(max(y, 0.0), 1000.0)


@dataclass(frozen=True, slots=True)
class Zoom:
    """A second look at the part of the image around the first point."""

    ratio: float
    """Of the part's width and height to the image's."""
    resize_to: WH | None = None

    def crop(self, image_wh: WH, point_per_mille: Point) -> Crop:
        """Return the part around a point, moved (not cut) to stay within the image."""
        spans = []
        for side, per_mille in zip(image_wh, point_per_mille, strict=True):
            middle = per_mille / 1000 * side
            length = side * self.ratio
            start = middle - length / 2
            end = middle + length / 2
            if start < 0:
                end -= start
                start = 0
            if end > side:
                start -= end - side
                end = side
            spans.append((max(0, start), min(side, end)))
        (left_px, right_px), (top_px, bottom_px) = spans
        return Crop(image_wh, (left_px, top_px, right_px, bottom_px), self.resize_to)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides the answers of a family of models, and where it is from."""

    family: str
    hub_ids: tuple[str, ...]
    frame: str
    """What the numbers of a reply count."""
    source: str
    """The authors' files, with the commit they were read at."""
    prompts: Mapping[str, PromptForm]
    """By variant; the first one is what `build_prompt` asks."""
    parsers: Mapping[str, Parser]
    """By the name of the code that is followed; the first one is `parse_point`."""
    limits: Limits | None = None
    generate_cfg: Mapping[str, Any] = field(default_factory=dict)
    """As an endpoint takes them."""
    chat_template: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the checkpoint's chat template."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Of the config's model entry, besides the limits."""
    resize: tuple[Mapping[str, Any], ...] = ()
    """What the authors' own code does to an image before a model gets it; `kwargs.resize`."""
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    """Of the model entry of a checkpoint."""
    needs_class: bool = False
    """Whether no chat server and no chat template makes the authors' prompt."""
    prompt_functions: Mapping[str, str] = field(default_factory=dict)
    """By benchmark, where it is not `build_prompt`."""
    figures: tuple[Figure, ...] = ()
    zoom: Zoom | None = None
    verified: str = ""
    """What was compared with the authors' code."""
    note: str = ""
    """What to know before using it."""

    def entry(self, imp_type: str, module: str, grounding: Mapping[str, str]) -> dict[str, Any]:
        """Return a config's model entry but for its path; see `utils.config.recipes`.

        A class of the user's has settings of its own, so it gets prompts and parse functions only.

        Raises:
            UserError: the family needs such a class.
        """
        if self.needs_class and imp_type != "custom":
            raise UserError(
                f'{self.family} needs a class of yours (imp_type "custom"): {self.note}'
            )
        prompt_of = self.prompt_functions
        entry: dict[str, Any] = {
            "custom_prompt": {
                dataset: f"{module}.{prompt_of.get(benchmark, 'build_prompt')}"
                for dataset, benchmark in grounding.items()
            },
            "parse_function": dict.fromkeys(grounding, f"{module}.parse_point"),
        }
        if imp_type == "custom":
            return entry
        if imp_type == "transformers":
            return entry | self._of_checkpoint()
        extra_body = dict(self.generate_cfg.get("extra_body", {}))
        if self.chat_template:
            extra_body["chat_template_kwargs"] = dict(self.chat_template)
        generate_cfg = dict(self.generate_cfg)
        if extra_body:
            generate_cfg["extra_body"] = extra_body
        # The limits of a foreign server are not known; after this resizing they have no effect.
        resize = self.resize
        if not resize and imp_type == "openai" and self.limits and self.frame in GRID_FRAMES:
            resize = ({"factor": self.limits.factor},)
        return entry | {"generate_cfg": generate_cfg, "kwargs": self._kwargs(resize)}

    def _kwargs(self, resize: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        limits = self.limits.as_kwargs() if self.limits else {}
        kwargs = {**limits, **self.kwargs}
        if resize:
            kwargs["resize"] = [dict(step) for step in resize]
        return kwargs

    def _of_checkpoint(self) -> dict[str, Any]:
        """Return the settings in the words of transformers' `generate`, as far as it has them."""
        settings = {**self.generate_cfg, **self.generate_cfg.get("extra_body", {})}
        generate_cfg: dict[str, Any] = {}
        if "max_tokens" in settings:
            generate_cfg["max_new_tokens"] = settings["max_tokens"]
        if "temperature" in settings:
            generate_cfg["do_sample"] = settings["temperature"] > 0
        if generate_cfg.get("do_sample"):
            names = ("temperature", "top_p", "top_k")
            generate_cfg |= {name: settings[name] for name in names if name in settings}
        kwargs = self._kwargs(self.resize)
        if self.chat_template:
            kwargs["chat_template"] = dict(self.chat_template)
        return {"generate_cfg": generate_cfg, "kwargs": kwargs, **self.checkpoint}


# -- prompts --------------------------------------------------------------------------------------


def text_part(text: str) -> Part:
    """Return a text as a part of a message."""
    return {"type": "text", "text": text}


def image_part() -> Part:
    """Return the image of the sample as a part of a message."""
    return {"type": "image"}


def user_turn(*parts: Part) -> ChatMessage:
    """Return a message of the user in parts."""
    return {"role": "user", "content": list(parts)}


def image_and_text(text: str) -> ChatMessage:
    """Return a message of the user with the image in front of a text."""
    return user_turn(image_part(), text_part(text))


def system_turn(*texts: str) -> ChatMessage:
    """Return a system message in parts, which chat templates join without a separator."""
    return {"role": "system", "content": [text_part(text) for text in texts]}


def as_prompt(chat: Sequence[ChatMessage], image_path: str) -> list[Message]:
    """Return chat messages as a prompt function returns them.

    The parts of a system message become one text. Where no message shows the image, it comes first:
    the authors' code then puts it there by other means.
    """
    prompt: list[Message] = []
    has_image = False
    for number, turn in enumerate(chat):
        content = turn["content"]
        parts = (
            [text_part(content.removeprefix("<image>"))] if isinstance(content, str) else content
        )
        if turn["role"] == "system":
            parts = [text_part("".join(part["text"] for part in parts))]
        for part in parts:
            is_image = part["type"] == "image"
            has_image = has_image or is_image
            value = image_path if is_image else part["text"]
            prompt.append({"role": turn["role"], "type": part["type"], "value": value})
        if number and chat[number - 1]["role"] == turn["role"]:
            prompt[-len(parts)]["turn"] = "new"
    if not has_image:
        first = sum(message["role"] == "system" for message in prompt)
        prompt.insert(first, {"role": "user", "type": "image", "value": image_path})
    return prompt


def prompt_function(form: PromptForm) -> Callable[..., list[Message] | None]:
    """Return a prompt function for a config that asks in this form, for every grounding data set.

    Where the prompt names a size, it is worked out from that of the image sent (`sent_size`), or
    of the file, and the limits; `seen_size`, `min_pixels` and `max_pixels` win where they are given.
    """

    def build_prompt(line: Line, dataset: str, **settings: Any) -> list[Message] | None:
        if dataset in OTHER_DATA_SETS:
            return None
        named_wh: WH = (0, 0)
        if form.limits is not None or form.size is not None:
            if settings.get("seen_size") not in UNKNOWN:
                named_wh = read_size(settings["seen_size"])
            elif settings.get("sent_size") not in UNKNOWN:
                named_wh = form.seen_wh(read_size(settings["sent_size"]), settings)
            elif settings.get("file_size") not in UNKNOWN:
                named_wh = form.named_wh(read_size(settings["file_size"]), settings)
            else:
                named_wh = form.named_wh(read_header(Path(image_path_of(line))).wh, settings)
        # Relative to the images of the data set, whichever it is.
        prompt = as_prompt(form.messages(line["instruction"], named_wh), line["image_path"])
        if form.prefix:
            prompt.append({"role": "assistant", "type": "text", "value": form.prefix})
        return prompt

    return build_prompt


# -- from the numbers of a reply to a point -------------------------------------------------------


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
    grid_wh = model_grid_wh(
        meta, factor=limits.factor, min_pixels=limits.min_pixels, max_pixels=limits.max_pixels
    )
    return from_pixels(numbers, grid_wh, meta)


def whole_parser(
    read: Callable[[str], Any],
    full_scale: float = 1000,
    declined: Callable[[str], Declined | None] = lambda _: None,
) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Return a parse function: what `read` finds counts up to `full_scale` at the far edges.

    Args:
        read: returns two numbers of a reply, or fails.
        full_scale: 1000 for per mille, 1 for fractions.
        declined: returns DECLINED for a reply that says "not there".
    """
    numbers_of = numbers_or_none(read)

    def parse(response: str, meta: Mapping[str, Any]) -> Answer:
        return declined(response) or from_whole(numbers_of(response), meta, full_scale)

    return parse


def grid_parser(
    read: Callable[[str], Any],
    limits: Limits,
    declined: Callable[[str], Declined | None] = lambda _: None,
) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Return a parse function: what `read` finds are pixels of the image as the model resized it."""
    numbers_of = numbers_or_none(read)

    def parse(response: str, meta: Mapping[str, Any]) -> Answer:
        return declined(response) or from_grid(numbers_of(response), meta, limits)

    return parse


def centre(box: Sequence[float]) -> Numbers:
    """Return the centre of x1, y1, x2, y2."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def with_special_tokens(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:  # noqa: ARG001
    """Return the text of a checkpoint's completion, special tokens included.

    Args:
        outputs: shape (1, prompt + completion) of token ids.
        model: as loaded; not used.
        processor: as loaded.
        **kwargs: `input_length`, the number of prompt tokens in front of the completion.
    """
    predicted = sequences_of(outputs)[:, kwargs["input_length"] :]
    return str(processor.batch_decode(predicted, skip_special_tokens=False)[0])


# -- replies in JSON and in Python ----------------------------------------------------------------


def tool_call(response: str) -> Any:
    """Return the JSON of the first tool call, whose tags stand on lines of their own."""
    return json.loads(response.split("<tool_call>\n")[1].split("\n</tool_call>")[0])


def declined_by_tool(response: str) -> Declined | None:
    """Return DECLINED for a tool call that ends the task as failed: there is no such element."""
    try:
        call = json.loads(_TOOL_CALL.findall(response)[0])["arguments"]
        is_failure = (call["action"], call["status"]) == ("terminate", "failure")
    except NOT_READ:
        return None
    return DECLINED if is_failure else None


_TOOL_CALL = re.compile(r"<tool_call>\s*(\{.*\})\s*</tool_call>", re.DOTALL)
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def python_value(response: str) -> Any:
    """Return what Python makes of a reply of numbers, lists and arithmetic, without running it.

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
    """The value of `a or b` and `a and b`, whose last part is read only where it decides."""
    is_or = isinstance(node.op, ast.Or)
    value: Any = None
    for part in node.values:
        value = _value(part)
        if bool(value) == is_or:
            break
    return value
