"""The types that cross module borders: requests, responses, and the interface of a wrapper.

`benchmarks` and `models` know each other only through this file.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from utils.sampling import Group, limit_ranks
from utils.sections import DataSection

Line = dict[str, Any]  # one row of an annotation file, with the data set's own types
# {"role": "system" | "user" | "assistant", "type": "text" | "image", "value": text or path}
# A message with "turn": "new" begins a chat message of its own, whoever spoke before it. The type
# "message" is a reply in the form of the model's own API (`Generation.message`) and goes out as it
# is; the role "tool", with "call_id", says what came of a tool call of it.
Message = dict[str, Any]
WH = tuple[int, int]  # width and height in pixels
Point = tuple[float, float]  # x, y: fractions of the image if both are in 0..1, else pixels of it
ToolCall = Mapping[str, Any]  # "id", "name", "arguments": an object, or the text if it is none
Record = dict[str, Any]  # one line of a run's log; fields: `utils/store/records.py`
Facts = dict[str, Any]  # one line of a samples file; fields: `utils/scoring/samples.py`
ParseFunction = Callable[[str, Mapping[str, Any]], Any]  # in one calling form: (response, meta)
PromptFunction = Callable[[Line, str], "list[Message] | None"]  # a user's: f(line, dataset)

GENERATING = "generating"  # threads of this name may be inside native code when the program ends

KWARGS_READ = (  # keys of a model entry's free `kwargs` block that the program itself reads
    "system_prompt",
    "img_size",
    "img_detail",
    "image_format",
    "jpeg_quality",
    "wire_format",
    "min_pixels",
    "max_pixels",
    "resize",
    "timeout_s",
    "serve_timeout_s",
    "load",
    "chat_template",
)
KWARGS_WITHOUT_EFFECT = {"timeout_s", "serve_timeout_s"}  # of these: no answer depends on them


class Status(StrEnum):
    """The end of a sample's request. A field of the record, never a text to search for."""

    OK = "ok"
    REFUSED = "refused"  # the server will not answer this one; wrong in the score
    FAILED = "failed"  # no answer after all tries; wrong, counted apart, asked again
    MISSING = "missing"  # an import has no row for this sample; wrong, counted apart


class ImageChange(StrEnum):
    """A change of an image before it is sent, made without a setting."""

    ORIENTATION = "orientation"  # its tag says "as stored" now
    PNG = "png"  # it is the first frame, since servers refuse the format, or animations


class Verdict(StrEnum):
    """The result of an answered sample. `UNPARSED` is a miss that is counted apart."""

    HIT = "hit"
    MISS = "miss"
    UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True)
class Sample:
    """One question to ask."""

    key: str  # hash of data set, picture and question; the same in every mode and every run
    line: Line  # the row of the annotation file with all columns of the data set; not to be changed
    image: Path | None  # the picture's file; None: each of its prompts has another one
    file_wh: WH | None  # width and height of the picture in pixels


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one image: (width, height) in pixels at three stages; None if unknown."""

    file_wh: WH | None = None  # the image file on disk
    sent_wh: WH | None = None  # the picture as it left this program (after `img_size`)
    seen_wh: WH | None = None  # the pixel grid that the vision tower worked on (local models only)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One turn of a benchmark's questions to a model."""

    messages: list[Message]  # in the order in which the model is to see them
    is_custom: bool = False  # a user's prompt function made them, not the benchmark
    image: Path | None = None  # which of its images the answer is about; None: the last one
    crop: Mapping[str, Any] | None = None  # the part of the sample's image that it is, for records


class FollowUp(Protocol):
    """The questions after a first reply: `utils.functions.follow_up`."""

    def next_prompt(self, sample: Sample, records: Sequence[Record]) -> Prompt | None:
        """Return the prompt after the answered stages of a sample; None: that was all."""

    def release(self, prompt: Prompt) -> None:
        """Remove the files of a prompt that was answered."""

    def begin(self) -> None:
        """Remove the files of a killed run; only the process that runs the data set calls it."""

    def close(self) -> None:
        """Remove all that was made."""


