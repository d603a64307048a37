"""Write and read spreadsheets: values, formulas, looks of cells, and what is set for ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from benchmarks.worlds.desktop.documents.package import (
    FONT,
    NAMESPACES,
    Data,
    Document,
    Element,
    decoded,
    local_name,
    package,
    q,
    text_of,
)

MAX_REPEATED = 1024  # columns and rows that a document repeats to its end hold nothing


def write_ods(sheets: Mapping[str, Sequence[Sequence[Any]]], bold: Sequence[str] = ()) -> bytes:
    """Return a spreadsheet.

    Args:
        sheets: rows of values by name. A text that begins with "=" is a formula; with its value,
            it is a pair: ["=SUM(B2:B4)", 12].
        bold: cells that are, like "A1".
    """
    parts = []
    for name, rows in sheets.items():
        lines = []
        for number, row in enumerate(rows, 1):
            cells = [
                _cell(value, f"{column_name(index)}{number}" in bold)
                for index, value in enumerate(row)
            ]
            lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
        columns = max(map(len, rows), default=1)
        parts.append(
            f"<table:table table:name={quoteattr(name)}>"
            f'<table:table-column table:number-columns-repeated="{columns}"/>'
            f"{''.join(lines)}</table:table>"
        )
    common = (
        f'<style:default-style style:family="table-cell"><style:text-properties {FONT} '
        'fo:font-size="10pt" fo:language="en" fo:country="US"/></style:default-style>'
        '<style:style style:name="Default" style:family="table-cell"/>'
    )
    automatic = (
        '<style:style style:name="bold" style:family="table-cell" '
        'style:parent-style-name="Default"><style:text-properties fo:font-weight="bold"/>'
        "</style:style>"
    )
    body = f"<office:spreadsheet>{''.join(parts)}</office:spreadsheet>"
    return package("ods", body, automatic, common)


def _cell(value: Any, is_bold: bool) -> str:
    style = ' table:style-name="bold"' if is_bold else ""
    formula = ""
    if isinstance(value, (list, tuple)):
        text, value = value
        formula = f" table:formula={quoteattr('of:' + _open_formula(text))}"
    if value in ("", None):
        return f"<table:table-cell{style}/>"
    if isinstance(value, (int, float)):
        kind = f'office:value-type="float" office:value="{value}"'
    else:
        kind = 'office:value-type="string"'
    return (
        f"<table:table-cell{style}{formula} {kind}><text:p>{escape(str(value))}</text:p>"
        "</table:table-cell>"
    )


def _open_formula(text: str) -> str:
    """Return a formula in OpenDocument's way: "=SUM(B2:B4)" is "=SUM([.B2:.B4])"."""
    reference = r"(\$?[A-Z]{1,2}\$?\d+)(?::(\$?[A-Z]{1,2}\$?\d+))?"
    return re.sub(reference, lambda m: f"[.{m[1]}:.{m[2]}]" if m[2] else f"[.{m[1]}]", text)


def column_name(index: int) -> str:
    """Return the letters of a column: 0 is "A", 26 is "AA"."""
    letters = ""
    number = index + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def cells_of_formula(formula: str) -> set[str]:
    """Return the cells of its own sheet that a formula refers to: "=SUM([.B2:.B4])"."""
    cells: set[str] = set()
    for match in re.finditer(r"\[\.([^\]]+)\]", formula):
        corners = [
            (_column_index(column), int(row))
            for column, row in re.findall(r"\$?([A-Z]{1,2})\$?(\d+)", match[1])
        ]
        if not corners:
            continue
        (left, top), (right, bottom) = corners[0], corners[-1]
        cells |= {
            f"{column_name(column)}{row}"
            for column in range(left, right + 1)
            for row in range(top, min(bottom, top + 5000) + 1)
        }
    return cells


def _column_index(letters: str) -> int:
    index = 0
    for letter in letters:
        index = 26 * index + ord(letter) - ord("A") + 1
    return index - 1


CELL_PROPERTIES = {
    "font-weight": "bold",
    "font-style": "italic",
    "text-underline-style": "underline",
    "color": "color",
    "background-color": "background",
    "text-align": "align",
    "wrap-option": "wrap",
    "font-size": "size",
}
USUAL_CELL = ("normal", "none", "transparent", "auto", "no-wrap", "start", "10pt", "#000000", "")


