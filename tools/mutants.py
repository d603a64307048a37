"""Count the random mutants of the program that the tests kill.

    python -m tools.mutants --count 60 [--seed 0] [--minutes 30] [--tree PATH] [--files 8]
    python -m tools.mutants --count 60 --skip 20    the last 40 of the same 60
    python -m tools.mutants --count 60 --fast       only tests that `make test` runs

Each mutant is one small change: a comparison or its boundary, `and` for `or`, `not` left out, plus
for minus, 0 for 1, True for False, None returned, a call left out, a condition turned round. It is
applied in a clone of the tree (its last commit). One process runs test files up to the first
failure: at most `--files` of those that reach the module by imports, or by naming a module in a
string. First come files with the module's name in theirs, then those that import it themselves,
those of its room, the nearest by imports, the smallest.

The outcome of each mutant is printed: killed (by which test), survived, or timed out (`--seconds`
of CPU, or eight times as many on the clock). In the end the tests that killed run without any
mutant: a test that fails then has killed nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
PROGRAM = ("evaluate.py", "compare.py", "benchmarks", "models", "utils")
PAIRS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {**dict(PAIRS), **{b: a for a, b in PAIRS}}
TYPES = ("annotation", "returns")  # fields of a syntax tree that only a type checker reads
CLOCK_PER_CPU = 8  # the machine may be busy
FAILED = re.compile(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", re.MULTILINE)
RUN_EACH = """
import sys, pytest
for tests in sys.argv[1:]:
    code = pytest.main([*{options}, *tests.splitlines()])
    if code not in (0, 5):  # 5: there is no test
        sys.exit(code)
"""


Result = tuple[str, list[str]]
"""The outcome of a mutant, and the tests that failed."""


class Mutant(NamedTuple):
    """A place in a module and what stands there instead."""

    path: str
    line: int
    start: int  # in bytes of the file
    end: int
    before: str
    after: str


def mutants_of(source: str, path: str = "") -> Iterator[Mutant]:
    """Yield every mutant of a module; none within f-strings, whose places are not the file's."""
    content = source.encode()
    line_starts = [0]
    for text in content.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(text))
    nodes: deque[ast.AST] = deque([ast.parse(source)])
    while nodes:
        node = nodes.popleft()
        for field, value in ast.iter_fields(node):
            if field not in TYPES and not isinstance(node, ast.JoinedStr):
                children = value if isinstance(value, list) else [value]
                nodes.extend(child for child in children if isinstance(child, ast.AST))
        for target, after in _changes(node):
            start = line_starts[target.lineno - 1] + target.col_offset
            end = line_starts[(target.end_lineno or 0) - 1] + (target.end_col_offset or 0)
            yield Mutant(path, target.lineno, start, end, content[start:end].decode(), after)


