"""Reads plain values from a pickle without unpickling it: nothing in the file is ever called.

The instructions of the pickle are walked one by one (`pickletools`). Containers, numbers, texts and
dates are built here; numpy's scalars become numbers, arrays a mark; any other object is refused by
its name.
"""

from __future__ import annotations

import gzip
import pickletools
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from utils.errors import UserError
from utils.exchange.files import GZIP, refuse_unusual

MOST_BYTES = 4 << 30  # of a pickle, unpacked: episodes hold screenshots
MOST_AT_ONCE = 256 << 20  # of one value in it
KEPT_BYTES = 4096  # of raw bytes: what is longer is an image
SCALAR_TYPES = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "u1": "B", "b1": "?", "i2": "h"}
ALLOWED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("datetime", "datetime"),
    ("datetime", "timedelta"),
    ("datetime", "date"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("builtins", "list"),
    ("builtins", "dict"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "tuple"),
    ("builtins", "slice"),
    ("builtins", "complex"),
    ("builtins", "bytearray"),
    ("_codecs", "encode"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (
            ("multiarray", "scalar"),
            ("multiarray", "_reconstruct"),
            ("numeric", "_frombuffer"),
        )
    ),
}
_MARK = object()


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function that a pickle names; it is never looked up."""

    module: str
    name: str


@dataclass(slots=True)
class Built:
    """An object that a pickle would make by a call; only the arguments are known."""

    name: Name
    arguments: Any
    state: Any = None


def read_pickle(path: Path, name: str = "") -> Any:
    """The plain value of a pickle, packed with gzip or not.

    Raises:
        UserError: it names an object that is not allowed, is broken or too large.
    """
    name = name or str(path)
    refuse_unusual(path)
    try:
        with path.open("rb") as packed:
            is_packed = packed.read(2) == GZIP
            packed.seek(0)
            file: Any = gzip.GzipFile(fileobj=packed) if is_packed else packed
            return _Walk(name).value_of(_Limited(file, name))
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{name}: is a broken pickle ({error})") from None


class _Limited:
    """The two methods of a file that `pickletools` calls, within limits."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._bytes = file, name, 0

    def read(self, count: int = -1) -> bytes:
        if count < 0 or count > MOST_AT_ONCE or self._bytes + count > MOST_BYTES:
            raise UserError(f"{self._name}: is larger than a pickle of episodes may be")
        content = self._file.read(count)
        self._bytes += len(content)
        return content

    def readline(self) -> bytes:
        line = self._file.readline(MOST_AT_ONCE)
        self._bytes += len(line)
        return line