def read_ods(content: bytes) -> Data:
    """Return the sheets of a spreadsheet, in order, and what is set for ranges."""
    document = Document(content)
    sheets = {
        table.get(q("table:name"), ""): _sheet(document, table)
        for table in document.body
        if table.tag == q("table:table")
    }
    body = document.body
    return {
        "sheets": [*sheets],
        **{f"sheet {name}": sheet for name, sheet in sheets.items()},
        "filters": [
            area.get(q("table:target-range-address"), "")
            for area in body.iter(q("table:database-range"))
            if area.get(q("table:display-filter-buttons")) == "true"
        ],
        "names": {
            name.get(q("table:name"), ""): name.get(q("table:cell-range-address"), "")
            for name in body.iter(q("table:named-range"))
        },
        "frozen": _frozen(document),
        "conditions": [*_conditions(body)],
        "pivots": [*_pivots(body)],
        "orientation": _orientation(document),
    }


def _conditions(body: Element) -> Iterator[Data]:
    """Yield the conditions under which cells look otherwise: where, which, and the style then."""
    for area in body.iter():
        if local_name(area.tag) != "conditional-format":
            continue
        for condition in area:
            values = {local_name(key): value for key, value in condition.attrib.items()}
            yield {
                "cells": _attribute(area, "target-range-address"),
                "condition": values.get("value", local_name(condition.tag)),
                "style": decoded(values.get("apply-style-name", "")),
            }


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if local_name(key) == name), "")


def _pivots(body: Element) -> Iterator[Data]:
    """Yield what pivot tables are made of: the cells, and the field of each orientation."""
    for pivot in body.iter(q("table:data-pilot-table")):
        source = pivot.find(q("table:source-cell-range"))
        fields = {
            field.get(q("table:orientation")): [
                field.get(q("table:source-field-name")),
                field.get(q("table:function"), "auto"),
            ]
            for field in pivot.iter(q("table:data-pilot-field"))
            if field.get(q("table:source-field-name"))
            and field.get(q("table:orientation")) in ("row", "column", "page", "data")
        }
        cells = "" if source is None else source.get(q("table:cell-range-address"), "")
        yield {"cells": cells, **{str(name): field for name, field in fields.items()}}


def _orientation(document: Document) -> str:
    """Return the orientation of pages of the default style: "portrait" or "landscape"."""
    layouts = {
        layout.get(q("style:name")): layout.find(q("style:page-layout-properties"))
        for layout in document.common.iter(q("style:page-layout"))
    }
    for page in document.common.iter(q("style:master-page")):
        properties = layouts.get(page.get(q("style:page-layout-name")))
        if page.get(q("style:name")) == "Default" and properties is not None:
            return properties.get(q("style:print-orientation"), "portrait")
    return "portrait"


def _sheet(document: Document, table: Element) -> Data:
    cells: Data = {}
    hidden_rows: list[int] = []
    widths = [*_columns(table)]
    row_index = 0
    for row in table.iter(q("table:table-row")):
        count = int(row.get(q("table:number-rows-repeated"), "1"))
        if row.get(q("table:visibility")) in ("collapse", "filter") and count < MAX_REPEATED:
            hidden_rows += range(row_index + 1, row_index + 1 + count)
        if count < MAX_REPEATED:
            for repeat in range(count):
                cells |= _row_cells(document, row, row_index + repeat, widths)
        row_index += count
    hidden = [column_name(index) for index, (is_hidden, _) in enumerate(widths) if is_hidden]
    charts = [*_charts(document, table)]
    data: Data = {"cells": cells}
    for name, value in (
        ("hidden rows", hidden_rows),
        ("hidden columns", hidden),
        ("charts", charts),
        ("tab", document.properties("table", table.get(q("table:style-name"))).get("tab-color")),
    ):
        if value:
            data[name] = value
    return data


def _charts(document: Document, table: Element) -> Iterator[Data]:
    """Yield the charts of a sheet: kind, title, and the cells that they show."""
    for link in table.iter(q("draw:object")):
        content = document.objects.get(link.get(q("xlink:href"), "").removeprefix("./"))
        chart = None if content is None else content.find(f".//{q('chart:chart')}")
        if chart is None:
            yield {"kind": "object"}
            continue
        title = chart.find(q("chart:title"))
        plot = chart.find(q("chart:plot-area"))
        style = "" if plot is None else plot.get(q("chart:style-name"), "")
        kind = chart.get(q("chart:class"), "").removeprefix("chart:")
        if kind == "bar" and content is not None and _is_vertical(content, style):
            kind = "horizontal bar"
        ranges = link.get(q("draw:notify-on-update-of-ranges"), "").split()
        cells = {cell for text in ranges for cell in cells_of_formula(f"[.{text}]")}
        yield {
            "kind": kind,
            "title": "" if title is None else "".join(title.itertext()).strip(),
            "cells": sorted(cells),
        }


def _is_vertical(content: Element, style: str) -> bool:
    """Whether a chart of bars has turned its axes, so that the bars lie."""
    return any(
        properties.get(q("chart:vertical")) == "true"
        for one in content.iter(q("style:style"))
        if one.get(q("style:name")) == style
        for properties in one
    )


