"""Write and read texts: paragraphs, their styles and what is set by hand, tables, headers, page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.worlds.desktop.documents.package import (
    FONT,
    Data,
    Document,
    Element,
    encoded,
    escaped,
    local_name,
    package,
    pieces,
    q,
    text_of,
)

TEXT_STYLES = {"Title": 18, "Heading 1": 16, "Heading 2": 14, "Text body": 12}
"""Names of paragraph styles that texts are written with, and their size in points."""
PAGE = (
    '<office:automatic-styles><style:page-layout style:name="pm1"><style:page-layout-properties '
    'fo:page-width="21.001cm" fo:page-height="29.7cm" style:print-orientation="portrait" '
    'fo:margin-top="2cm" fo:margin-bottom="2cm" fo:margin-left="2cm" fo:margin-right="2cm"/>'
    "</style:page-layout></office:automatic-styles><office:master-styles>"
    '<style:master-page style:name="Standard" style:page-layout-name="pm1"/></office:master-styles>'
)
ALIGNMENTS = {"start": "left", "left": "left", "end": "right", "right": "right"}
RUN_PROPERTIES = {
    "font-weight": "bold",
    "font-style": "italic",
    "text-underline-style": "underline",
    "text-line-through-style": "strike",
    "color": "color",
    "background-color": "highlight",
    "font-size": "size",
    "text-position": "position",
}
BY_HAND = ("break-before", "margin-left", "text-indent")
"""Properties of a paragraph that count where its style does not have them."""
NO_PROPERTY = ("normal", "none", "transparent", "auto", "0% 100%", "#000000", "")


def write_odt(blocks: Sequence[Any]) -> bytes:
    """Return a text.

    Args:
        blocks: each a text of style "Standard", {"text": ..., "style": ...}, or {"table": rows}.
    """
    parts, styles = [], []
    for number, block in enumerate(blocks):
        match block:
            case str():
                parts.append(f'<text:p text:style-name="Standard">{escaped(block)}</text:p>')
            case {"table": rows}:
                parts.append(_table(f"Table{number}", rows))
            case {"text": text, "style": style}:
                parts.append(_styled(text, style))
            case {"text": text, **properties}:
                styles.append(_paragraph_style(f"P{number}", properties))
                parts.append(f'<text:p text:style-name="P{number}">{escaped(text)}</text:p>')
    common = (
        f'<style:default-style style:family="paragraph"><style:text-properties {FONT} '
        'fo:font-size="12pt" fo:language="en" fo:country="US"/></style:default-style>'
        '<style:style style:name="Standard" style:family="paragraph" style:class="text"/>'
    )
    for style, size in TEXT_STYLES.items():
        level = style.partition("Heading ")[2]
        outline = f'style:default-outline-level="{level}"' if level else ""
        common += (
            f'<style:style style:name="{encoded(style)}" style:display-name="{style}" '
            f'style:family="paragraph" style:parent-style-name="Standard" {outline}>'
            f'<style:text-properties fo:font-size="{size}pt"/></style:style>'
        )
    body = f"<office:text>{''.join(parts)}</office:text>"
    return package("odt", body, "".join(styles), common, PAGE)


def _styled(text: str, style: str) -> str:
    if style.startswith("Heading "):
        level = style.partition(" ")[2]
        attributes = f'text:style-name="{encoded(style)}" text:outline-level="{level}"'
        return f"<text:h {attributes}>{escaped(text)}</text:h>"
    return f'<text:p text:style-name="{encoded(style)}">{escaped(text)}</text:p>'


def _paragraph_style(name: str, properties: Mapping[Any, Any]) -> str:
    written = {"bold": 'fo:font-weight="bold"', "italic": 'fo:font-style="italic"'}
    text = " ".join(written[key] for key in properties if key in written)
    align = f'fo:text-align="{properties["align"]}"' if "align" in properties else ""
    return (
        f'<style:style style:name="{name}" style:family="paragraph" '
        f'style:parent-style-name="Standard"><style:paragraph-properties {align}/>'
        f"<style:text-properties {text}/></style:style>"
    )


def _table(name: str, rows: Sequence[Sequence[Any]]) -> str:
    cells = [
        "".join(
            '<table:table-cell office:value-type="string"><text:p text:style-name="Standard">'
            f"{escaped(str(value))}</text:p></table:table-cell>"
            for value in row
        )
        for row in rows
    ]
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
    columns = f'<table:table-column table:number-columns-repeated="{len(rows[0])}"/>'
    return f'<table:table table:name="{name}">{columns}{lines}</table:table>'


def read_odt(content: bytes) -> Data:
    """Return the blocks of a text: paragraphs, tables, images; with page, header and footer."""
    document = Document(content)
    return {
        "blocks": [*_blocks(document, document.body)],
        "page": _page(document),
        "footer": _master_texts(document, "footer"),
        "header": _master_texts(document, "header"),
    }


def _blocks(document: Document, parent: Element) -> Iterator[Data]:
    for element in parent:
        match local_name(element.tag):
            case "p" | "h":
                yield _paragraph(document, element)
            case "table":
                rows = [*element.iter(q("table:table-row"))]
                yield {"table": [[_cell_text(cell) for cell in _cells(row)] for row in rows]}
            case "list":
                style = element.get(q("text:style-name"), "")
                kind = _list_kind(document, style)
                for paragraph in element.iter(
                    q("text:p"),
                ):
                    yield _paragraph(document, paragraph) | {"list": kind}
            case "section" | "list-item":
                yield from _blocks(document, element)


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row if local_name(cell.tag) == "table-cell"]


def _cell_text(cell: Element) -> str:
    return "\n".join(text_of(paragraph) for paragraph in cell.iter(q("text:p")))


def _list_kind(document: Document, name: str) -> str:
    for root in (document.content, document.common):
        for style in root.iter(q("text:list-style")):
            if style.get(q("style:name")) == name and len(style):
                return local_name(style[0].tag).removeprefix("list-level-style-")
    return "list"


def _paragraph(document: Document, element: Element) -> Data:
    name = element.get(q("text:style-name"))
    paragraph = document.properties("paragraph", name)
    style = document.named_style("paragraph", name) or "Standard"
    base = document.properties("paragraph", encoded(style))
    runs: list[list[Any]] = []
    for text, span in pieces(element, ""):
        own = paragraph | document.properties("text", span)
        marks = {
            mark: own[key]
            for key, mark in RUN_PROPERTIES.items()
            if own.get(key, "") not in NO_PROPERTY and own.get(key) != base.get(key)
        }
        if runs and runs[-1][1] == marks:
            runs[-1][0] += text
        elif text:
            runs.append([text, marks])
    data: Data = {"style": style, "runs": runs}
    align = ALIGNMENTS.get(paragraph.get("text-align", ""), paragraph.get("text-align", "left"))
    if align != "left":
        data["align"] = align
    # The spacing counts also where the style has it: so a whole text gets it in one go.
    set_by_hand = {
        key: paragraph.get(key) for key in BY_HAND if paragraph.get(key) != base.get(key)
    }
    for key, value in {"line-height": paragraph.get("line-height"), **set_by_hand}.items():
        if value not in (None, "auto", "100%", "0cm", "0in"):
            data[key] = value
    frames = [*element.iter(q("draw:frame"))]
    if frames:
        data["images"] = len(frames)
    return data


def _page(document: Document) -> Data:
    layout = document.common.find(f".//{q('style:page-layout-properties')}")
    values = (
        {} if layout is None else {local_name(key): value for key, value in layout.attrib.items()}
    )
    return {"orientation": values.get("print-orientation", "portrait")}


def _master_texts(document: Document, part: str) -> list[str]:
    """Return the texts of headers or footers; a page number is "<page-number>"."""
    texts = []
    for element in document.common.iter(q(f"style:{part}")):
        for paragraph in element.iter(q("text:p")):
            fields = "".join(
                f"<{local_name(child.tag)}>" if local_name(child.tag) == "page-number" else ""
                for child in paragraph.iter()
            )
            texts.append(fields or text_of(paragraph))
    return texts