class _Walk:
    """The stack and memory of a pickle while its instructions are walked."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stack: list[Any] = []
        self._memory: dict[int, Any] = {}
        self._changes: dict[str, Callable[[], object]] = {
            "MARK": lambda: self._stack.append(_MARK),
            "POP": self._stack.pop,
            "POP_MARK": self._to_mark,
            "DUP": lambda: self._stack.append(self._stack[-1]),
            "APPEND": lambda: self._extend([self._stack.pop()]),
            "APPENDS": lambda: self._extend(self._to_mark()),
            "ADDITEMS": self._to_mark,
            "SETITEM": lambda: self._update([self._stack.pop(), self._stack.pop()][::-1]),
            "SETITEMS": lambda: self._update(self._to_mark()),
            "TUPLE1": lambda: self._push_tuple(1),
            "TUPLE2": lambda: self._push_tuple(2),
            "TUPLE3": lambda: self._push_tuple(3),
            "TUPLE": lambda: self._stack.append(tuple(self._to_mark())),
            "LIST": lambda: self._stack.append(self._to_mark()),
            "FROZENSET": lambda: self._stack.append(self._to_mark()),
            "DICT": self._push_dict,
            "REDUCE": self._push_built,
            "NEWOBJ": self._push_built,
            "BUILD": self._set_state,
        }

    def value_of(self, file: _Limited) -> Any:
        """Walk all instructions; return the value at their end."""
        for operation, argument, _ in pickletools.genops(file):  # type: ignore[arg-type]
            if operation.name == "STOP":
                return self._stack[-1]
            self._do(operation.name, argument)
        raise ValueError("it has no end")

    def _do(self, operation: str, argument: Any) -> None:
        if operation in _VALUES:
            is_long = isinstance(argument, (bytes, bytearray)) and len(argument) > KEPT_BYTES
            self._stack.append(bytes(argument[:KEPT_BYTES]) if is_long else argument)
        elif operation in _CONSTANTS:
            self._stack.append(_CONSTANTS[operation]())
        elif operation in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            number = len(self._memory) if operation == "MEMOIZE" else int(argument)
            self._memory[number] = self._stack[-1]
        elif operation in ("GET", "BINGET", "LONG_BINGET"):
            self._stack.append(self._memory[int(argument)])
        elif operation in ("GLOBAL", "STACK_GLOBAL"):
            self._push_name(operation, argument)
        elif operation in self._changes:
            self._changes[operation]()
        elif operation not in _IGNORED:
            raise UserError(f"{self._name}: is refused: its instruction {operation} is not allowed")

    def _push_name(self, operation: str, argument: Any) -> None:
        if operation == "GLOBAL":
            module, _, name = str(argument).partition(" ")
        else:
            name, module = str(self._stack.pop()), str(self._stack.pop())
        if (module, name) not in ALLOWED:
            raise UserError(
                f"{self._name}: is refused: it would call {module}.{name} when it is unpickled; an "
                "import reads plain values only and calls nothing"
            )
        self._stack.append(Name(module, name))

    def _extend(self, items: list[Any]) -> None:
        if isinstance(self._stack[-1], list):
            self._stack[-1].extend(items)

    def _update(self, items: list[Any]) -> None:
        if isinstance(self._stack[-1], dict):
            self._stack[-1].update(_dict_of(items))

    def _push_tuple(self, count: int) -> None:
        self._stack.append(tuple([self._stack.pop() for _ in range(count)][::-1]))

    def _push_dict(self) -> None:
        self._stack.append(_dict_of(self._to_mark()))

    def _push_built(self) -> None:
        arguments, name = self._stack.pop(), self._stack.pop()
        self._stack.append(_built(name, arguments))

    def _set_state(self) -> None:
        state = self._stack.pop()
        if isinstance(self._stack[-1], Built):
            self._stack[-1].state = state

    def _to_mark(self) -> list[Any]:
        items: list[Any] = []
        while (item := self._stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]


def _dict_of(items: list[Any]) -> dict[Any, Any]:
    """A dict of keys and values that alternate; a key that cannot be one becomes a text."""
    kinds = (str, int, float, bytes)
    keys = [key if isinstance(key, kinds) else repr(key) for key in items[::2]]
    return dict(zip(keys, items[1::2], strict=True))


def _built(name: Any, arguments: Any) -> Any:
    """Make the containers, numbers and bytes of a call; keep all else by name, as `Built`."""
    if not isinstance(name, Name):
        raise ValueError("it calls what is no name")
    if name.name in ("OrderedDict", "defaultdict", "dict"):
        return {}
    if name.name == "list":
        return []
    if name.name == "scalar":
        return _scalar(arguments)
    if name.name == "encode":  # bytes, in old protocols
        return str(arguments[0]).encode("latin1")
    return Built(name, arguments)


def _scalar(arguments: Any) -> Any:
    """A scalar of numpy as a number; None where it is none."""
    if not isinstance(arguments, tuple) or len(arguments) != 2:
        return None
    kind, content = arguments
    code = kind.arguments[0] if isinstance(kind, Built) and kind.arguments else ""
    form = SCALAR_TYPES.get(str(code).lstrip("<>|="))
    if form is None or not isinstance(content, bytes) or len(content) != struct.calcsize(form):
        return None
    is_big = isinstance(kind.state, tuple) and len(kind.state) > 1 and kind.state[1] == ">"
    return struct.unpack(f"{'>' if is_big else '<'}{form}", content)[0]


_IGNORED = {"PROTO", "FRAME"}
_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
    "EMPTY_TUPLE": tuple,
}
