"""Functions of OSWorld's evaluators, by their names and with their options; own code.

A function gets what became of a file, and what it is compared with: another file, or rules. Options
that are not among the known ones make a task one that cannot be run here: another judgement than
the one that was asked for would be none.

Source: OSWorld (arXiv 2404.07972), its `evaluators/metrics` for names and meaning of the options.
"""

from __future__ import annotations

import io
import itertools
import operator
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from benchmarks.worlds.desktop.documents.package import MAX_XML_BYTES

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
Options = Mapping[str, Any]
Compare = Callable[..., bool]
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "re": lambda value, pattern: re.search(pattern, str(value)) is not None,
}
RULES: Mapping[str, frozenset[str]] = {
    "sheet_name": frozenset(),
    "sheet_data": frozenset({"sheet_idx0", "sheet_idx1", "precision"}),
    "freeze": frozenset({"sheet_idx0", "sheet_idx1"}),
    "check_cell": frozenset({"sheet_idx", "coordinate", "props"}),
}
"""Rules of `compare_table`, and what each may say."""
PRECISION = 4  # decimals that count


@dataclass(frozen=True, slots=True)
class Metric:
    """A function: how it compares, with a file or with rules, and which options it knows."""

    compare: Compare  # of content, what is expected, and, if it knows any, options
    takes_rules: bool = False
    options: frozenset[str] = frozenset()
    problem: Callable[[Options], str] = lambda options: ""  # what else of its options is unknown

    def fits(self, content: bytes, expected: Any, options: Options) -> bool:
        """Whether a file is as expected.

        Raises:
            Exception: the file cannot be read.
        """
        return self.compare(content, expected, *([options] if self.options else []))


def _entry(content: bytes, name: str) -> ElementTree.Element:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        if package.getinfo(name).file_size > MAX_XML_BYTES:
            raise ValueError(f"{name} is too large")
        return ElementTree.fromstring(package.read(name))


# -- texts -----------------------------------------------------------------------------------------


def _paragraphs(content: bytes) -> list[str]:
    """Return the texts of a document's paragraphs, without those of tables."""
    body = _entry(content, "word/document.xml").find(f"{WORD}body")
    assert body is not None, "a document has a body"
    return [_text(paragraph) for paragraph in body.findall(f"{WORD}p")]


def _text(paragraph: ElementTree.Element) -> str:
    signs = {f"{WORD}tab": "\t", f"{WORD}br": "\n"}
    return "".join(
        node.text or "" if node.tag == f"{WORD}t" else signs.get(node.tag, "")
        for node in paragraph.iter()
    )


def _compare_texts(texts: Sequence[str], expected: Sequence[str], options: Options) -> bool:
    pair = []
    for lines in (texts, expected):
        if options.get("delete_empty_lines"):
            lines = [line for line in lines if line.strip()]
        if options.get("ignore_order"):
            lines = sorted(lines)
        text = "\n".join(lines)
        if options.get("ignore_blanks", True):
            text = re.sub(r"\s+", " ", text).strip()
        pair.append(text.lower() if options.get("ignore_case") else text)
    return pair[0] == pair[1]


def _compare_docx(content: bytes, expected: bytes, options: Options) -> bool:
    return _compare_texts(_paragraphs(content), _paragraphs(expected), options)


def _compare_docx_lines(content: bytes, expected: bytes) -> bool:
    return _compare_docx(content, expected, {"delete_empty_lines": True, "ignore_blanks": False})


def _compare_docx_tables(content: bytes, expected: bytes) -> bool:
    return _tables(content) == _tables(expected)


def _tables(content: bytes) -> list[list[list[str]]]:
    document = _entry(content, "word/document.xml")
    return [
        [
            ["\n".join(map(_text, cell.iter(f"{WORD}p"))).strip() for cell in row.iter(f"{WORD}tc")]
            for row in table.iter(f"{WORD}tr")
        ]
        for table in document.iter(f"{WORD}tbl")
    ]


def _contains_page_break(content: bytes, rules: Any) -> bool:
    breaks = _entry(content, "word/document.xml").iter(f"{WORD}br")
    count = sum(mark.get(f"{WORD}type") == "page" for mark in breaks)
    wanted = (rules or {}).get("page_break_count")
    return count > 0 if wanted is None else bool(count == wanted)


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()


def _compare_text_file(content: bytes, expected: bytes, options: Options) -> bool:
    return _compare_texts(_lines(content), _lines(expected), {"ignore_blanks": False, **options})


def _compare_csv(content: bytes, expected: bytes, options: Options) -> bool:
    is_lenient = not options.get("strict", True)
    leniency = {"ignore_blanks": is_lenient, "ignore_case": is_lenient}
    return _compare_texts(_lines(content), _lines(expected), leniency)


def _contains_problem(rules: Options) -> str:
    return "" if isinstance(rules.get("expected"), list) else "no list of what is expected"


