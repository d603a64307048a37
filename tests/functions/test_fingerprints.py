"""Hashes of data and of code: what they notice, and what they do not mind."""

import ast
import importlib
import linecache
import re
import sys
from pathlib import Path

import pytest

from models import local_aguvis
from utils.functions.fingerprints import code_digest, code_text, digest, undescribed

# ---- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, {2, 3, 1}),
        (frozenset("ab"), frozenset("ba")),
        (Path("a/b"), Path("a") / "b"),
        (re.compile("x", re.I), re.compile("x", re.I)),
        (object(), object()),  # nothing about it is stable but its type
    ],
    ids=["order-of-keys", "tuple", "set", "frozenset", "path", "pattern", "object"],
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
        (re.compile("x"), re.compile("x", re.I)),
        (re.compile("x"), re.compile("y")),
        ({1, 2}, {1, 3}),
        (float("nan"), float("inf")),
    ],
    ids=repr,
)
def test_different_data_has_different_hashes(one, other):
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    "value", [{("a", "b"): 1}, {1: "a", "b": 2}, {None: 1, "b": 2}, {b"x": 1}], ids=repr
)
def test_any_dict_has_a_hash_whatever_its_keys(value):
    assert digest(value) == digest(dict(value))
    assert digest(value) != digest({})


# ---- code ----------------------------------------------------------------------------------------


@pytest.fixture
def hash_of(tmp_path, monkeypatch):
    """Writes modules, imports `mine` afresh and hashes `mine.start`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = ("mine", "helper", "kit", "kit.tools", "cycle_a", "cycle_b")

    def forget():
        for name in names:
            sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()

    def hashed(mine, **others):
        forget()
        (tmp_path / "kit").mkdir(exist_ok=True)
        (tmp_path / "kit" / "__init__.py").write_text("")
        for name, text in {"mine": mine, **others}.items():
            (tmp_path / f"{name.replace('__', '/')}.py").write_text(text)
        return code_digest(importlib.import_module("mine").start)

    yield hashed
    forget()


PLAIN = """\
def start(message, model, processor, **kwargs):
    text = message[0]["value"]
    return {"text": text.strip(), "limit": 10}