def _columns(table: Element) -> Iterator[tuple[bool, str | None]]:
    """Yield of each column whether it is hidden, and the style of its cells."""
    for column in table.iter(q("table:table-column")):
        count = int(column.get(q("table:number-columns-repeated"), "1"))
        is_hidden = column.get(q("table:visibility")) in ("collapse", "filter")
        for _ in range(min(count, MAX_REPEATED)):
            yield is_hidden and count < MAX_REPEATED, column.get(q("table:default-cell-style-name"))


def _row_cells(
    document: Document, row: Element, row_index: int, columns: Sequence[tuple[bool, str | None]]
) -> Data:
    cells: Data = {}
    column = 0
    for cell in row:
        count = int(cell.get(q("table:number-columns-repeated"), "1"))
        if count < MAX_REPEATED:
            for index in range(column, column + count):
                default = columns[index][1] if index < len(columns) else None
                data = _cell_data(document, cell, default)
                if data:
                    cells[f"{column_name(index)}{row_index + 1}"] = data
        column += count
    return cells


def _cell_data(document: Document, cell: Element, default_style: str | None) -> Data:
    """Return a cell that holds something; of an empty one only its colour."""
    kind = cell.get(q("office:value-type"))
    style = document.properties("table-cell", cell.get(q("table:style-name")) or default_style)
    data: Data = {}
    if kind:
        text = "\n".join(text_of(paragraph) for paragraph in cell.findall(q("text:p")))
        value: Any = text
        if kind in ("float", "currency", "percentage"):
            value = float(cell.get(q("office:value"), "nan"))
        elif kind == "date":
            value = cell.get(q("office:date-value"), text)
        data = {"value": value}
        formula = cell.get(q("table:formula"))
        if formula:
            data["formula"] = formula.removeprefix("of:")
        note = cell.find(q("office:annotation"))
        if note is not None:
            data["note"] = "\n".join(map(text_of, note.findall(q("text:p"))))
        number_format = _number_format(document, style.get("data-style"))
        if number_format:
            data["format"] = number_format
    names = CELL_PROPERTIES if kind else {"background-color": "background"}
    data |= {
        mark: style[key] for key, mark in names.items() if style.get(key, "") not in USUAL_CELL
    }
    rule = cell.get(q("table:content-validation-name"))
    if rule:
        data["rule"] = _rule(document, rule)
    spans = (
        cell.get(q("table:number-columns-spanned"), "1"),
        cell.get(q("table:number-rows-spanned"), "1"),
    )
    if spans != ("1", "1"):
        data["merged"] = "x".join(spans)
    return data


def _rule(document: Document, name: str) -> str:
    """Return the condition of a cell validation as the document writes it; "" without one."""
    for rule in document.body.iter(q("table:content-validation")):
        if rule.get(q("table:name")) == name:
            return rule.get(q("table:condition"), "")
    return ""


def _number_format(document: Document, name: str | None) -> str:
    """Return a format in few words: "percent 2", "currency $ 2", "number 2 ,"; "" if none."""
    if not name or name == "N0":
        return ""
    for root in (document.content, document.common):
        for style in root.iter():
            if style.get(q("style:name")) == name and style.tag.startswith(
                f"{{{NAMESPACES['number']}}}"
            ):
                return _format_words(style)
    return ""


def _format_words(style: Element) -> str:
    kind = local_name(style.tag).removesuffix("-style").replace("percentage", "percent")
    words = [kind]
    symbol = style.find(q("number:currency-symbol"))
    if symbol is not None and symbol.text:
        words.append(symbol.text)
    number = style.find(q("number:number"))
    if number is not None:
        words.append(number.get(q("number:decimal-places"), "0"))
        if number.get(q("number:grouping")) == "true":
            words.append(",")
    return " ".join(words)


def _frozen(document: Document) -> list[list[int]]:
    """Return columns and rows that stay in view, of each sheet that has any."""
    if document.settings is None:
        return []
    frozen = []
    for entry in document.settings.iter():
        if local_name(entry.tag) != "config-item-map-entry":
            continue
        values = {
            next(iter(v for k, v in item.attrib.items() if local_name(k) == "name")): item.text
            for item in entry
            if local_name(item.tag) == "config-item"
        }
        modes = [values.get("HorizontalSplitMode"), values.get("VerticalSplitMode")]
        if "2" in modes:
            positions = (values["HorizontalSplitPosition"], values["VerticalSplitPosition"])
            frozen.append(
                [
                    int(position or 0) if mode == "2" else 0
                    for mode, position in zip(modes, positions, strict=True)
                ]
            )
    return frozen
