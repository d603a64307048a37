"""Dotted paths to the user's functions, and how these are called."""

import functools
import importlib
import os
import subprocess
import sys

import pytest

from tests.support.runs import PROJECT
from utils.errors import UserError
from utils.functions.signatures import FunctionRef, custom_arguments, parse_caller
from utils.import_utils import check_reference, resolve

GOOD = """
import functools
from os.path import join
LIMIT = 3
def parse_box(response, meta): return (response, meta)
def parse_letter(response): return response
def build(line, dataset): return []
def prepare(message, model, processor, **kwargs): return message
def closed(message, model, processor): return message
def named(message, model, processor, dataset_name, img_size=0): return message
def one(line): return []
class Parsers:
    @staticmethod
    def point(response, meta): return "static"
    @classmethod
    def made(cls, response, meta): return "class"
    def bound(self, response, meta): return "bound"
    def __call__(self, response, meta): return "called"
instance = Parsers()
shifted = functools.partial(lambda extra, line, dataset: [extra], 1)
class Model:
    def generate(self, message, *, dataset_name, **generate_cfg): return "x"
class Narrow:
    def __init__(self, size=1): self.size = size
    def generate(self, message, *, dataset_name): return "x"
class Needy(Narrow):
    def __init__(self, weights): self.weights = weights
class Mute: pass
class Static:
    @staticmethod
    def generate(message, *, dataset_name): return "x"
class Deaf:
    def generate(self, message): return "x"
"""

BROKEN = {
    "raises": "x = 1\n\ndef f():\n    raise ValueError('two\\nlines')\nf()\n",
    "exits": "import sys\nsys.exit('not on this machine')\n",
    "syntax": "def f(:\n    pass\n",
    "needs": "import no_such_package_anywhere\n",
    "nested": "from users import raises\n",
    "decodes": "import json\njson.loads('{')\n",
}
UNKNOWN_PACKAGE = "ModuleNotFoundError: No module named 'no_such_package_anywhere' ("
DATASET = ("dataset_name",)
META = {"image_size": "[10, 20]"}


@pytest.fixture(scope="module", autouse=True)
def good(tmp_path_factory):
    """A package of a user's own files, importable while these tests run; its module `good`."""
    root = tmp_path_factory.mktemp("users")
    (root / "users").mkdir()
    package = "def in_package(response): return response\n"
    for name, text in {"__init__": package, "good": GOOD, **BROKEN}.items():
        (root / "users" / f"{name}.py").write_text(text)
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    yield importlib.import_module("users.good")
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.startswith("users")]:
        del sys.modules[name]


def check(dotted, kind="parse", **more):
    """The problems, without file and key path, which each must begin with."""
    _, lines = check_reference(FunctionRef("c.json", "data.X.parse_function", dotted, kind, **more))
    front = "c.json: data.X.parse_function: "
    assert all(line.startswith(front) and "\n" not in line for line in lines)
    return [line.removeprefix(front) for line in lines]


@pytest.mark.parametrize(
    ("dotted", "expected", "search_folder"),
    [
        (
            "parse_box",
            '"parse_box" is not a dotted path of module and name, like "models.local_',
            "",
        ),
        *[
            (dotted, "is not a dotted path", "")
            for dotted in (
                "models/good.py",
                "good.py",
                "users.good:parse_box",
                "users..good",
                "pkg of users.good.f",
            )
        ],
        ("modles.good.f", 'there is no module "modles"; did you mean "models"?', ""),
        ("no_such_thing.f", 'there is no module "no_such_thing"', ""),
        ("users.god.f", 'users has no "god"; did you mean "good"?', ""),
        ("users.elsewhere.f", 'users has no "elsewhere"; it has "', ""),
        ("users.good", '"users.good" is a module; name a function in it; it has "parse_box"', ""),
        ("users.good.parse_bbox", 'users.good has no "parse_bbox"; did you mean "parse_box"?', ""),
        ("users.good.LIMIT", '"users.good.LIMIT" cannot be called: it is a int', ""),
        ("users.good.LIMIT.x", 'users.good.LIMIT has no "x"; it is a int', ""),
        ("users.good.Parsers.pont", 'users.good.Parsers has no "pont"; did you mean "point"?', ""),
        ("users.good.Mute.x", 'has no "x"; it defines no functions', ""),
        ("users.good.Parsers.bound", "is an instance method; make it a @staticmethod", ""),
        (
            "users.raises.f",
            "users.raises cannot be imported: ValueError: two lines (",
            "raises.py:4)",
        ),
        ("users.exits.f", "cannot be imported: SystemExit: not on this machine (", "exits.py:2)"),
        ("users.syntax.f", "cannot be imported: SyntaxError: ", "syntax.py:1)"),
        ("users.needs.f", f"cannot be imported: {UNKNOWN_PACKAGE}", "needs.py:1)"),
        ("users.nested.f", "cannot be imported: ValueError: two lines (", "raises.py:4)"),
        ("users.decodes.f", "cannot be imported: JSONDecodeError", "decodes.py:2)"),
    ],
)
def test_a_path_that_leads_nowhere_says_which_part_is_wrong(dotted, expected, search_folder):
    (problem,) = check(dotted)
    assert expected in problem and search_folder in problem
    assert '"join"' not in problem  # imported there, not defined
    assert '"in_package"' not in problem  # nothing is in a function
    with pytest.raises(UserError) as caught:
        resolve(dotted, role="parse function")
    assert str(caught.value) == f"parse function: {problem}"


