"""Report how hard the texts of the project are to read; it is not a gate.

python -m tools.words [FILE ...] [--show]

For each page (README.md, CONTRIBUTING.md and docs/ by default): sentences, the share of them with
more than 30 words, sentences that begin with a clause ("What ...", "Whether ..."), references back
across a phrase ("of it", "so is", "of which"), and the longest sentence in words. `--show` prints
the sentences that count. Code, tables and headings are left out. Of a Python file it reads the
texts of at least four words: messages, help and docstrings, but prompts and code in texts as well.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
LONG = 30  # words
CLAUSE = re.compile(
    r"^(What|Whether|Whoever|Which|How|Where it|That which|Of which|Whose)\b(?!.*\?$)"
)
BACK = re.compile(
    r"\b(of it|so is|so are|so do|so does|so it is|of which|of whom|of these|that of|those of|"
    r"of such|the latter|the former)\b"
)
FENCE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"“(])")


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a page in Markdown."""
    text = FENCE.sub("", text)
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "|", "<", ":::")):
            paragraphs.append([])
        elif re.match(r"[-*] |\d+\. ", stripped):
            paragraphs.append([re.sub(r"^([-*]|\d+\.) ", "", stripped)])
        else:
            paragraphs[-1].append(stripped)
    for lines in paragraphs:
        paragraph = LINK.sub(r"\1", " ".join(lines))
        yield from (sentence for sentence in END.split(paragraph) if len(sentence.split()) > 1)


def texts_of(source: str) -> str:
    """Return the texts of a Python file as paragraphs; an expression in a text is one word."""
    tree = ast.parse(source)
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inner = {id(value) for text in parts for value in text.values}
    texts = [
        "".join(
            str(value.value) if isinstance(value, ast.Constant) else "{x}" for value in part.values
        )
        for part in parts
    ]
    texts += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
    ]
    return "\n\n".join(text for text in texts if len(re.findall(r"[A-Za-z]{2,}", text)) >= 4)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true", help="print the sentences that count")
    arguments = parser.parse_args()
    docs = sorted((PROJECT / "docs").rglob("*.md"))
    files = arguments.files or [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *docs]
    print(f"{'sentences':>9} {'long':>6} {'clause':>6} {'back':>5} {'longest':>7}")
    totals = [0, 0, 0, 0]
    for file in files:
        text = file.read_text(encoding="utf-8")
        sentences = [*sentences_of(texts_of(text) if file.suffix == ".py" else text)]
        lengths = [len(sentence.split()) for sentence in sentences]
        marked = {
            "long": [s for s, n in zip(sentences, lengths, strict=True) if n > LONG],
            "clause": [s for s in sentences if CLAUSE.match(s)],
            "back": [s for s in sentences if BACK.search(s)],
        }
        counts = [len(sentences), *map(len, marked.values())]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        name = file.relative_to(PROJECT) if file.is_relative_to(PROJECT) else file
        print(_line(counts, max(lengths, default=0), str(name)))
        for kind, found in marked.items() if arguments.show else ():
            for sentence in found:
                print(f"    {kind}: {sentence}")
    print(_line(totals, 0, "all"))


def _line(counts: list[int], longest: int, name: str) -> str:
    sentences, long, clause, back = counts
    share = f"{100 * long / max(sentences, 1):.1f}%"
    return f"{sentences:9} {share:>6} {clause:6} {back:5} {longest or '':>7} {name}"


if __name__ == "__main__":
    main()
