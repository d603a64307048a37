"""Write and read presentations: slides in order, their titles, texts, notes and looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.worlds.desktop.documents.package import (
    FONT,
    Data,
    Document,
    Element,
    escaped,
    package,
    q,
    text_of,
)

SLIDE_CM = (28, 15.75)
FRAMES = {"title": (1.4, 0.63, 25.2, 2.63), "outline": (1.4, 3.69, 25.2, 9.13)}


def write_odp(slides: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a presentation.

    Args:
        slides: each with a "title" and lines of "body".
    """
    pages = []
    for number, slide in enumerate(slides, 1):
        body = "".join(f"<text:p>{escaped(line)}</text:p>" for line in slide.get("body", ()))
        title = f"<text:p>{escaped(slide['title'])}</text:p>"
        pages.append(
            f'<draw:page draw:name="page{number}" draw:style-name="dp1" '
            'draw:master-page-name="Default" presentation:presentation-page-layout-name="AL1T1">'
            f"{_frame('title', title)}{_frame('outline', body)}</draw:page>"
        )
    layout = "".join(
        f'<presentation:placeholder presentation:object="{name}" svg:x="{x}cm" svg:y="{y}cm" '
        f'svg:width="{width}cm" svg:height="{height}cm"/>'
        for name, (x, y, width, height) in FRAMES.items()
    )
    common = (
        f'<style:default-style style:family="graphic"><style:text-properties {FONT} '
        'fo:font-size="24pt" fo:language="en" fo:country="US"/></style:default-style>'
        + "".join(
            f'<style:style style:name="Default-{name}" style:family="presentation">'
            '<style:graphic-properties draw:fill="none" draw:stroke="none"/>'
            f'<style:text-properties fo:font-size="{size}pt"/></style:style>'
            for name, size in (("title", 40), ("outline1", 24))
        )
        + '<style:presentation-page-layout style:name="AL1T1">'
        f"{layout}</style:presentation-page-layout>"
    )
    width, height = SLIDE_CM
    masters = (
        '<office:automatic-styles><style:page-layout style:name="PM1">'
        f'<style:page-layout-properties fo:page-width="{width}cm" fo:page-height="{height}cm" '
        'style:print-orientation="landscape"/></style:page-layout>'
        '<style:style style:name="Mdp1" style:family="drawing-page"/></office:automatic-styles>'
        '<office:master-styles><style:master-page style:name="Default" '
        'style:page-layout-name="PM1" draw:style-name="Mdp1">'
        f"{_frame('title', '', True)}{_frame('outline', '', True)}"
        "</style:master-page></office:master-styles>"
    )
    automatic = '<style:style style:name="dp1" style:family="drawing-page"/>'
    body = f"<office:presentation>{''.join(pages)}</office:presentation>"
    return package("odp", body, automatic, common, masters)


def _frame(name: str, content: str, is_empty: bool = False) -> str:
    x, y, width, height = FRAMES[name]
    style = "Default-title" if name == "title" else "Default-outline1"
    placeholder = ' presentation:placeholder="true"' if is_empty else ""
    return (
        f'<draw:frame presentation:style-name="{style}" presentation:class="{name}"{placeholder} '
        f'svg:x="{x}cm" svg:y="{y}cm" svg:width="{width}cm" svg:height="{height}cm">'
        f"<draw:text-box>{content}</draw:text-box></draw:frame>"
    )


def read_odp(content: bytes) -> Data:
    """Return the slides of a presentation, in order."""
    document = Document(content)
    return {
        "slides": [_slide(document, page) for page in document.body if page.tag == q("draw:page")]
    }


def _slide(document: Document, page: Element) -> Data:
    data: Data = {"title": "", "body": []}
    for shape in page:
        if shape.tag == q("presentation:notes"):
            notes = "\n".join(_paragraphs(shape)).strip()
            if notes:
                data["notes"] = notes
            continue
        lines = _paragraphs(shape)
        if shape.get(q("presentation:class")) == "title":
            data["title"] = "\n".join(lines)
        elif any(lines):
            data["body"] += lines
        if next(shape.iter(q("draw:image")), None) is not None:
            data["images"] = data.get("images", 0) + 1
    look = document.properties("drawing-page", page.get(q("draw:style-name")))
    if look.get("transition-type") == "none" or look.get("visibility") == "hidden":
        data["hidden"] = look.get("visibility") == "hidden"
    if look.get("type"):
        data["transition"] = look["type"]
    if look.get("fill") == "solid" and look.get("fill-color"):
        data["background"] = look["fill-color"]
    return data


def _paragraphs(shape: Element) -> list[str]:
    return [text for text in map(text_of, shape.iter(q("text:p"))) if text]
