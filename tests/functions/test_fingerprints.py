"""Hashes of data and of code: what they notice, and what they do not mind."""

import ast
import importlib
import linecache
import sys
import types
from pathlib import Path

import pytest

from models import local_aguvis
from models.recipes import all_recipes, qwen2_5_vl
from utils.functions.fingerprints import READING, code_digest, code_text, digest, undescribed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, {2, 3, 1}),
        (frozenset("ab"), frozenset("ba")),
        (Path("a/b"), Path("a") / "b"),
        (object(), object()),  # nothing about it is stable but its type
        ({1: "a", "b": 2}, {1: "a", "b": 2}),  # keys without an order
    ],
)
def test_equal_data_has_equal_hashes(one, other):
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ("", None),
        (0, False),
        (1, 1.5),
        ("é", "e\u0301"),
        ("\ud83d", "\ud83e"),
        (b"a", b"b"),
        ({1, 2}, {1, 3}),
        (float("nan"), float("inf")),
        ({1: "a", "b": 2}, {}),
    ],
)
def test_different_data_has_different_hashes(one, other):
    assert digest(one) != digest(other)


@pytest.fixture
def hash_of(tmp_path, monkeypatch):
    """Writes modules, imports `mine` afresh and hashes `mine.start`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget():
        for name in ("mine", "helper", "kit", "kit.tools", "cycle_a", "cycle_b"):
            sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()

    def hashed(own_code, **others):
        forget()
        (tmp_path / "kit").mkdir(exist_ok=True)
        (tmp_path / "kit" / "__init__.py").touch()
        for name, text in {"mine": own_code, **others}.items():
            (tmp_path / f"{name.replace('__', '/')}.py").write_text(text)
        return code_digest(importlib.import_module("mine").start)

    yield hashed
    forget()


PLAIN = """\
def start(message, model, processor, **kwargs):
    text = message[0]["value"]
    return {"text": text.strip(), "limit": 10}