"""


@pytest.mark.parametrize(
    "same",
    [
        '# a comment\n' + PLAIN,
        PLAIN.replace("    text =", "    # why\n    text =").replace("10}", "10}  # ten"),
        PLAIN.replace("    text =", '    """A docstring."""\n    text ='),
        PLAIN.replace('{"text": text.strip(), "limit": 10}', "{\n        'text': text.strip(),\n\n        'limit': (10),\n    }"),
        "import os\nUNUSED = 3\n\n" + PLAIN + "\ndef unused():\n    return 4\n",
        PLAIN.replace("    ", "\t"),
    ],
    ids=["comment-above", "comments-inside", "docstring", "formatting", "unused-names", "tabs"],
)  # fmt: skip
def test_what_code_looks_like_does_not_matter(same, hash_of):
    assert hash_of(same) == hash_of(PLAIN)


def test_docstrings_and_comments_of_what_is_reached_do_not_matter(hash_of):
    mine = "from helper import Cutter\ndef start(m):\n    return Cutter().cut(m)\n"
    bare = "class Cutter:\n    def cut(self, m):\n        return m[1:]\n"
    told = (
        'class Cutter:\n    """Cuts."""\n    # it does\n    def cut(self, m):\n'
        '        """The first sign."""\n        return m[1:]\n'
    )
    assert hash_of(mine, helper=bare) == hash_of(mine, helper=told)


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
    "object-of-a-class-of-ones-own": "class C:\n    def __init__(self, k): self.k = k\nK = C('ONE')",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: str\nK = C('ONE')",
}
ALONE = {
    **{f"constant-{name}": f"{code}\ndef start(m): return K" for name, code in CONSTANTS.items()},
    "own-body": "def start(m): return m + 'ONE'",
    "helper": "def help(m): return 'ONE'\ndef start(m): return help(m)",
    "part-of-a-constant": "K = {1: 'ONE', 'b': [2]}\ndef start(m): return K['b']",
    "constant-in-an-f-string": "K = 'ONE'\ndef start(m): return f'{K!r:>3}'",
    "default-argument": "def start(m, k='ONE'): return k",
    "default-argument-by-name": "K = 'ONE'\ndef start(m, *, k=K): return k",
    "closure": "def make(k):\n    def inner(m): return k\n    return inner\nstart = make('ONE')",
    "second-closure-of-one-maker":
        "def make(k):\n    def inner(m): return k\n    return inner\n"
        "a = make('first')\nb = make('ONE')\ndef start(m): return a(m) + b(m)",
    "partial": "import functools\ndef cut(k, m): return k\nstart = functools.partial(cut, 'ONE')",
    "cached-function":
        "import functools\n@functools.cache\ndef cut(m): return 'ONE'\ndef start(m): return cut(m)",
    "decorator":
        "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def run(m): return f(m) + 'ONE'\n"
        "    return run\n@deco\ndef start(m): return m",
    "decorator-without-wraps":
        "def deco(f):\n    def run(m): return f(m)\n    return run\n@deco\ndef start(m): return 'ONE'",
    "class": "class C:\n    def cut(self, m): return 'ONE'\ndef start(m): return C().cut(m)",
    "class-attribute": "class C:\n    K = 'ONE'\ndef start(m): return C.K",
    "static-method": "class C:\n    @staticmethod\n    def cut(m): return 'ONE'\nstart = C.cut",
    "class-method-and-what-it-calls":
        "class C:\n    @classmethod\n    def cut(cls, m): return cls.k()\n"
        "    @classmethod\n    def k(cls): return 'ONE'\nstart = C.cut",
    "bound-method-of-an-object":
        "class C:\n    def __init__(self, k): self.k = k\n"
        "    def cut(self, m): return self.k\nstart = C('ONE').cut",
    "callable-object": "class C:\n    def __call__(self, m): return 'ONE'\nstart = C()",
    "function-in-a-table":
        "def cut(m): return 'ONE'\nTABLE = {'L1': cut}\ndef start(m): return TABLE['L1'](m)",
    "lambda": "start = lambda m: m + 'ONE'",
    "lambda-inside-a-call":
        "def keep(n, f): return f\nstart = keep(\n    1, lambda m: m + 'ONE')",
}  # fmt: skip
CUT = "def cut(m): return 'ONE'\n"
ELSEWHERE = {  # `mine`, and the module beside it that changes
    "helper-of-a-helper": (
        "from helper import one\ndef start(m): return one(m)",
        "helper", "def two(m): return 'ONE'\ndef one(m): return two(m)"),
    "base-class": (
        "from helper import Base\nclass C(Base): pass\ndef start(m): return C().cut(m)",
        "helper", "class Base:\n    def cut(self, m): return 'ONE'"),
    "function-of-a-module": ("import helper\ndef start(m): return helper.cut(m)", "helper", CUT),
    "constant-of-a-module": ("import helper as h\ndef start(m): return h.K", "helper", "K = 'ONE'"),
    "attribute-of-a-submodule":
        ("import kit.tools\ndef start(m): return kit.tools.cut(m)", "kit__tools", CUT),
    "submodule-imported-by-name":
        ("from kit import tools\ndef start(m): return tools.cut(m)", "kit__tools", CUT),
    **{
        f"inside: {code}": (f"def start(m):\n    {code}\n    return {use}", where, text)
        for code, use, where, text in [
            ("from helper import cut", "cut(m)", "helper", CUT),
            ("from helper import K as mine", "mine", "helper", "K = 'ONE'"),
            ("import helper", "helper.cut(m)", "helper", CUT),
            ("import kit.tools", "kit.tools.cut(m)", "kit__tools", CUT),
            ("import kit.tools as t", "t.cut(m)", "kit__tools", CUT),
            ("from kit import tools", "tools.cut(m)", "kit__tools", CUT),
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize(("mine", "others"), [
    *(pytest.param(code, {}, id=name) for name, code in ALONE.items()),
    *(pytest.param(mine, {where: text}, id=name) for name, (mine, where, text) in ELSEWHERE.items()),
])  # fmt: skip
def test_a_change_of_what_code_does_is_noticed(mine, others, hash_of):
    assert "".join([mine, *others.values()]).count("ONE") == 1
    before = hash_of(mine, **others)
    changed = {name: text.replace("ONE", "TWO") for name, text in others.items()}
    assert hash_of(mine.replace("ONE", "TWO"), **changed) != before
    assert hash_of(mine, **others) == before


def test_another_member_of_an_enum_is_noticed(hash_of):
    mine = "import enum\nE = enum.Enum('E', 'ONE TWO')\nK = E.ONE\ndef start(m): return K"
    assert hash_of(mine) != hash_of(mine.replace("E.ONE", "E.TWO"))


@pytest.mark.parametrize(
    "mine",
    [
        "def start(n):\n    return start(n - 1) if n else 0\n",
        "def start(n):\n    return other(n)\ndef other(n):\n    return start(n)\n",
        "class C:\n    def m(self):\n        return C()\ndef start(n):\n    return C().m()\n",
        "import cycle_a\ndef start(n):\n    return cycle_a.f(n)\n",
        "K = []\nK.append(K)\ndef start(n):\n    return K\n",
        "import mine\ndef start(n):\n    return mine.start\n",
        "def make():\n    def inner(n):\n        return inner(n)\n    return inner\nstart = make()\n",
    ],
    ids=["itself", "each-other", "class", "modules", "list", "own-module", "closure"],
)
def test_recursion_of_any_kind_comes_to_an_end(mine, hash_of):
    cycle = {
        "cycle_a": "import cycle_b\ndef f(n):\n    return cycle_b.g(n)\n",
        "cycle_b": "import cycle_a\ndef g(n):\n    return cycle_a.f(n)\n",
    }
    assert len(hash_of(mine, **cycle)) == 32


def test_what_nobody_reaches_does_not_count(hash_of):
    mine = "import helper\ndef start(m):\n    return helper.used(m)\n"
    used = "def used(m):\n    return m\n"
    other = used + "def unused(m):\n    return 'x'\nAPART = 3\n"
    assert hash_of(mine, helper=used) == hash_of(mine, helper=other)


def test_what_is_installed_counts_by_name_only(hash_of):
    mine = "import json\ndef start(m):\n    return json.dumps(m)\n"
    assert hash_of(mine) != hash_of(mine.replace("dumps", "loads"))
    installed = importlib.import_module("openpyxl").load_workbook
    assert "def load_workbook" not in code_text(installed)


def test_variables_of_the_terminal_do_not_count(hash_of, monkeypatch):
    mine = "import os\nVARIABLES = os.environ\ndef start(m):\n    return os.environ, VARIABLES\n"
    before = hash_of(mine)
    monkeypatch.setenv("TERMINAL_OF_TODAY", "another")
    assert hash_of(mine) == before


def test_no_function_is_the_default():
    assert code_digest(None) == code_digest(None) != code_digest(test_no_function_is_the_default)


def test_the_code_as_text_mentions_what_a_helper_reads(hash_of, tmp_path):
    hash_of(
        "from helper import inner\ndef start(m, **kwargs):\n    return inner(kwargs)\n",
        helper="def inner(k):\n    return k['my_setting']\n",
    )
    assert "my_setting" in code_text(sys.modules["mine"].start)


def test_a_lock_has_no_value_and_an_open_file_is_known_by_the_text_around_it(hash_of):
    mine = "import threading\nK = threading.Lock()\ndef start(m):\n    return K\n"
    other = "\ndef other(m):\n    return 'ONE'\n"
    assert hash_of(mine) == hash_of(mine + other)
    opened = "import os\nK = open(os.devnull)\ndef start(m):\n    return K\n"
    assert hash_of(opened) == hash_of("# a comment\n" + opened)
    assert hash_of(opened) != hash_of(opened + other)


def test_what_nothing_describes_is_never_the_same_and_is_named():
    scope = {"__name__": "typed_in"}
    exec("import os\nFILE = open(os.devnull)\ndef start(m):\n    return FILE\n", scope)
    assert undescribed(code_digest) == []
    assert undescribed(scope["start"]) == ["typed_in:start has no source"]
    assert code_digest(scope["start"]) != code_digest(scope["start"])


def test_what_this_program_does_counts_by_its_version_and_not_by_its_code():
    text = code_text(local_aguvis.preprocess_aguvis)
    assert "def preprocess_aguvis" in text
    assert "def chat_text" in text
    assert "def turns_of" not in text
    assert "def model_inputs" not in text


def test_parsing_in_another_thread_is_no_failure(hash_of, monkeypatch):
    calm, troubles = hash_of(PLAIN), [SystemError("AST constructor recursion depth mismatch")]
    parse = ast.parse

    def troubled(*arguments, **options):
        if troubles:
            raise troubles.pop()
        return parse(*arguments, **options)

    monkeypatch.setattr(ast, "parse", troubled)

    assert hash_of(PLAIN) == calm
    assert troubles == []
