"""What `make docs` adds to the pages of docs/: the script that lets search run, and other pages."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

PROJECT = Path(__file__).resolve().parent.parent
# A browser starts no worker from disk. This script (MIT, by the author of the theme) runs the
# search in a frame there. The theme would load it from the network.
SHIM = PROJECT / "node_modules" / "iframe-worker"
SHIM_FILES = {"shim/index.js": "iframe-worker.js", "LICENSE": "iframe-worker.LICENSE.txt"}
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tools/README.md": "tools/README.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files that lie outside docs/."""
    for source, name in SHIM_FILES.items():
        path = SHIM / source
        if not path.is_file():
            raise PluginError(f"{path} is missing; `make docs` installs it (package.json)")
        address = f"assets/javascripts/{name}"
        files.append(File.generated(config, address, abs_src_path=str(path)))
    for source, address in PAGES.items():
        text = (PROJECT / source).read_text(encoding="utf-8")
        text = re.sub(r"\]\((\.\./)?docs/", r"](\1", text)
        files.append(File.generated(config, address, content=text))
    return files


def on_page_content(html: str, **_: object) -> str:
    """Makes the empty corner of a table a cell: it is the head of nothing."""
    return re.sub(r"<th( style=[^>]*)?></th>", r"<td\1></td>", html)


def on_post_page(output: str, **_: object) -> str:
    """Gives the dialog of the search a name."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