Answered = Sequence[tuple[Line, str | None]]
"""Samples of a chain in order, each with the reply; None: there was none."""
PromptOf = Callable[[Line], Prompt]  # the user's prompt function's, or the benchmark's default


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that could be sent as it stands."""

    dataset: str  # name of the data set
    # Equal for two requests exactly if the stored answer of one answers the other; "": none does.
    fingerprint: str
    parts: Mapping[str, str]  # hash of "prompt", "picture", "settings": why a fingerprint changed
    payload: Any  # what the wrapper needs to send it; opaque to everyone else
    image_sizes: Sequence[Sizes] = ()  # of the prompt's images in order, as far as known by then
    prompt: Sequence[Message] = ()  # for people: messages in order, images without value
    image_changes: Sequence[ImageChange] = ()  # of any of its images, each once
    # Fingerprints that the same request has in earlier runs, where it went to another server.
    earlier_fingerprints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Generation:
    """One response of a model, with its facts."""

    text: str  # what it wrote; of a local model the completion alone, without special tokens
    # After the user's postprocess function, where that must run beside the model (local models: it
    # takes token ids); None where it is applied anew at scoring time.
    reply: str | None = None
    finish_reason: str | None = None  # "stop", "length", ...; None where unknown
    usage: Mapping[str, Any] = field(default_factory=dict)  # token counts as the server names them
    image_sizes: Sequence[Sizes] = ()  # of the prompt's images, with what the model saw of them
    sizes: Sizes = field(default_factory=Sizes)  # of the one it is about; the engine knows which
    reasoning: str | None = None  # thinking that came apart from the reply; stored, never parsed
    postprocess_error: UserFunctionError | None = None
    latency_s: float | None = None  # of the model alone (the batch), where asking took longer
    runs_with: Mapping[str, str] = field(default_factory=dict)  # device, dtype, attention, if local
    tool_calls: Sequence[ToolCall] = ()  # native ones, in order
    message: Any = None  # what repeats the reply to the same API in later turns; None: the text

    @property
    def response(self) -> str:
        """The text, then the tool calls as a model writes them without a tool-call parser.

        One parse function can read both kinds of servers.
        """
        calls = [
            json.dumps({"name": call["name"], "arguments": call["arguments"]}, ensure_ascii=False)
            for call in self.tool_calls
        ]
        written = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
        return "\n".join([self.text, *written] if self.text else written)


@dataclass(eq=False)
class UserFunctionError(Exception):
    """One of the user's functions raised. The sample has failed, and the run goes on."""

    # "prompt", "preprocess", "postprocess", "parse" or "follow_up"; "generate" of a custom class;
    # "reading" where none of them is to blame
    stage: str
    summary: str  # `raised KeyError: 'instruction' (my_model.py, line 12)`, `returned None; ...`
    trace: str  # the traceback, from the user's function inwards

    def __str__(self) -> str:
        return f"{self.stage} function {self.summary}"


@dataclass(eq=False)
class CallError(Exception):
    """An attempt to get an answer failed. Its fields decide whether the program tries again."""

    # "http" (an error status), "timeout", "connection", "dns", "refused_connection", "unreachable",
    # "scheme" (http where https is spoken, or the other way round), "certificate", "bad_body" (no
    # usable answer), "empty" (a whole reply without text), "content_filter", "refusal" (the
    # model's own), "model" (raised) or "skipped" (by a person, who may be asked again)
    kind: str
    message: str
    status_code: int | None = None  # the HTTP status, or None
    code: str | None = None  # the server's own error code, e.g. "insufficient_quota", or None
    retry_after_s: float | None = None  # what the server asked for, or None
    trace: str = ""  # traceback of a model that is a class of the user's; empty for others
    reply: str = ""  # what came back, where the message does not say it
    empty_answer: Generation | None = None  # of the kind "empty": the answer, if it stays empty
    advice: str = ""  # what to do, where more is known about it than the kind says

    def __str__(self) -> str:
        return self.message


class WorldError(Exception):
    """A world failed, such as by a crash or a hanging page; the model is not to blame."""

    def __init__(self, summary: str, trace: str, *, by_action: bool = False) -> None:
        """Say what failed.

        Args:
            by_action: it happened while the world did what the model asked for.
        """
        self.trace, self.by_action = trace, by_action
        self.deaths = 0  # how often the world of this episode has failed by an action so far
        super().__init__(summary)