# One case for each kind of change.
def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:  # noqa: C901
    """Yield a node or a part of it, and what may stand in its place."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield node, _text(ast.Compare(left, [COMPARISONS[type(operator)]()], [right]))
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, _text(ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not(), operand):
            yield node, _text(operand)
        case ast.BinOp(left, ast.Add(), right):
            yield node, _text(ast.BinOp(left, ast.Sub(), right))
        case ast.BinOp(left, ast.Sub(), right):
            yield node, _text(ast.BinOp(left, ast.Add(), right))
        case ast.Constant(bool() as value):
            yield node, str(not value)
        case ast.Constant(0 | 1 as value) if type(value) is int:
            yield node, str(1 - value)
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Expr(ast.Call()):
            yield node, "pass"
        case ast.If(test) | ast.IfExp(test) | ast.While(test):
            if ast.unparse(test) != "TYPE_CHECKING":
                yield test, _text(ast.UnaryOp(ast.Not(), test))


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def imports_of(tree: Path) -> dict[str, set[str]]:
    """Return, for each Python file of a tree, the files that it imports or names in a string."""
    paths = [str(path.relative_to(tree)) for path in sorted(tree.rglob("*.py"))]
    files = {re.sub(r"(/__init__)?\.py$", "", path).replace("/", "."): path for path in paths}
    imports = {}
    for path in paths:
        folders = Path(path).parents
        names = {".".join((*folder.parts, "conftest")) for folder in folders}
        for node in ast.walk(ast.parse((tree / path).read_text("utf-8"))):
            match node:
                case ast.Import(aliases):
                    names |= {alias.name for alias in aliases}
                case ast.ImportFrom(str() as module, aliases):
                    names |= {f"{module}.{alias.name}" for alias in aliases}
                case ast.Constant(str() as text) if re.fullmatch(r"[\w.]+", text):
                    names.add(text.removesuffix(".py"))
        modules = [name if name in files else name.rpartition(".")[0] for name in names]
        imports[path] = {files[module] for module in modules if module in files}
    return imports


def nearest_tests(path: str, imports: Mapping[str, set[str]], tree: Path) -> list[str]:
    """Return the test files that reach a module, those first that should kill its mutants."""
    importers: dict[str, list[str]] = {}
    for file, imported in imports.items():
        for module in imported:
            importers.setdefault(module, []).append(file)
    distances = {path: 0}
    queue = deque([path])
    while queue:
        module = queue.popleft()
        for importer in importers.get(module, ()):
            if importer not in distances:
                distances[importer] = distances[module] + 1
                queue.append(importer)
    rooms = {name + ending for name in Path(path).with_suffix("").parts for ending in ("", "s")}

    def order(file: str) -> tuple[bool, bool, bool, int, int]:
        is_of_room = bool(rooms & set(Path(file).parts))
        is_namesake = Path(path).stem.strip("_") in Path(file).stem
        distance = distances[file]
        size = (tree / file).stat().st_size
        return not is_namesake, distance > 1, not is_of_room, distance, size

    return sorted((file for file in distances if Path(file).name.startswith("test_")), key=order)


def run(tests: Sequence[str], tree: Path, seconds: int, *options: str) -> Result:
    """Run tests (lines of each element at once) up to the first element that fails."""
    script = RUN_EACH.format(options=["-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *options])
    process = subprocess.Popen(
        [sys.executable, "-c", script, *tests],
        cwd=tree,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
    )
    output = ""
    with suppress(subprocess.TimeoutExpired):
        output, _ = process.communicate(timeout=CLOCK_PER_CPU * seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # with what the tests have started
    if process.wait() < 0:
        return "timed out", []
    return ("killed" if process.returncode else "survived"), FAILED.findall(output)


def try_out(
    mutant: Mutant,
    number: int,
    tests: Sequence[str],
    tree: Path,
    seconds: int,
    tier: Sequence[str] = (),
) -> Result:
    """Return the result of the tests on a mutant; its file is restored afterwards."""
    file = tree / mutant.path
    original, times = file.read_bytes(), file.stat()
    file.write_bytes(original[: mutant.start] + mutant.after.encode() + original[mutant.end :])
    os.utime(file, (number, number))  # a time of its own: no bytecode of another mutant is taken
    try:
        return run(tests, tree, seconds, "-x", *tier)
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    numbers = {"count": 60, "skip": 0, "seed": 0, "minutes": 600, "files": 8, "seconds": 60}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--tree", type=Path, default=PROJECT)
    parser.add_argument("--fast", action="store_true", help="only tests that `make test` runs")
    options = parser.parse_args()
    tier = ("-m", "not whole") if options.fast else ()
    until_s = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", "--shared", options.tree.resolve(), tree], check=True)
        imports = imports_of(tree)
        modules = [path for path in sorted(imports) if path.split("/")[0] in PROGRAM]
        texts = {path: (tree / path).read_text("utf-8") for path in modules}
        mutants = [mutant for path in modules for mutant in mutants_of(texts[path], path)]
        results: list[Result] = []
        for mutant in random.Random(options.seed).sample(mutants, options.count)[options.skip :]:
            if time.monotonic() > until_s:
                break
            tests = nearest_tests(mutant.path, imports, tree)[: options.files]
            results.append(try_out(mutant, len(results) + 1, tests, tree, options.seconds, tier))
            outcome, failed = results[-1]
            change = f"{mutant.before!r} -> {mutant.after!r}"
            print(outcome, f"{mutant.path}:{mutant.line}", change, *failed, sep="  ", flush=True)
        killers = sorted({test for _, failed in results for test in failed})
        _, broken = run(["\n".join(killers)], tree, options.seconds * len(results))
    counts = Counter(
        "unclear" if set(failed) & set(broken) else outcome for outcome, failed in results
    )
    print(f"{len(mutants)} mutants, {len(results)} tried:", dict(counts))
    print("fail without a mutant:", *(broken or ["none"]), sep="  ")


if __name__ == "__main__":
    main()