@pytest.mark.parametrize(
    ("dotted", "result"),
    [
        ("users.good.parse_letter", "r"),
        ("users.good.parse_box", ("r", {"k": 1})),
        ("users.good.Parsers.point", "static"),
        ("users.good.Parsers.made", "class"),
        ("users.good.instance", "called"),
        ("users.in_package", "r"),
    ],
)
def test_all_kinds_of_callables_are_found_and_called(dotted, result):
    assert check(dotted) == []
    assert parse_caller(resolve(dotted, role="parse"))("r", {"k": 1}) == result


def test_the_project_is_importable_from_any_folder(tmp_path):
    code = (
        f"import importlib.util, sys; here = {str(PROJECT)!r}\n"
        "sys.path.insert(0, here); from utils.import_utils import resolve; sys.path.remove(here)\n"
        "print(resolve('utils.text.likeness', role='x')('ab', 'ba'))\n"
        "print(resolve('utils.errors.UserError', role='x').__name__)"
    )
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=environ)
    assert printed.split() == [b"0.5", b"UserError"]


@pytest.mark.parametrize(
    ("name", "kind", "more", "expected"),
    [
        ("build", "prompt", {}, None),
        ("shifted", "prompt", {}, None),
        ("one", "prompt", {}, "is called as f(line, dataset) but is defined as (line): too many"),
        ("Parsers", "parse", {}, "is a class; name a function, or a static method"),
        ("prepare", "preprocess", {"keywords": (*DATASET, "x")}, None),
        ("named", "preprocess", {"keywords": (*DATASET, "img_size")}, None),
        (
            "named",
            "preprocess",
            {"keywords": (*DATASET, "other")},
            "argument 'other'; add **kwargs to its",
        ),
        (
            "closed",
            "postprocess",
            {"keywords": (*DATASET, "input_length")},
            "is called as f(outputs, model, processor, dataset_name=..., input_length=...) but is defined "
            "as (message, model, processor): got an unexpected keyword argument 'dataset_name'; add **kwargs",
        ),
        ("build", "preprocess", {"keywords": DATASET}, "too many positional arguments"),
        (
            "prepare",
            "preprocess",
            {"keywords": (*DATASET, "model")},
            "multiple values for argument 'model'",
        ),
        ("Model", "custom-class", {"keywords": ("temperature",)}, None),
        ("Narrow", "custom-class", {"init_keywords": ("size",)}, None),
        ("Narrow", "custom-class", {"init_keywords": ("img_size",)}, None),  # the program's own key
        (
            "Narrow",
            "custom-class",
            {"init_keywords": ("sise",)},
            "unexpected keyword argument 'sise'",
        ),
        ("Mute", "custom-class", {"init_keywords": ("sise",)}, "has no method generate"),
        (
            "Narrow",
            "custom-class",
            {"keywords": ("temperature",)},
            "an unexpected keyword argument",
        ),
        ("Needy", "custom-class", {"init_keywords": ("weights",)}, None),
        (
            "Needy",
            "custom-class",
            {},
            "defined as (weights): missing a required argument: 'weights'",
        ),
        ("Static", "custom-class", {}, None),
        ("Mute", "custom-class", {}, "has no method generate(message, *, dataset_name"),
        (
            "Deaf",
            "custom-class",
            {},
            "is called as f(message, dataset_name=...) but is defined as (message): "
            "got an unexpected keyword",
        ),
        ("build", "custom-class", {}, "is not a class; imp_type custom needs one"),
    ],
)
def test_signatures_are_checked_for_the_way_they_are_called(name, kind, more, expected):
    problems_found = check(f"users.good.{name}", kind, **more)
    assert len(problems_found) == (expected is not None)
    assert all(expected in problem for problem in problems_found)


def meta_last(response, strict=False, meta=None):
    return response, strict, meta


@pytest.mark.parametrize(
    ("function", "expected_arguments"),
    [
        (lambda text: (text,), ("r",)),
        (lambda meta: (meta,), ("r",)),
        (lambda response, meta: (response, meta), ("r", META)),
        (meta_last, ("r", False, META)),
        (functools.partial(meta_last, strict=True), ("r", True, META)),
        (lambda response, *, meta: (response, meta), ("r", META)),
        (lambda response, info: (response, info), ("r", META)),
        (lambda *args: args, ("r", META)),
        (lambda response, **kwargs: (response, kwargs), ("r", {"meta": META})),
        (lambda response, *, strict=False: (response,), ("r",)),
    ],
)
def test_a_parse_function_gets_what_its_parameters_ask_for(function, expected_arguments):
    assert parse_caller(function)("r", META) == expected_arguments


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda meta, response: None, "(meta, response): multiple values for argument 'meta'"),
        (
            lambda response, meta, more: None,
            "(response, meta, more): missing a required argument: 'more'",
        ),
        (lambda: None, "(): too many positional arguments"),
    ],
)
def test_a_parse_function_that_cannot_be_called_is_refused(function, reason):
    with pytest.raises(UserError) as caught:
        parse_caller(function)
    assert str(caught.value).endswith(f"is defined as {reason}")


def test_a_custom_class_is_built_with_kwargs_where_it_takes_them(good):
    assert custom_arguments(good.Narrow, {"size": 2}) == {"size": 2}
    for taker, expected_kwargs in (
        (good.Narrow, {"img_size": 2}),
        (good.Model, {"for_postprocess": 1}),
    ):
        assert custom_arguments(taker, expected_kwargs) == {}
    with pytest.raises(UserError, match="missing a required argument"):
        custom_arguments(good.Needy, {})
