"""Shared code of the recipes: their record, and the conversion of chat messages into prompts.

A recipe is one file about one family of models: the prompt that its authors use for grounding, a
parse function that reads replies as their code does, and a record of all else that decides answers
(`Recipe`). It may have forms for agents (`Agent`) and for recorded steps (`Steps`), too, or only
these. For a model without a recipe, copy the nearest one. A config names it:

    "qwen3": {"recipe": "qwen3_vl", "model_path": "http://127.0.0.1:8000/v1?model=..."}

A module of your own is named by its path, "acme" for acme.py beside the config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, NotRequired, TypedDict

from models.wrappers.local.defaults import sequences_of
from utils.contracts import WH, Line, Message, ParseFunction
from utils.coordinates import UNKNOWN, read_size, smart_resize
from utils.datasets.published import Figure
from utils.errors import UserError
from utils.geometry.images import image_path_of, read_header
from utils.geometry.zooming import Zoom

GRID = "pixels of the image resized in steps of 28"
GRID_BOX = f"box in {GRID}"
GRID_FRAMES = (GRID, GRID_BOX)
ACTING = ("GUITaskAutomation", "GUITaskCollaboration")
OTHER_DATA_SETS = ("GUIContentUnderstanding", *ACTING)
"""Levels that do not ask for a point; but for agents, recipes leave them to their own prompts."""
GROUNDING, STEPS, DESKTOP_STEPS, AGENT = "grounding", "steps", "desktop_steps", "agent"
"""Forms of a recipe: what a data set asks for."""
NEW_TOKENS = {GROUNDING: 512, STEPS: 2048, DESKTOP_STEPS: 2048, AGENT: 2048}
"""Limit of a checkpoint's reply by form, where the authors name none; transformers' own is 20."""
NO_STEPS: Mapping[str, str] = MappingProxyType({})
"""Of a config without recorded steps."""
HELPFUL = "You are a helpful assistant."
"""The default system message in the chat templates of Qwen2-VL and Qwen2.5-VL."""
LIBRARY_GRID = {"factor": 28, "min_pixels": 3136, "max_pixels": 12845056}
"""The grid that qwen_vl_utils resizes to if it does not get the checkpoint's patch size."""
KEEP_TOKENS = {"extra_body": {"skip_special_tokens": False}}
"""For parsers that need special tokens, which are usually dropped where a reply is written out."""
KEEP_TOKENS_LOCALLY = {"postprocess_function": f"{__name__}.with_special_tokens"}

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
    """The text with which the authors' code begins a reply; a parse function must prepend it."""
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

    def __call__(self, line: Line, dataset: str, **settings: Any) -> list[Message] | None:
        """Return the prompt of a line: a form is a prompt function for every grounding data set.

        Where the prompt names a size, it is worked out from that of the image sent (`sent_size`),
        or of the file, and the limits; `seen_size`, `min_pixels` and `max_pixels` win where they
        are given.
        """
        if dataset in OTHER_DATA_SETS:
            return None
        # Relative to the images of the data set, whichever it is.
        chat = self.messages(line["instruction"], self._wh_to_name(line, settings))
        prompt = as_prompt(chat, line["image_path"])
        if self.prefix:
            prompt.append({"role": "assistant", "type": "text", "value": self.prefix})
        return prompt

    def _wh_to_name(self, line: Line, settings: Mapping[str, Any]) -> WH:
        if self.limits is None and self.size is None:
            return 0, 0
        if settings.get("seen_size") not in UNKNOWN:
            return read_size(settings["seen_size"])
        if settings.get("sent_size") not in UNKNOWN:
            return self.seen_wh(read_size(settings["sent_size"]), settings)
        if settings.get("file_size") not in UNKNOWN:
            return self.named_wh(read_size(settings["file_size"]), settings)
        return self.named_wh(read_header(Path(image_path_of(line))).wh, settings)