"""
REACHED = "from helper import Cutter\ndef start(m): return Cutter().cut(m)"
LOCK = "import threading\nK = threading.Lock()\ndef start(m): return K"
USED = "import helper\ndef start(m): return helper.used(m)"
OPENED = "import os\nK = open(os.devnull)\ndef start(m): return K\n"


SAME = {  # `mine` twice, and the module beside it twice
    "comment-above": (PLAIN, "# a comment\n" + PLAIN),
    "comments-inside": (
        PLAIN,
        PLAIN.replace("    text =", "    # why\n    text =").replace("10}", "10}  # ten"),
    ),
    "docstring": (PLAIN, PLAIN.replace("    text =", '    """A docstring."""\n    text =')),
    "formatting": (
        PLAIN,
        PLAIN.replace(
            '{"text": text.strip(), "limit": 10}',
            "{\n        'text': text.strip(),\n\n        'limit': (10),\n    }",
        ),
    ),
    "tabs": (PLAIN, PLAIN.replace("    ", "\t")),
    "docstrings-and-comments-of-what-is-reached": (
        REACHED,
        REACHED,
        "class Cutter:\n    def cut(self, m):\n        return m[1:]\n",
        'class Cutter:\n    """Cuts."""\n    # it does\n    def cut(self, m):\n'
        '        """The first sign."""\n        return m[1:]\n',
    ),
    "comment-around-an-open-file": (OPENED, "# a comment\n" + OPENED),
    "module-that-is-not-imported": (PLAIN, PLAIN, "K = 'ONE'", "K = 'TWO'"),
    "module-that-is-imported-for-another": (
        f"import helper\n{PLAIN}def other(m): return helper.K",
        f"import helper\n{PLAIN}def other(m): return helper.K",
        "K = 'ONE'",
        "K = 'TWO'",
    ),
    "unused-names": (
        PLAIN,
        "import os\nUNUSED = 3\n\n" + PLAIN + "\ndef unused():\n    return 4\n",
    ),
    "what-nobody-reaches": (
        USED,
        USED,
        "def used(m): return m\n",
        "def used(m): return m\ndef unused(m): return 'x'\nAPART = 3\n",
    ),
    "beside-a-lock-which-has-no-value": (LOCK, LOCK + "\ndef other(m): return 'ONE'\n"),
    "record-of-a-recipe": (
        PLAIN + "RECIPE = dict(figure=1)\n",
        PLAIN + "RECIPE = dict(figure=2)\n",
    ),
}
# What the function does not use, in the modules that it reaches: asked again all the same.
BESIDE = {
    "function-with-the-name-of-a-method": (PLAIN, PLAIN + "def strip(): return 1\n"),
    "variable-with-the-name-of-a-local-one": (PLAIN, "text = 1\n" + PLAIN),
    "statement-without-a-name": (PLAIN, PLAIN + "print('mine is imported')\n"),
    "part-of-a-class": (
        "class C:\n    def cut(self, m): return m\ndef start(m): return C().cut(m)",
        "class C:\n    def cut(self, m): return m\n    def x(self): pass\ndef start(m): return C().cut(m)",
    ),
}


@pytest.mark.parametrize("texts", SAME.values(), ids=SAME)
def test_what_code_looks_like_and_what_it_does_not_mention_do_not_matter(texts, hash_of):
    one, other, helper, other_helper = [*texts, "", ""][:4]
    assert hash_of(one, helper=helper) == hash_of(other, helper=other_helper)


@pytest.mark.parametrize("texts", BESIDE.values(), ids=BESIDE)
def test_what_has_a_name_that_the_code_mentions_counts_used_or_not(texts, hash_of):
    one, other = texts
    assert hash_of(one) != hash_of(other)


# In each, 'TWO' for 'ONE' changes what `start` does. Constants first: what stands behind `K`.
CONSTANTS = {
    "text": "K = 'ONE'",
    "dict": "K = {1: 'ONE', 'b': [2]}",
    "dict-with-pairs-as-keys": "K = {('a', 'b'): 'ONE'}",
    "compiled-pattern": "import re; K = re.compile('ONE')",
    "array": "import numpy; K = numpy.array(['ONE'])",
    "array-of-bytes-in-a-list": "import numpy; K = [numpy.frombuffer(b'ONE', 'u1')]",
    "namespace": "import types; K = types.SimpleNamespace(k='ONE')",
    "template": "import string; K = string.Template('$ONE')",
    "range": "K = range({'ONE': 1}.get('TWO', 5))",
    "ordered-dict": "import collections; K = collections.OrderedDict(k='ONE')",
    "date": "import datetime; K = datetime.date(2020, 1, {'ONE': 1}.get('TWO', 5))",
    "counter": "import itertools; K = itertools.count({'ONE': 1}.get('TWO', 5))",
    "object-of-an-installed-class": "import argparse; K = argparse.Namespace(k='ONE')",
    "open-file": "import os; K = open(os.devnull, 'w' if 'ONE' else 'r')",
    "beside-an-open-file": "import os; K = (open(os.devnull), 'ONE')",
    "pattern-in-a-table": "import re; K = {'k': [re.compile('ONE')]}",
    "filled-in-later": "import re; K = [re.compile('x')]\nK.append('ONE')",
    "of-a-branch": "import os\nif os.sep: K = open(os.devnull, 'w' if 'ONE' else 'r')\nelse: K = 1",
    "object-of-a-class-of-ones-own": "class C:\n    def __init__(self, k): self.k = k\nK = C('ONE')",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: str\nK = C('ONE')",
    "enum": "import enum\nclass E(enum.Enum): A, B = 1, 2\nK = {'ONE': E.A}.get('TWO', E.B)",
}
MAKER = "def make(k):\n    def inner(m): return k\n    return inner\n"
ALONE = {
    **{f"constant-{name}": f"{code}\ndef start(m): return K" for name, code in CONSTANTS.items()},
    "own-body": "def start(m): return m + 'ONE'",
    "helper": "def help(m): return 'ONE'\ndef start(m): return help(m)",
    "part-of-a-constant": "K = {1: 'ONE', 'b': [2]}\ndef start(m): return K['b']",
    "constant-in-an-f-string": "K = 'ONE'\ndef start(m): return f'{K!r:>3}'",
    "default-argument": "def start(m, k='ONE'): return k",
    "default-argument-by-name": "K = 'ONE'\ndef start(m, *, k=K): return k",
    "closure": f"{MAKER}start = make('ONE')",
    "second-closure-of-one-maker": f"{MAKER}a = make('first')\nb = make('ONE')\ndef start(m): return a(m) + b(m)",
    "partial": "import functools\ndef cut(k, m): return k\nstart = functools.partial(cut, 'ONE')",
    "cached-function": "import functools\n@functools.cache\ndef cut(m): return 'ONE'\ndef start(m): return cut(m)",
    "decorator": "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def run(m): return f(m) + 'ONE'\n"
    "    return run\n@deco\ndef start(m): return m",
    "decorator-without-wraps": "def deco(f):\n    def run(m): return f(m)\n    return run\n@deco\ndef start(m): return 'ONE'",
    "class": "class C:\n    def cut(self, m): return 'ONE'\ndef start(m): return C().cut(m)",
    "class-attribute": "class C:\n    K = 'ONE'\ndef start(m): return C.K",
    "static-method": "class C:\n    @staticmethod\n    def cut(m): return 'ONE'\nstart = C.cut",
    "class-method-and-what-it-calls": "class C:\n    @classmethod\n    def cut(cls, m): return cls.k()\n"
    "    @classmethod\n    def k(cls): return 'ONE'\nstart = C.cut",
    "bound-method-of-an-object": "class C:\n    def __init__(self, k): self.k = k\n"
    "    def cut(self, m): return self.k\nstart = C('ONE').cut",
    "bound-method-of-an-object-with-slots": "import dataclasses\n@dataclasses.dataclass(slots=True)\n"
    "class C:\n    k: str\n    def cut(self, m): return self.k\nstart = C('ONE').cut",
    "callable-object": "class C:\n    def __call__(self, m): return 'ONE'\nstart = C()",
    "function-in-a-table": "def cut(m): return 'ONE'\nTABLE = {'L1': cut}\ndef start(m): return TABLE['L1'](m)",
    "table-that-a-decorator-fills": "TABLE = {}\ndef entry(f):\n    TABLE[f.__name__] = f\n    return f\n"
    "@entry\ndef cut(m): return 'ONE'\ndef start(m): return TABLE['cut'](m)",
    "lambda": "start = lambda m: m + 'ONE'",
    "lambda-inside-a-call": "def keep(n, f): return f\nstart = keep(\n    1, lambda m: m + 'ONE')",
}
CUT = "def cut(m): return 'ONE'\n"
ELSEWHERE = {  # the import, what is used of it, and the module beside `mine` that changes
    "helper-of-a-helper": (
        "from helper import one",
        "one(m)",
        "helper",
        "def two(m): return 'ONE'\ndef one(m): return two(m)",
    ),
    "base-class": (
        "from helper import Base\nclass C(Base): pass",
        "C().cut(m)",
        "helper",
        "class Base:\n    def cut(self, m): return 'ONE'",
    ),
    "function": ("from helper import cut", "cut(m)", "helper", CUT),
    "constant": ("from helper import K as mine", "mine", "helper", "K = 'ONE'"),
    "function-of-a-module": ("import helper", "helper.cut(m)", "helper", CUT),
    "constant-of-a-module": ("import helper as h", "h.K", "helper", "K = 'ONE'"),
    "attribute-of-a-submodule": ("import kit.tools", "kit.tools.cut(m)", "kit__tools", CUT),
    "submodule-by-another-name": ("import kit.tools as t", "t.cut(m)", "kit__tools", CUT),
    "submodule-imported-by-name": ("from kit import tools", "tools.cut(m)", "kit__tools", CUT),
}
CALL = "def start(m): return cut(m)"
STARS = {  # `mine`, and the modules beside it
    "star-of-a-module": (f"from helper import *\n{CALL}", {"helper": CUT}),
    "star-of-a-submodule": (f"from kit.tools import *\n{CALL}", {"kit__tools": CUT}),
    "star-of-a-helper": (
        f"from helper import cut\n{CALL}",
        {"helper": "from kit.tools import *", "kit__tools": CUT},
    ),
    "star-in-a-branch": (
        f"try: from helper import *\nexcept ImportError: K = 1\n{CALL}",
        {"helper": CUT},
    ),
}


@pytest.mark.parametrize(
    ("own_code", "others"),
    [
        *(pytest.param(code, {}, id=name) for name, code in ALONE.items()),
        *(
            pytest.param(f"{code}\ndef start(m): return {use}", {module_name: text}, id=name)
            for name, (code, use, module_name, text) in ELSEWHERE.items()
        ),
        *(
            pytest.param(
                f"def start(m):\n    {code}\n    return {use}",
                {module_name: text},
                id=f"inside-{name}",
            )
            for name, (code, use, module_name, text) in ELSEWHERE.items()
            if "\n" not in code
        ),
        *(pytest.param(*modules, id=name) for name, modules in STARS.items()),
    ],
)
def test_a_change_of_what_code_does_is_noticed(own_code, others, hash_of):
    assert "".join([own_code, *others.values()]).count("ONE") == 1
    before = hash_of(own_code, **others)
    changed = {name: text.replace("ONE", "TWO") for name, text in others.items()}
    assert hash_of(own_code.replace("ONE", "TWO"), **changed) != before
    assert hash_of(own_code, **others) == before


@pytest.mark.parametrize(
    "own_code",
    [
        "def start(n): return start(n - 1) if n else 0",
        "def start(n): return other(n)\ndef other(n): return start(n)",
        "class C:\n    def m(self): return C()\ndef start(n): return C().m()",
        "import cycle_a\ndef start(n): return cycle_a.f(n)",
        "K = []\nK.append(K)\ndef start(n): return K",
        "import mine\ndef start(n): return mine.start",
        "def make():\n    def inner(n): return inner(n)\n    return inner\nstart = make()",
    ],
    ids=["itself", "each-other", "class", "modules", "list", "own-module", "closure"],
)
def test_recursion_of_any_kind_comes_to_an_end(own_code, hash_of):
    one = "import cycle_b\ndef f(n): return cycle_b.g(n)"
    other = "import cycle_a\ndef g(n): return cycle_a.f(n)"
    assert len(hash_of(own_code, cycle_a=one, cycle_b=other)) == 32


def test_what_is_installed_counts_by_name_and_the_terminal_not_at_all(hash_of, monkeypatch):
    own_code = "import json\ndef start(m): return json.dumps(m)"
    assert hash_of(own_code) != hash_of(own_code.replace("dumps", "loads"))
    installed = importlib.import_module("openpyxl").load_workbook
    assert "def load_workbook" not in code_text(installed)
    own_code = "import os\nVARIABLES = os.environ\ndef start(m): return os.environ, VARIABLES"
    before = hash_of(own_code)
    monkeypatch.setenv("TERMINAL_OF_TODAY", "another")
    assert hash_of(own_code) == before


def test_the_code_as_text_mentions_what_a_helper_reads(hash_of):
    hash_of(
        "from helper import inner\ndef start(m, **kwargs): return inner(kwargs)",
        helper="def inner(k): return k['my_setting']",
    )
    assert "my_setting" in code_text(sys.modules["mine"].start)


def test_no_function_is_the_default():
    assert code_digest(None) == code_digest(None) != code_digest(digest)
    assert undescribed(None) == undescribed(code_digest) == []


HELD = {  # what a function holds beside its code, made by a module that is not its own
    "closure": "from helper import make\nstart = make({})",
    "partial": "import functools\nfrom helper import cut\nstart = functools.partial(cut, {})",
    "method": "from helper import Kept\nstart = Kept({}).cut",
    "object": "from helper import Kept\nstart = Kept({})",
    "attribute": "from helper import Slotted\nstart = Slotted({}).cut",
}
MAKERS = """
import dataclasses
def make(k):
    def inner(m): return k
    return inner