class Abandoned(Exception):
    """The run stopped before this request was sent, so there is no result."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One sample's result."""

    verdict: Verdict | None  # None for a sample without an answer (wrong in the score)
    counted: Any  # what `summarise` needs
    columns: Mapping[str, Any]  # the columns of the per-sample file
    facts: Mapping[str, Any]  # what reports and comparisons show beyond the line's columns
    error: UserFunctionError | None = None  # why the parse function gave nothing usable
    better_parser: str = ""  # the program's own parse function that reads what this one could not


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The reading of one reply in an episode."""

    actions: Sequence[str] = ()  # in the default prompt's words
    problem: str = ""  # why there are none
    better_parser: str = ""  # the program's own parse function that reads some


# The prompts of one sample, each sent what the model said; returns what `judge` gets.
Episode = Generator[Prompt, Generation, Any]


@dataclass(frozen=True, slots=True)
class ReplyParsing:
    """The reader of one model's replies during an episode."""

    postprocess: Callable[[str], str]
    parse: ParseFunction
    limits: Mapping[str, Any]  # the model's pixel limits, for `meta`


class World(Protocol):
    """The environment of one episode at a time; all calls come from the same thread."""

    def reset(self, task: Line) -> Any:
        """Begin a task; return the first observation."""

    def step(self, action: Any) -> Any:
        """Act; return the next observation."""

    def evaluate(self) -> Any:
        """The outcome of the task: a success or not, and why."""

    def close(self) -> None:
        """Release everything, from whatever state."""