@dataclass(frozen=True, slots=True)
class Parser:
    """A parse function and whose code it follows."""

    parse: ParseFunction
    nothing_found: str = ""
    """The point that the authors' code returns for "nothing found"; ours returns None there."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The authors' agent: dotted paths of its prompt and parse functions for L3 and L4."""

    prompt: str
    parse: str
    source: str
    generate_cfg: Mapping[str, Any] = field(default_factory=dict)
    """In place of the recipe's, where a config has no data set that asks for a point."""
    note: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Dotted paths of the prompt functions by the authors' variant."""
    parsers: Mapping[str, str] = field(default_factory=dict)
    """Dotted paths of the parse functions by the code that is followed."""
    verified: str = ""
    """The comparisons made with the authors' code."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The family's request for the next action of a recorded step, and its parse function."""

    source: str
    history: str
    """The authors' own kind: "none", "instructions", "actions" or "own"."""
    prompt: str = "build_step_prompt"
    """A function of the recipe's module, or the dotted path of another one."""
    parse: str = "parse_step"
    generate_cfg: Mapping[str, Any] = field(default_factory=dict)
    """In place of the recipe's, where a config has recorded steps and nothing that asks for a point."""
    note: str = ""
    form: str = STEPS
    """`DESKTOP_STEPS` where the actions are those of a desktop and not of a phone."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides the answers of a family of models, and where it is from."""

    family: str
    hub_ids: tuple[str, ...]
    frame: str
    """The unit of the numbers in a reply."""
    source: str
    """The authors' files, with the commit they were read at."""
    prompts: Mapping[str, PromptForm] = field(default_factory=dict)
    """By variant; the first one is what `build_prompt` asks. {}: it has no form for grounding."""
    parsers: Mapping[str, Parser] = field(default_factory=dict)
    """By the name of the code that is followed; the first one is the `grounding_parser`."""
    grounding_parser: str = "parse_point"
    """The parse function for replies to `build_prompt`, if it is not the authors' own."""
    limits: Limits | None = None
    generate_cfg: Mapping[str, Any] = field(default_factory=dict)
    """As an endpoint takes them."""
    chat_template: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the checkpoint's chat template."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Of the config's model entry, besides the limits."""
    resize: tuple[Mapping[str, Any], ...] = ()
    """The resizing of an image by the authors' own code before a model gets it; `kwargs.resize`."""
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    """Of the model entry of a checkpoint."""
    needs_class: bool = False
    """Whether no chat server and no chat template makes the authors' prompt."""
    prompt_functions: Mapping[str, str] = field(default_factory=dict)
    """By benchmark, where it is not `build_prompt`."""
    agent: Agent | None = None
    steps: Steps | None = None
    figures: tuple[Figure, ...] = ()
    zoom: Zoom | None = None
    """The second look of the published figures, for `"zoom": true` in a config."""
    zoom_parser: str = "parse_point"
    """The parse function for both looks."""
    verified: str = ""
    """The comparisons made with the authors' code."""
    note: str = ""
    """Remarks for users of the recipe."""

    def __post_init__(self) -> None:
        """Raise a UserError where a field holds something else than it should."""
        problems = [
            f"{name} is {value!r:.60}; expected {expected}"
            for name, kind, expected in _FIELDS
            if not isinstance(value := getattr(self, name), kind)
        ]
        for name, kind in (("prompts", PromptForm), ("parsers", Parser)):
            problems += _wrong_values(name, getattr(self, name), kind)
        for name in ("hub_ids", "figures", "resize"):
            problems += _wrong_items(name, getattr(self, name), *_ITEMS[name])
        if problems:
            raise UserError(f"Recipe: {'; '.join(problems)}")

    @property
    def has_grounding(self) -> bool:
        """Whether it has a form for questions for a point."""
        return bool(self.prompts or self.parsers)

    def entry(
        self,
        imp_type: str,
        module: str,
        benchmarks: Mapping[str, str],
        steps: Mapping[str, str] = NO_STEPS,
    ) -> dict[str, Any]:
        """Return a config's model entry but for its path; see `utils.config.recipes`.

        A class of the user's has settings of its own, so it gets prompts and parse functions only.

        Raises:
            UserError: the family needs such a class.
        """
        if self.needs_class and imp_type != "custom":
            raise UserError(
                f'{self.family} needs a class of yours (imp_type "custom"): {self.note}'
            )
        self._check_messages(module)
        grounding = {
            dataset: benchmark
            for dataset, benchmark in benchmarks.items()
            if _form_of(dataset, benchmark, steps) == GROUNDING and self.has_grounding
        }
        prompt_of = self.prompt_functions
        prompts = {
            dataset: f"{module}.{prompt_of.get(benchmark, 'build_prompt')}"
            for dataset, benchmark in grounding.items()
        }
        parsers = dict.fromkeys(grounding, f"{module}.{self.grounding_parser}")
        acting = [dataset for dataset, benchmark in benchmarks.items() if benchmark in ACTING]
        if self.agent is not None:
            prompts |= dict.fromkeys(acting, self.agent.prompt)
            parsers |= dict.fromkeys(acting, self.agent.parse)
        if self.steps is not None:
            fitting = [dataset for dataset, form in steps.items() if form == self.steps.form]
            prompts |= dict.fromkeys(fitting, as_path(module, self.steps.prompt))
            parsers |= dict.fromkeys(fitting, as_path(module, self.steps.parse))
        main_form = self._main_form(benchmarks, steps)
        generate_cfg = self._settings_for(main_form)
        entry: dict[str, Any] = {"custom_prompt": prompts, "parse_function": parsers}
        if imp_type == "custom":
            return entry
        if imp_type == "transformers":
            return entry | self._of_checkpoint(generate_cfg, NEW_TOKENS[main_form])
        settings = deepcopy(dict(generate_cfg))
        if self.chat_template:
            extra_body = settings.setdefault("extra_body", {})
            extra_body["chat_template_kwargs"] = dict(self.chat_template)
        # The limits of a foreign server are not known; after this resizing they have no effect.
        resize = self.resize
        if not resize and imp_type == "openai" and self.limits and self.frame in GRID_FRAMES:
            resize = ({"factor": self.limits.factor},)
        return entry | {"generate_cfg": settings, "kwargs": self._kwargs(resize)}

    def _check_messages(self, module: str) -> None:
        """Raise a UserError where a form makes something else than chat messages."""
        for variant, form in self.prompts.items():
            try:
                chat = form.messages("Save", (1000, 1000))
            except Exception:  # noqa: BLE001 - where this instruction alone is odd, samples go on
                continue
            is_chat = isinstance(chat, (list, tuple)) and all(
                isinstance(turn, Mapping) and {"role", "content"} <= turn.keys() for turn in chat
            )
            if not is_chat:
                expected = 'a list of messages {"role", "content"}'
                what = f'{module}.RECIPE.prompts["{variant}"]: its messages function'
                raise UserError(f"{what} returned {chat!r:.100}; expected {expected}")

    def without_form(self, benchmarks: Mapping[str, str], steps: Mapping[str, str]) -> list[str]:
        """Return the data sets of a config that the recipe has no form for.

        Those of L1, L3 and L4 have prompts of their own.
        """
        forms = {dataset: _form_of(dataset, name, steps) for dataset, name in benchmarks.items()}
        lacking = {GROUNDING: not self.has_grounding}
        for form in (STEPS, DESKTOP_STEPS):
            lacking[form] = self.steps is None or self.steps.form != form
        return [dataset for dataset, form in forms.items() if lacking.get(form)]

    def other_data_sets(
        self, benchmarks: Mapping[str, str], steps: Mapping[str, str] = NO_STEPS
    ) -> list[str]:
        """Return the data sets of a config that the generation settings are not made for."""
        main_form = self._main_form(benchmarks, steps)
        return [
            dataset
            for dataset, benchmark in benchmarks.items()
            if _form_of(dataset, benchmark, steps) != main_form
        ]

    def _main_form(self, benchmarks: Mapping[str, str], steps: Mapping[str, str]) -> str:
        """Return the form that the settings are made for: points before steps before episodes."""
        forms = {_form_of(dataset, name, steps) for dataset, name in benchmarks.items()}
        if GROUNDING in forms:
            return GROUNDING
        if self.steps is not None and self.steps.form in forms:
            return self.steps.form
        return AGENT if AGENT in forms and self.agent is not None else GROUNDING

    def _settings_for(self, form: str) -> Mapping[str, Any]:
        if self.steps is not None and form == self.steps.form:
            return self.steps.generate_cfg or self.generate_cfg
        return self.agent.generate_cfg if form == AGENT and self.agent else self.generate_cfg

    def parse_functions(self, module: str) -> dict[str, ParseFunction]:
        """Return the functions of `parsers`, by dotted path; those without a name are left out.

        Args:
            module: dotted path of the recipe.
        """
        names = {id(value): name for name, value in vars(import_module(module)).items()}
        return {
            f"{module}.{names[id(parser.parse)]}": parser.parse
            for parser in self.parsers.values()
            if id(parser.parse) in names
        }

    def second_look(self, module: str, parsers: Mapping[str, str]) -> dict[str, Any] | None:
        """The zoom that `"zoom": true` stands for in a model entry; None: the family has none.

        Args:
            parsers: the entry's parse functions by data set.
        """
        if self.zoom is None:
            return None
        names = (self.grounding_parser, self.zoom_parser)
        one_look, both_looks = (f"{module}.{name}" for name in names)
        changed = {
            dataset: both_looks if dotted == one_look else dotted
            for dataset, dotted in parsers.items()
        }
        return {"zoom": self.zoom.as_settings(), "parse_function": changed}

    def _kwargs(self, resize: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        limits = self.limits.as_kwargs() if self.limits else {}
        kwargs = {**limits, **self.kwargs}
        if resize:
            kwargs["resize"] = [dict(step) for step in resize]
        return kwargs

    def _of_checkpoint(self, api_cfg: Mapping[str, Any], new_tokens: int) -> dict[str, Any]:
        """Return the settings in the words of transformers' `generate`, as far as it has them."""
        settings = {**api_cfg, **api_cfg.get("extra_body", {})}
        generate_cfg: dict[str, Any] = {"max_new_tokens": settings.get("max_tokens", new_tokens)}
        if "repetition_penalty" in settings:
            generate_cfg["repetition_penalty"] = settings["repetition_penalty"]
        if "temperature" in settings:
            generate_cfg["do_sample"] = settings["temperature"] > 0
        if generate_cfg.get("do_sample"):
            names = ("temperature", "top_p", "top_k")
            generate_cfg |= {name: settings[name] for name in names if name in settings}
        kwargs = self._kwargs(self.resize)
        if self.chat_template:
            kwargs["chat_template"] = dict(self.chat_template)
        return {"generate_cfg": generate_cfg, "kwargs": kwargs, **self.checkpoint}


_TEXT, _OBJECT = "a text", "an object, {...}"
_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("family", str, _TEXT),
    ("frame", str, _TEXT),
    ("source", str, _TEXT),
    ("grounding_parser", str, 'the name of a function of the recipe\'s module, "parse_point"'),
    ("zoom_parser", str, 'the name of a function of the recipe\'s module, "parse_point"'),
    ("limits", (Limits, NoneType), "Limits(factor=28, min_pixels=3136, max_pixels=12845056)"),
    ("generate_cfg", Mapping, _OBJECT),
    ("chat_template", Mapping, _OBJECT),
    ("kwargs", Mapping, _OBJECT),
    ("checkpoint", Mapping, _OBJECT),
    ("prompt_functions", Mapping, _OBJECT),
    ("agent", (Agent, NoneType), "Agent(...)"),
    ("steps", (Steps, NoneType), "Steps(...)"),
    ("zoom", (Zoom, NoneType), "Zoom(...)"),
    ("verified", str, _TEXT),
    ("note", str, _TEXT),
)
"""Fields of a recipe with their types, and what a message says that they are."""
_ITEMS: dict[str, tuple[Any, str]] = {
    "hub_ids": (str, 'texts in parentheses, ("org/name",)'),
    "figures": (Figure, 'Source("...").of("name", l2=61.5)'),
    "resize": (Mapping, 'objects in parentheses, ({"longest": 1280},)'),
}


