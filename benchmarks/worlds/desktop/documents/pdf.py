"""Write PDF files of a few lines, and read how many pages one has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

PAGE_WH = (595, 842)  # points: A4
SIZE, LINE = 14, 24  # of the letters, and from one line to the next


def write_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF of pages with lines of ASCII text."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    width, height = PAGE_WH
    for number, lines in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        shown = " T* ".join(f"({escaped(line)}) Tj" for line in lines)
        stream = f"BT /F1 {SIZE} Tf {LINE} TL 60 {height - 80} Td {shown} ET"
        objects.append(f"<< /Length {len(stream)} >> stream\n{stream}\nendstream")
    text, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(text))
        text += f"{number} 0 obj {content} endobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n"
    return f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def escaped(line: str) -> str:
    """Return a line as a text of a PDF has it."""
    return re.sub(r"([()\\])", r"\\\1", line)


def read_pdf(content: bytes) -> dict[str, Any]:
    """Return the number of pages of a PDF.

    Raises:
        ValueError: the content is no PDF.
    """
    if not content.startswith(b"%PDF-"):
        raise ValueError("no PDF")
    return {"pages": len(re.findall(rb"/Type\s*/Page\b(?!s)", content))}
