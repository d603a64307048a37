"""Ten tasks in OSWorld's JSON, with documents of our own, in a folder."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from openpyxl import Workbook

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
SAVE = [
    {"type": "activate_window", "parameters": {"window_name": "x", "strict": True}},
    {"type": "sleep", "parameters": {"seconds": 0.5}},
    {
        "type": "execute",
        "parameters": {
            "command": ["python", "-c", "import pyautogui; pyautogui.hotkey('ctrl', 's');"]
        },
    },
]
COSTS = [["Item", "Cost"], ["Paper", 20], ["Ink", 35]]


def docx(*paragraphs: str, table: list[list[str]] | None = None, page_break: bool = False) -> bytes:
    """Return a document of plain paragraphs."""
    texts = [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs]
    if page_break:
        texts.insert(1, '<w:p><w:r><w:br w:type="page"/></w:r></w:p>')
    for row in table or []:
        cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in row)
        texts.append(f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>")
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
        f'"/word/document.xml" ContentType="{MAIN}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type='
        f'"{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{"".join(texts)}</w:body>'
        "</w:document>",
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        for name, text in parts.items():
            package.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return content.getvalue()


def xlsx(rows: list[list[Any]], sheet: str = "Costs", freeze: str | None = None) -> bytes:
    """Return a workbook of one sheet."""
    book = Workbook()
    book.active.title = sheet
    book.active.freeze_panes = freeze
    for row in rows:
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def task(name: str, file: str, func: Any, **evaluator: Any) -> dict[str, Any]:
    """Return a task on one file of the home, which is open at the start."""
    path = f"/home/user/{file}"
    address = f"https://example.org/files/{file}?download=true"
    return {
        "id": name,
        "snapshot": "libreoffice",
        "instruction": f"Do {name}.",
        "config": [
            {"type": "download", "parameters": {"files": [{"url": address, "path": path}]}},
            {"type": "open", "parameters": {"path": path}},
        ],
        "related_apps": ["libreoffice_calc"],
        "evaluator": {"func": func, "result": {"type": "vm_file", "path": path}, **evaluator},
    }


def gold(file: str) -> dict[str, str]:
    """Return an expected file among the user's files."""
    return {"type": "cloud_file", "path": f"https://example.org/{file}", "dest": file}


def rules(**content: Any) -> dict[str, Any]:
    """Return expected rules."""
    return {"type": "rule", "rules": content}


def table_rule(kind: str, **content: Any) -> dict[str, Any]:
    """Return the options of `compare_table` with one rule."""
    return {"rules": [{"type": kind, **content}]}


BOTH_SHEETS = {"sheet_idx0": 0, "sheet_idx1": "EI0"}
TASKS = [
    task(
        "total",
        "costs.xlsx",
        "compare_table",
        expected=gold("costs_gold.xlsx"),
        options=table_rule("sheet_data", **BOTH_SHEETS),
        postconfig=SAVE,
    ),
    task(
        "name",
        "costs.xlsx",
        "compare_table",
        expected=gold("named.xlsx"),
        options=table_rule("sheet_name"),
    ),
    task(
        "frozen",
        "costs.xlsx",
        "compare_table",
        expected=gold("frozen.xlsx"),
        options=table_rule("freeze", **BOTH_SHEETS),
    ),
    task(
        "cell",
        "costs.xlsx",
        "compare_table",
        options=table_rule(
            "check_cell",
            sheet_idx=0,
            coordinate="B4",
            props={"value": {"method": "eq", "ref": 55}},
        ),
    ),
    task("letter", "letter.docx", "compare_docx_files", expected=gold("letter_gold.docx")),
    task(
        "table_or_break",
        "letter.docx",
        ["compare_docx_tables", "contains_page_break"],
        conj="or",
        expected=[gold("table.docx"), rules(page_break_count=1)],
    ),
    task("list", "list.txt", "compare_text_file", expected=gold("list_gold.txt"), postconfig=SAVE),
    task("contains", "list.txt", "file_contains", expected=rules(expected=["bread", "milk"])),
    {
        **task("settings", "list.txt", "check_config_status"),
        "config": [{"type": "launch", "parameters": {"command": ["gimp"]}}],
        "evaluator": {
            "func": "check_config_status",
            "result": {"type": "gimp_config_file", "file_name": "gimprc", "dest": "gimprc"},
            "expected": rules(type="key-value", key="theme", value='"Light"'),
        },
    },
    {
        **task("impossible", "list.txt", "infeasible"),
        "related_apps": ["gedit", "thunderbird"],
    },
]
FILES = {
    "costs.xlsx": xlsx(COSTS),
    "costs_gold.xlsx": xlsx([*COSTS, [None, 55]]),
    "named.xlsx": xlsx(COSTS, sheet="Prices"),
    "frozen.xlsx": xlsx(COSTS, freeze="A2"),
    "letter.docx": docx("Dear Ann,", "see you."),
    "letter_gold.docx": docx("Dear Bob,", "see you."),
    "table.docx": docx("Dear Ann,", table=[["a", "b"]]),
    "list.txt": b"bread\n",
    "list_gold.txt": b"bread\nmilk\n",
}


def write_folder(folder: Path, tasks: list[dict[str, Any]] | None = None) -> Path:
    """Write tasks, or all ten, and the files into a folder."""
    for content in TASKS if tasks is None else tasks:
        domain = folder / "examples/office"
        domain.mkdir(parents=True, exist_ok=True)
        (domain / f"{content['id']}.json").write_text(json.dumps(content))
    (folder / "files").mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / "files" / name).write_bytes(text)
    return folder