def _wrong_values(name: str, values: Any, kind: type) -> list[str]:
    """Say which values of an object by variant are of another type."""
    expected = f'{{"card": {kind.__name__}(...)}}'
    if not isinstance(values, Mapping):
        return [f"{name} is {values!r:.60}; expected {expected}"]
    return [
        f'{name}["{key}"] is {value!r:.60}; expected {kind.__name__}(...)'
        for key, value in values.items()
        if not isinstance(value, kind)
    ]


def _wrong_items(name: str, values: Any, kind: Any, expected: str) -> list[str]:
    """Say that a field is no list, or has items of another type."""
    if isinstance(values, (tuple, list)) and all(isinstance(value, kind) for value in values):
        return []
    return [f"{name} is {values!r:.60}; expected {expected}"]


def _form_of(dataset: str, benchmark: str, steps: Mapping[str, str]) -> str:
    """Return the form that a data set of a config asks for; "": none."""
    if dataset in steps:
        return steps[dataset]
    if benchmark in ACTING:
        return AGENT
    return "" if benchmark in OTHER_DATA_SETS else GROUNDING


def as_path(module: str, name: str) -> str:
    """Return the dotted path of a function that a recipe names: one of its module without a dot."""
    return name if "." in name else f"{module}.{name}"


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
    """Return a form as a function; stored answers know those of the older recipes so."""

    def build_prompt(line: Line, dataset: str, **settings: Any) -> list[Message] | None:
        return form(line, dataset, **settings)

    return build_prompt


def with_special_tokens(outputs: Any, model: Any, processor: Any, **kwargs: Any) -> str:
    """Return the text of a checkpoint's completion, special tokens included.

    Args:
        outputs: shape (1, prompt + completion) of token ids.
        model: as loaded; not used.
        processor: as loaded.
        **kwargs: `input_length`, the number of prompt tokens in front of the completion.
    """
    predicted = sequences_of(outputs)[:, kwargs["input_length"] :]
    return str(processor.batch_decode(predicted, skip_special_tokens=False)[0])