def _file_contains(content: bytes, rules: Any) -> bool:
    text = content.decode(errors="replace")
    return all(part in text for part in rules["expected"])


def _check_config_status(content: bytes, rules: Any) -> bool:
    """Whether a file of settings of GIMP has `(key value)` on a line of its own."""
    lines = [line for line in _lines(content) if line.startswith("(")]
    pairs = [line.strip().strip("()").partition(" ") for line in lines]
    values = {key: value.strip().strip('"') for key, _, value in pairs}
    return values.get(str(rules["key"])) == str(rules["value"]).strip('"')


def _config_problem(rules: Options) -> str:
    return "" if rules.get("type") == "key-value" else f"rules of type {rules.get('type')!r}"


# -- tables ----------------------------------------------------------------------------------------


def _workbook(content: bytes) -> Any:
    from openpyxl import load_workbook

    with zipfile.ZipFile(io.BytesIO(content)) as package:
        if sum(entry.file_size for entry in package.infolist()) > MAX_XML_BYTES:
            raise ValueError("the workbook is too large")
    return load_workbook(io.BytesIO(content), data_only=True)


def _compare_table(content: bytes, expected: bytes | None, options: Options) -> bool:
    books = {"R": _workbook(content)}
    if expected is not None:
        books["E"] = _workbook(expected)
    return all(_follows(rule, books) for rule in options["rules"])


def _follows(rule: Options, books: Mapping[str, Any]) -> bool:
    match rule["type"]:
        case "sheet_name":
            return bool(books["R"].sheetnames == books["E"].sheetnames)
        case "sheet_data":
            sheets = [_sheet(rule[name], books) for name in ("sheet_idx0", "sheet_idx1")]
            one, other = (_values(sheet, rule.get("precision", PRECISION)) for sheet in sheets)
            return one == other
        case "freeze":
            sheets = [_sheet(rule[name], books) for name in ("sheet_idx0", "sheet_idx1")]
            return bool(sheets[0].freeze_panes == sheets[1].freeze_panes)
    value = _sheet(rule["sheet_idx"], books)[rule["coordinate"]].value
    wanted = rule["props"]["value"]
    try:
        return COMPARISONS[wanted["method"]](value, wanted["ref"])
    except TypeError:  # a text is not less than a number
        return False


def _sheet(name: int | str, books: Mapping[str, Any]) -> Any:
    """Return a sheet: 0 and "RI0" are the result's first, "ENTable" is that name's, expected."""
    if isinstance(name, int):
        name = f"RI{name}"
    book = books[name[0]]
    return book[name[2:]] if name[1] == "N" else book.worksheets[int(name[2:])]


def _values(sheet: Any, precision: int) -> list[list[Any]]:
    rows = [
        [round(value, precision) if isinstance(value, float) else value for value in row]
        for row in sheet.iter_rows(values_only=True)
    ]
    trimmed = [_without_end(row, None) for row in rows]
    return _without_end(trimmed, [])


def _without_end(items: list[Any], empty: Any) -> list[Any]:
    """Return a list without the empty items at its end."""
    count = sum(1 for _ in itertools.takewhile(lambda item: item == empty, reversed(items)))
    return items[: len(items) - count]


def _table_problem(options: Options) -> str:
    for rule in options.get("rules", ()):
        known = RULES.get(rule.get("type"))
        if known is None:
            return f"the rule {rule.get('type')!r}"
        unknown = sorted(rule.keys() - known - {"type"})
        if unknown:
            return f"{unknown[0]!r} of the rule {rule['type']!r}"
        if rule["type"] == "check_cell":
            props = rule.get("props", {})
            method = props.get("value", {}).get("method")
            if props.keys() != {"value"} or method not in COMPARISONS:
                return f"props {props} of the rule 'check_cell'"
    return "" if options.get("rules") else "no rules"


METRICS: Mapping[str, Metric] = {
    "compare_table": Metric(_compare_table, options=frozenset({"rules"}), problem=_table_problem),
    "compare_csv": Metric(_compare_csv, options=frozenset({"strict"})),
    "compare_text_file": Metric(
        _compare_text_file, options=frozenset({"ignore_blanks", "ignore_case"})
    ),
    "compare_docx_files": Metric(
        _compare_docx,
        options=frozenset({"ignore_blanks", "ignore_case", "ignore_order", "delete_empty_lines"}),
    ),
    "compare_docx_files_and_ignore_new_lines": Metric(_compare_docx_lines),
    "compare_docx_tables": Metric(_compare_docx_tables),
    "contains_page_break": Metric(_contains_page_break, takes_rules=True),
    "file_contains": Metric(_file_contains, takes_rules=True, problem=_contains_problem),
    "check_config_status": Metric(_check_config_status, takes_rules=True, problem=_config_problem),
}
"""The functions by name. `infeasible` is none of them: nothing is compared for it."""