def cut(k, m): return k
class Kept:
    def __init__(self, k): self.k = k
    def cut(self, m): return self.k
    def __call__(self, m): return self.k
@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    k: object
    def cut(self, m): return self.k
"""
VALUES = {
    "text": ("'ONE'", "'TWO'"),
    "table": ("{'k': ['ONE']}", "{'k': ['TWO']}"),
    "pattern": ("__import__('re').compile('ONE')", "__import__('re').compile('TWO')"),
    "getter": ("__import__('operator').itemgetter(1)", "__import__('operator').itemgetter(2)"),
    "queue": ("__import__('collections').deque([1])", "__import__('collections').deque([2])"),
}


@pytest.mark.parametrize("code", HELD.values(), ids=HELD)
@pytest.mark.parametrize(("one", "other"), VALUES.values(), ids=VALUES)
def test_what_a_function_holds_counts_by_value(code, one, other, hash_of):
    hashes = [hash_of(code.format(value), helper=MAKERS) for value in (one, other, one)]
    assert undescribed(sys.modules["mine"].start) == []
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize("code", HELD.values(), ids=HELD)
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("open(__import__('os').devnull)", "TextIOWrapper"),
        ("__import__('threading').Lock()", "lock"),
        ("__import__('numpy').array([1])", "ndarray"),
    ],
)
def test_what_nothing_describes_is_named(code, value, kind, hash_of):
    hash_of(code.format(value), helper=MAKERS)
    assert undescribed(sys.modules["mine"].start) == [f"it holds a {kind}, which nothing describes"]


@pytest.mark.parametrize("name", ["typed_in", "__main__", None])
def test_code_without_a_file_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    scope = {"__name__": name} if name else {}
    exec("def start(m): return m\nclass C: pass", scope)
    assert len(undescribed(scope["start"])) == 1
    assert undescribed(scope["start"])[0].endswith(".start has no source file")
    assert name is None or len(undescribed(scope["C"])) == 1


def test_what_this_program_does_counts_by_its_version_and_not_by_its_code():
    text = code_text(local_aguvis.preprocess_aguvis)
    names = ("preprocess_aguvis", "chat_text", "turns_of", "model_inputs")
    assert [name for name in names if f"def {name}" in text] == ["preprocess_aguvis", "chat_text"]


def test_a_module_that_has_moved_counts_by_the_name_and_in_the_place_that_it_had(hash_of):
    start = "def start(m): return DECLINED if numbers_of_reply(m) else Zoom(0.5)\n"
    rest = "from utils.reply_numbers import numbers_of_reply\n"
    before = "from utils.targets import DECLINED\nfrom utils.zooming import Zoom\n"
    now = before.replace("utils.", "utils.geometry.")
    assert hash_of(now + rest + start) == hash_of(rest + before + start)
    closure_code = "from utils.zooming import Zoom\nzoom = Zoom(0.5)\ndef make():\n    a = zoom\n"
    closure_code += "    def start(m): return a\n    return start\nstart = make()"
    assert hash_of(closure_code.replace("utils.", "utils.geometry.")) == hash_of(closure_code)


def test_under_its_former_path_a_module_counts_as_itself(hash_of):
    code = "from benchmarks.worlds.pages.gestures import NOTCH_PX\ndef start(m): return NOTCH_PX"
    assert hash_of(code.replace("pages", "browser")) == hash_of(code)
    assert "\nNOTCH_PX = " in f"\n{code_text(sys.modules['mine'].start)}"


def test_stars_under_former_paths_of_the_program_do_not_count(hash_of):
    """Hashes of before hold: they have the import alone."""
    hash_of("from benchmarks.worlds.actions import Action\ndef start(m): return Action")
    assert "import *" not in code_text(sys.modules["mine"].start)


def test_of_a_recipe_the_prompt_counts_and_no_figure():
    text = code_text(qwen2_5_vl.build_prompt)
    assert "You may call one or more functions" in text
    assert not [name for name in ("RECIPE", "figures", "def prompt_function") if name in text]


def test_parsing_in_another_thread_is_no_failure(hash_of, monkeypatch):
    calm, troubles = hash_of(PLAIN), [SystemError("AST constructor recursion depth mismatch")]
    parse = ast.parse

    def troubled(*arguments, **options):
        if troubles:
            raise troubles.pop()
        return parse(*arguments, **options)

    monkeypatch.setattr(ast, "parse", troubled)
    assert hash_of(f"# read anew\n{PLAIN}") == calm
    assert troubles == []


@pytest.mark.parametrize("name", sorted(all_recipes()))
def test_the_record_of_a_recipe_counts_for_none_of_its_functions(name):
    """Its figures grow from version to version, and stored answers stay valid."""
    module = importlib.import_module(f"models.recipes.{name}")
    functions = [form.messages for form in module.RECIPE.prompts.values()]
    functions += [parser.parse for parser in module.RECIPE.parsers.values()]
    for function in functions:
        assert "RECIPE = " not in code_text(function, also=READING)
