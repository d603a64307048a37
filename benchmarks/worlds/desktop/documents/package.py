"""Shared code for all kinds of documents: package, styles, paragraphs (OpenDocument 1.3).

Readers return plain data in which styles are resolved, so that a document that was only saved again
equals the original. Documents are written with the same care: no property is left to a default
of the program that opens them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

Element = ElementTree.Element
Data = dict[str, Any]
NAMESPACES = {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"
    for name, path in {
        "office": "office",
        "style": "style",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "fo": "xsl-fo-compatible",
        "svg": "svg-compatible",
        "number": "datastyle",
        "presentation": "presentation",
        "chart": "chart",
    }.items()
} | {"xlink": "http://www.w3.org/1999/xlink"}
XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MIME_TYPES = {
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "odp": "application/vnd.oasis.opendocument.presentation",
}
MAX_XML_BYTES = 16 << 20


def q(name: str) -> str:
    """Return a name with its namespace as the parser has it."""
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


def package(
    kind: str, body: str, automatic: str = "", common: str = "", masters: str = ""
) -> bytes:
    """Return a document of a body and styles, as a package of OpenDocument."""
    spaces = " ".join(f'xmlns:{name}="{address}"' for name, address in NAMESPACES.items())
    head = f'{XML_HEAD}<office:document-%s {spaces} office:version="1.3">'
    content = (
        f"{head % 'content'}<office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body>{body}</office:body></office:document-content>"
    )
    styles = (
        f"{head % 'styles'}<office:styles>{common}</office:styles>{masters}"
        "</office:document-styles>"
    )
    manifest = (
        f'{XML_HEAD}<manifest:manifest manifest:version="1.3" '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{MIME_TYPES[kind]}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        '<manifest:file-entry manifest:full-path="styles.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in (
            ("mimetype", MIME_TYPES[kind]),
            ("content.xml", content),
            ("styles.xml", styles),
            ("META-INF/manifest.xml", manifest),
        ):
            entry = zipfile.ZipInfo(name, (2026, 3, 2, 9, 0, 0))
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            package.writestr(entry, text, method)
    return file.getvalue()


class Document:
    """A package that is read: its content, and the properties of its styles."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            self.content = _parsed(package, "content.xml")
            self.common = _parsed(package, "styles.xml")
            self.settings = (
                _parsed(package, "settings.xml") if "settings.xml" in package.namelist() else None
            )
            self.objects = {
                name.removesuffix("/content.xml"): _parsed(package, name)
                for name in package.namelist()
                if name.startswith("Object ") and name.endswith("/content.xml")
            }
        self.styles: dict[tuple[str, str], Element] = {}
        for root in (self.common, self.content):
            for style in root.iter(q("style:style")):
                key = style.get(q("style:family"), ""), style.get(q("style:name"), "")
                self.styles[key] = style

    @property
    def body(self) -> Element:
        """The element of the document's kind."""
        body = self.content.find(q("office:body"))
        if body is None or not len(body):
            raise ValueError("a document without a body")
        return body[0]

    def properties(self, family: str, name: str | None) -> dict[str, str]:
        """Return the properties of a style and of its parent styles, by attribute name."""
        chain: list[Element] = []
        while name and (style := self.styles.get((family, name))) is not None:
            if style in chain:
                break
            chain.append(style)
            name = style.get(q("style:parent-style-name"))
        values: dict[str, str] = {}
        for style in reversed(chain):
            data_style = style.get(q("style:data-style-name"))
            if data_style:
                values["data-style"] = data_style
            for group in style:
                if group.tag.endswith("-properties"):
                    values |= {local_name(key): value for key, value in group.attrib.items()}
        return values

    def named_style(self, family: str, name: str | None) -> str:
        """Return the style that people see: the nearest one that is not automatic."""
        automatic = self.content.find(q("office:automatic-styles"))
        while name and automatic is not None:
            style = self.styles.get((family, name))
            if style is None or style not in [*automatic]:
                break
            name = style.get(q("style:parent-style-name"))
        return decoded(name or "")


def _parsed(package: zipfile.ZipFile, name: str) -> Element:
    with package.open(name) as file:
        return ElementTree.fromstring(file.read(MAX_XML_BYTES))


def local_name(tag: str) -> str:
    """Return a name without its namespace."""
    return tag.rpartition("}")[2]


def decoded(name: str) -> str:
    """Return a style's name as people see it: "Heading_20_1" is "Heading 1"."""
    return re.sub(r"_([0-9a-f]{2})_", lambda match: chr(int(match[1], 16)), name)


def text_of(element: Element) -> str:
    """Return the text of a paragraph, with its spaces, tabs and line breaks."""
    return "".join(text for text, _ in pieces(element, ""))


def pieces(element: Element, style: str) -> Iterator[tuple[str, str]]:
    """Yield texts of a paragraph, each with the name of its style."""
    if element.text:
        yield element.text, style
    for child in element:
        match local_name(child.tag):
            case "s":
                yield " " * int(child.get(q("text:c"), "1")), style
            case "tab":
                yield "\t", style
            case "line-break":
                yield "\n", style
            case "span":
                yield from pieces(child, child.get(q("text:style-name"), style))
            case "annotation" | "note" | "frame":
                pass
            case _:
                yield from pieces(child, style)
        if child.tail:
            yield child.tail, style


def encoded(style: str) -> str:
    """Return a style's name as documents have it."""
    return style.replace(" ", "_20_")


def escaped(text: str) -> str:
    """Return a text as a paragraph has it."""
    return escape(text).replace("\t", "<text:tab/>").replace("\n", "<text:line-break/>")


FONT = 'style:font-name="Liberation Sans" fo:font-family="Liberation Sans"'
