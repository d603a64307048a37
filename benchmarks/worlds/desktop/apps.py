"""The applications of the desktop: how each is called, started, and recognised."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.worlds.desktop.session import SOFFICE


@dataclass(frozen=True, slots=True)
class Application:
    """An application."""

    title: str  # what people call it, and `open_app` takes
    command: str
    window: str  # a part of its window's title when it has started without a file
    leave: str = "ctrl+q"  # the keys that close it
    endings: tuple[str, ...] = ()  # of the files that it opens

    def title_of(self, path: str) -> str:
        """Return the text that the title of its window contains when it shows a file."""
        name = path.rstrip("/").rpartition("/")[2]
        return f"[{name.rpartition('.')[0]}]" if self.title == "GIMP" else name


APPLICATIONS = {
    "calc": Application("LibreOffice Calc", f"{SOFFICE} --calc", "Calc", endings=(".ods", ".xlsx")),
    "writer": Application(
        "LibreOffice Writer", f"{SOFFICE} --writer", "Writer", endings=(".odt", ".docx")
    ),
    "impress": Application(
        "LibreOffice Impress", f"{SOFFICE} --impress", "Impress", endings=(".odp", ".pptx")
    ),
    "gimp": Application("GIMP", "gimp-2.10 -n --no-splash", "GNU Image", endings=(".xcf",)),
    "files": Application("Files", "thunar", "Thunar", "ctrl+w", ("/",)),
    "editor": Application(
        "Text Editor", "mousepad", "Mousepad", endings=(".txt", ".md", ".csv", ".ini", ".log")
    ),
    "pdf": Application("Document Viewer", "evince", "Recent Documents", "ctrl+w", (".pdf",)),
    "images": Application("Image Viewer", "ristretto", "Image Viewer", endings=(".png", ".jpg")),
    "calculator": Application("Calculator", "galculator", "galculator"),
    "settings": Application("Settings", "xfce4-settings-manager", "Settings", "alt+f4"),
}
"""By the names that tasks have for them."""


def application_of(path: str) -> Application:
    """Return the application that opens a file, or a folder that ends with a slash."""
    return next(app for app in APPLICATIONS.values() if path.endswith(app.endings))


def application_named(text: str) -> Application | None:
    """Return the application of a name or title as a model writes it; None: there is none."""
    wanted = "".join(filter(str.isalnum, text)).casefold()
    for name, app in APPLICATIONS.items():
        title = "".join(filter(str.isalnum, app.title)).casefold()
        if wanted and wanted in (name, title, title.removeprefix("libreoffice")):
            return app
    return None
