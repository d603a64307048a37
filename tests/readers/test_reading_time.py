"""Every public reader of replies is found, and reads 100 kB of its worst text in a moment."""

import importlib
import inspect
import pkgutil
import time
from contextlib import suppress
from types import FunctionType

import pytest

import models
import models.recipes
from benchmarks.actions import dialects
from benchmarks.actions.action import NoAction
from models.recipes.agents import ui_venus
from models.recipes.reading import NOT_READ
from tests.support.effort import least_cpu_s
from utils import coordinates, misc, thinking, tool_calls
from utils.import_utils import resolve

LONG = 100_000  # signs
SHORT = 1_000
MOST_S = 2  # one that goes over a text again for each of its signs takes minutes
WORST = 2  # of the texts, by the time that their short ones take
META = {
    "image_size": "[1920, 1080]",
    "file_size": "[1920, 1080]",
    "sent_size": "[1920, 1080]",
    "options": "{'A': 'a', 'B': 'b'}",
    "platform": "os_web",
}
FRAGMENTS = [
    *("9", "0.00000000", ".", "-", "1,", "1, ", " ", "\n", "\t", "'", '"', "\\", "%", "| ", "1e"),
    *("(", "(1,", "[", "[[", "{", '{"a":', "{'a':", '["1",', "<", "<|", "&lt;", "<details "),
    *("x=", "x=1, ", "x=1,1", "x=1 000 ", "x of a ", "A", "A ", "Answer ", "boxed{", "选", "答案"),
    *(
        "（１，",
        "“",
        "ant",
        "<think>",
        "</think>",
        "<think></think>",
        "◁think▷",
        "<|channel>thought",
    ),
    *(
        "<point>",
        "<point>1 ",
        "<points ",
        '<points coords="',
        "<|box_start|>",
        "<|box_start|>(1,2)",
    ),
    *("<tool_call>", "<tool_call>\n{", "<tool_call>x<arg_key>", "</tool_call>", "}</tool_call>"),
    *("<function=a>", "<parameter=a>", '<invoke name="a">', "<answer>", "<action>", "```json"),
    *(
        "<action>a</action>",
        "<think></think><action>",
        "Action:",
        "Action: click(",
        "click((0.5)\n",
    ),
    *("Memory:", "Memory:Reason:", "Memory:Reason:Action:", "pyautogui.click(", "computer."),
    *("start_box=", "type(content='", "box=", "box=1,", "box = ", "point:1,2\t"),
    *("## Action:\n", "## Action:\n```", "<tool_call>\n", "</action>", "<action>Click("),
]
FRAMED = [  # (before, fragment, after): within the form that a reader looks for
    ("<action>Click(", "box=  ", ")</action>"),
    ("<action>Type(", "content=   ", ")</action>"),
    ("(", "9", ""),
    ("<|box_end|>", "<|box_start|>", ""),
    ("<|box_start|>", "9", "<|box_end|>"),
    ("<tool_call>\n{", "}\n</tool_call>", ""),
    ("Action: ", "type(content='", ")"),
    ('{"action": "', "a", '"}'),
    ("Action: click(start_box='", "1,", "')"),
    ("<action>Sequence(actions=[", "Wait(), ", "])</action>"),
    ("## Action:\nx\n```python\n", "pyautogui.click(1, 2)\n", "```"),
    ("## Action", " ", "x"),
    ("<tool_call>\n<function=computer_use>\n", "<parameter=a>", "</tool_call>"),
    ("<tool_call>\n<function=computer_use>\n", "<parameter=a>1</parameter>", "</tool_call>"),
]
TEXTS = [("", fragment, "") for fragment in FRAGMENTS] + FRAMED


def modules_of(package):
    """The modules of a package, those within its own packages included."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def core_of(value):
    """What a function is made of: its code, and that of functions that it holds."""
    value = inspect.unwrap(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    held = [core_of(content) for content in cells if isinstance(content, FunctionType)]
    return value.__code__, *held  # of frames and limits any will do


def public_readers():
    """Each parse function by its name; of those that differ only in their frame the first."""
    recipes = list(modules_of(models.recipes))
    examples = [importlib.import_module(f"models.{name}") for name in EXAMPLES]
    readers = {
        f"{module.__name__}.{name}": function
        for module in (coordinates, thinking, dialects, misc, *recipes, *examples)
        for name, function in vars(module).items()
        if name.startswith("parse") and isinstance(function, FunctionType)
        if not name.endswith("_function_name")
        if len(inspect.signature(function).parameters) == 2
    }
    others = {
        "numbers_of_reply": lambda reply, _: coordinates.numbers_of_reply(reply),
        "after_thinking": lambda reply, _: thinking.after_thinking(reply),
        "strict_option": lambda reply, _: thinking.strict_option(reply, "ABCD"),
        "last_statement": lambda reply, _: thinking.last_statement(reply),
        "written_calls": lambda reply, _: tool_calls.written_calls(reply),
        "agents.ui_venus.parts_of": lambda reply, _: ui_venus.parts_of(reply),
    }
    return list(
        {core_of(reader): (name, reader) for name, reader in (readers | others).items()}.values()
    )


EXAMPLES = ("api_gpt", "api_uitars", "local_aguvis", "local_uitars")
READERS = dict(public_readers())


def text_of(parts, length):
    before, fragment, after = parts
    return before + fragment * (length // len(fragment)) + after


def read(reader, text):
    with suppress(NoAction, *NOT_READ):  # UI-TARS's example has digits for a number, however many
        reader(text, META)


def cpu_s(reader, text):
    began_s = time.thread_time()
    read(reader, text)
    return time.thread_time() - began_s


def test_the_readers_of_every_recipe_agent_and_dialect_are_found():
    cores = {core_of(reader) for reader in READERS.values()}
    recipes = models.recipes.all_recipes().values()
    parsers = [parser.parse for recipe in recipes for parser in recipe.parsers.values()]
    agents = [resolve(recipe.agent.parse, role="test") for recipe in recipes if recipe.agent]
    others = [coordinates.parse_fractions, thinking.parse_option, dialects.parse_tool_calls]
    assert {core_of(parse) for parse in (*parsers, *agents, *others)} <= cores


@pytest.mark.parametrize("name", READERS)
def test_a_hundred_kilobytes_of_its_worst_text_are_read_in_a_moment(name):
    reader = READERS[name]
    texts = sorted(TEXTS, key=lambda parts: cpu_s(reader, text_of(parts, SHORT)))
    for parts in texts[-WORST:]:
        text = text_of(parts, LONG)
        taken_s = least_cpu_s(lambda text=text: read(reader, text), MOST_S)
        assert taken_s < MOST_S, parts