class Benchmark(Protocol):
    """The interface of a data set for a run; `benchmarks.base.Benchmark` adds the shared parts.

    It asks one question about each sample; one that acts is an `ActingBenchmark`.
    """

    name: ClassVar[str]
    level: ClassVar[str]  # a short name, as people call it; a table has its own name
    modes: ClassVar[tuple[str, ...]]  # "all" and the values of `mode_column`
    mode_column: ClassVar[str]  # of a line: its difficulty, its grounding type

    @property
    def spread_column(self) -> str:
        """The column of a line whose labels `--limit` takes in turn, beside the platforms."""
        return self.mode_column

    result_suffix: ClassVar[str] = "result"  # of the per-sample file's name
    score_suffix: ClassVar[str] = "score"
    result_columns: ClassVar[tuple[str, ...]]  # behind the line's own if `result_has_line`
    result_has_line: ClassVar[bool] = False
    not_in_sheets: ClassVar[tuple[str, ...]] = ()  # columns of a line that are no text for people
    # That fits: "grounding" (points on an image), "steps" (of a phone) or "desktop_steps".
    recipe_form: ClassVar[str] = ""
    # By dotted path: functions of the program's own that may read what another one cannot.
    parse_functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    config_section: ClassVar[type[DataSection]] = DataSection  # its keys in a config
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # of an `OpenSection`: keys and values
    audits: ClassVar[tuple[str, ...]] = ()  # dotted paths, see `utils.analysis.audits`
    scored_kinds: ClassVar[tuple[str, ...]] = ()  # kinds of samples whose hits count; (): all
    image_root: Path  # the folder that the lines' `image_path` is relative to

    def source(self) -> tuple[str, bytes]:
        """The source of its samples: a name and the content."""

    def build_prompt(
        self, line: Line, use_system: bool = True, custom_system_prompt: str | None = None
    ) -> list[Message]:
        """Return the default prompt of a line."""

    def in_mode(self, row: Line, mode: str) -> bool:
        """Whether a row belongs to `mode`."""

    def check_labels(self, rows: Iterable[Line]) -> None:
        """Raise an error with the labels that there are, where no row has one of `only`."""

    def chain_of(self, line: Line) -> str:
        """The chain of a sample, whose samples are asked in order; "": it is asked by itself."""
        return ""

    def line_after(self, line: Line, answered: Answered) -> Line:
        """The line of a sample as it is asked once those before it in its chain are over."""
        return line

    def judge(
        self, line: Line, sizes: Sizes, reply: str | None, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Parse and judge one reply; None: there was no answer."""

    def accept(self, parsed: Any) -> Any:
        """Return a parse function's result in one form; a `ValueError` for nonsense."""

    def read(
        self, line: Line, sizes: Sizes, reply: str, parse: ParseFunction, meta_extra: Line
    ) -> tuple[Any, UserFunctionError | None]:
        """The result of a parse function for a reply, and why that is nothing usable, if so."""

    def judged_by(self) -> Sequence[Callable[..., Any]]:
        """The classes and functions that judge; the user's own ones are known by their code."""
        return [type(self)]

    def try_scorer(self, sample: Sample) -> str:
        """Call a scorer of the user's with a sample's right answer; return what is odd, or "".

        Raises:
            ScorerError: it fails.
        """
        return ""

    @abstractmethod
    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the score object of all samples' `Judgement.counted`.

        Args:
            settings: the environment.
        """

    @abstractmethod
    def sections(self, columns: Any, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures as sections of the analysis by name; "table" is the score table.

        Made of the `SampleColumns` of all scored samples. Audits add theirs.
        """


@runtime_checkable
class ActingBenchmark(Benchmark, Protocol):
    """A benchmark whose samples are episodes in a world, reused whole or not at all."""

    def episode(
        self, sample: Sample, prompt_of: PromptOf, world: World, reading: ReplyParsing
    ) -> Episode:
        """The prompts of one episode, one after the other, played in a world that is lent."""

    def rules_digest(self) -> str:
        """A hash of how episodes go, besides task and model."""

    def open_world(self, shots: Path, number: int = 0) -> World:
        """A new world that saves screenshots in the folder `shots`.

        Its number tells it from the others that are open.
        """

    def read_reply(
        self, reading: ReplyParsing, sample: Sample, prompt: Prompt, generation: Generation
    ) -> ReadReply:
        """Read the actions that the reply to an episode's first prompt asks for."""


class RotationRules(Protocol):
    """Circular evaluation of a data set: every question in all rotations of its options."""

    def rotations_of(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return each sample in all its rotations, the 0th being the sample itself."""

    def count(self, line: Mapping[str, Any]) -> int:
        """The number of rotations of a line, the 0th included."""

    def section(self, columns: Any) -> dict[str, Any]:
        """Return the section "circular" of an analysis, of the rotations of all questions."""


@dataclass
class DataSet:
    """One data set of a run: its benchmark, its samples, and how replies are parsed."""

    benchmark: Benchmark
    mode: str
    parse: ParseFunction
    circular: RotationRules | None = None  # None: the questions alone
    repeats: int = 1  # how often each question is asked
    rotations: RotationRules | None = None  # for logs that have them, where this run asks none
    samples: Sequence[Sample] = ()  # in file order; none where only stored answers are scored
    # By dotted path, those of the config too; None: the program's own, loaded when it runs.
    audits: Mapping[str, Callable[..., Any] | None] = field(default_factory=dict)
    bad: Sequence[str] = ()  # samples that are left out, one line each
    bad_grouped: Sequence[str] = ()  # one line for all samples on an image that is to blame
    # The samples that were ranked last, and their ranks: a run needs these four times.
    _ranked: tuple[Sequence[Sample], dict[str, int]] = field(
        default=((), {}), init=False, repr=False, compare=False
    )

    def limit_ranks(self) -> dict[str, int]:
        """Return when `--limit` takes each sample, from 0, by its key; it takes whole chains."""
        if self._ranked[0] is not self.samples:
            self._ranked = self.samples, self.ranks_of(self.samples)
        return self._ranked[1]

    def ranks_of(self, samples: Iterable[Sample]) -> dict[str, int]:
        """Return when `--limit` would take each sample, from 0, by its key, if there were no more.

        A sample is gone through once; only what decides ranks is kept of it.
        """
        column = self.benchmark.spread_column
        keys_of_chain: dict[str, list[str]] = {}
        groups: list[Group] = []
        images: list[Path | None] = []
        for sample in samples:
            chain = self.benchmark.chain_of(sample.line) or sample.key
            if chain not in keys_of_chain:
                keys_of_chain[chain] = []
                groups.append((str(sample.line.get("platform")), str(sample.line.get(column))))
                images.append(sample.image)
            keys_of_chain[chain].append(sample.key)
        ranks = limit_ranks(groups, images)
        return {
            key: rank
            for keys, rank in zip(keys_of_chain.values(), ranks, strict=True)
            for key in keys
        }

    def chosen(self, limit: int | None) -> Sequence[Sample]:
        """Return the samples of `--limit` in file order; None: all."""
        if limit is None:
            return self.samples
        ranks = self.limit_ranks()
        return [sample for sample in self.samples if ranks[sample.key] < limit]

    def requested(self, limit: int | None) -> Sequence[Sample]:
        """Return the chosen samples, or all their rotations in circular evaluation; with repeats.

        Repeats of a sample follow it and share its line.
        """
        samples = self.chosen(limit)
        if self.circular is not None:
            samples = self.circular.rotations_of(samples)
        if self.repeats == 1:
            return samples
        return [
            replace(sample, key=repeat_key(sample.key, number))
            for sample in samples
            for number in range(1, self.repeats + 1)
        ]


TURN_MARK = "~"  # between the key of a sample and the number of one of its turns
REPEAT_MARK = "+"  # between the key of a question and the number of one of its answers


def turn_key(key: str, number: int) -> str:
    """Return the key of a turn of a sample (a rotation, a step); the 0th has the sample's own."""
    return key if number == 0 else f"{key}{TURN_MARK}{number}"


def repeat_key(key: str, number: int) -> str:
    """Return the key of the answer of this number, from 1, to a question or to a turn of it.

    The first answer has the question's own key, as in a run that asks each question once.
    """
    if number == 1:
        return key
    question, mark, turn = key.partition(TURN_MARK)
    return f"{question}{REPEAT_MARK}{number}{mark}{turn}"


def repeat_of(key: str) -> int:
    """Return the number of a key's answer among the answers to its question, from 1."""
    _, mark, number = key.partition(TURN_MARK)[0].rpartition(REPEAT_MARK)
    return int(number) if mark and number.isdecimal() else 1


def question_of(key: str) -> str:
    """Return the key of the question that a key, maybe of a turn or a repeat, belongs to."""
    sample = key.partition(TURN_MARK)[0]
    if REPEAT_MARK not in sample or repeat_of(sample) == 1:
        return sample
    return sample.rpartition(REPEAT_MARK)[0]


def credit_of(facts: Facts) -> float | None:
    """Return what a sample counts in the score, 0 to 1; None: the score leaves it out.

    A rule of recorded steps may find a part of a step right, or leave a step out. All other
    samples, and those in files of earlier versions, count by their hit.
    """
    credit: float | None = facts["credit"] if "credit" in facts else facts.get("hit")
    return credit


def credits_of(samples: Iterable[Facts]) -> list[float]:
    """Return the credits of the samples that the score counts."""
    return [credit for facts in samples if (credit := credit_of(facts)) is not None]


class ModelServer(Protocol):
    """The target of requests: one server of a model, or the model itself."""

    @property
    def name(self) -> str:
        """The host with its port; the name of a model."""

    def generate(self, prepared: Prepared) -> Generation:
        """Ask once; CallError: no answer this time."""


class Servers(Protocol):
    """The servers of a model that has several. They come and go while it is queried."""

    clean: Callable[[str], str]  # removes secrets from what servers say

    def start(self) -> None:
        """Look at all of them, once; StopRun: they are not servers of one model."""

    def subscribe(self, changed: Callable[[Sequence[ModelServer], bool, bool], None]) -> None:
        """Have a function told which ones may be asked, now and whenever that changes.

        It also gets whether others may come, and whether some are being looked at.
        """

    def is_gone(self, server: ModelServer) -> bool:
        """Look at a server after a request to it has failed; it gets no others meanwhile."""

    def exclude(self, server: ModelServer, reason: str) -> None:
        """Send nothing more to a server: it will never answer."""

    def note_moved(self, server: ModelServer) -> None:
        """Count a request that goes elsewhere because its server failed."""

    def shown(self) -> str:
        """Say how many serve: `7 of 8 servers`; "" where none was looked at."""

    def why_none(self) -> str:
        """Say of each server why it may not be asked."""

    def expect(self, served: Mapping[str, Any]) -> None:
        """Set what stored answers are from: servers that serve something else are an error."""

    def served(self) -> Mapping[str, str | int]:
        """Facts of the model that all servers have in common."""

    def table(self) -> list[dict[str, Any]]:
        """Work and presence of each server."""


class OtherMachines(Protocol):
    """The other machines of a run, which start servers of a model for it."""

    @property
    def key(self) -> str:
        """The key that these servers expect."""

    def call(self) -> str:
        """Have them start servers; return the folder in which each has a file with its address."""


class ClientElsewhere(Protocol):
    """The client of a run on another machine, for a model that serves it on this one."""

    @property
    def key(self) -> str:
        """The key that it sends to the servers."""

    @property
    def host(self) -> str:
        """The address at which it reaches this machine."""

    def is_waiting(self) -> bool:
        """Whether it still needs the servers, after a short wait. StopRun: it is gone."""

    def tell(self, base_urls: Sequence[str]) -> None:
        """Tell it which servers answer on this machine now."""


class ModelWrapper(Protocol):
    """The interface of a model for the engine.

    Between calls, no state that alters a request may change. A user's preprocess or postprocess
    function that raises becomes a UserFunctionError.
    """

    name: str
    one_by_one: bool = False  # a sample is over before the next one begins
    # Functions and classes of the user's that decide about answers; fingerprints hold their code.
    deciding_code: Sequence[Callable[..., Any]] = ()
    servers: Servers | None = None  # None: there is one, the model itself

    def use_machines(self, machines: OtherMachines) -> None:
        """Query servers of other machines, too; before the first request."""
        return

    def serve(self, client: ClientElsewhere) -> None:
        """Start servers for the client of a run, until it needs none any more; ask nothing."""
        return

    def served(self) -> Mapping[str, str | int]:
        """Facts of what serves the model, which may be asked for them; none where nothing does."""
        return {}

    def in_flight(self, requested: int | None) -> int | None:
        """The number of `generate` calls that run at once; None: all that a server takes."""
        return requested

    def problems(self) -> list[str]:
        """Problems in the way of running (no checkpoint, no CUDA, ...); cheap."""
        return []

    def warm_up(self) -> None:
        """Load all that the first `generate` needs; StopRun if it cannot be loaded."""
        return

    def settings_digest(self) -> str:
        """Return a hash of all that decides about answers but the messages.

        Raises:
            UserError: there is no checkpoint.
        """

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Return the request of some messages with its fingerprint; pure but for reading images.

        UserError: a picture cannot be sent as the settings ask.
        """

    def generate(self, prepared: Prepared) -> Generation:
        """Ask once; CallError: no answer this time."""

    def announce(self, dataset: str, sample_count: int, index: int) -> None:
        """Tell which sample of a data set comes next; only where they come `one_by_one`."""
        return

    def know_runs(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Have answers of earlier runs count that were asked of other servers of this model.

        Args:
            entries: the model's entry in the config of each earlier run.
        """
        return

    def wire_size(self, prepared: Prepared) -> int:
        """The number of bytes that a query would send; 0 for models in this process."""
        return 0

    def postprocess(self, dataset: str) -> Callable[[str], str]:
        """The maker of the text to parse from a raw reply; it may raise `UserFunctionError`."""

    def abandon(self) -> None:
        """Have `generate` calls that wait for others raise `Abandoned`: the run has stopped."""
        return

    def notes_before(self) -> list[str]:
        """Notes for the user before the run, one line each."""
        return []

    def fixed_by(self) -> str:
        """Return the setting that makes equal requests get equal answers; "" if they may differ."""
        return ""

    def notes_after(self) -> list[str]:
        """Notes on the model's speed after the run, one line each."""
        return []

    def close(self) -> None:
        """Release what is held; blocks for seconds at most (a server or a batch that must end)."""
