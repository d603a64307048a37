"""Files of a public repository on GitHub, fetched one by one; what is there already stays.

`GITHUB_API_URL` and `GITHUB_RAW_URL` name other servers than GitHub's own.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from utils.datasets.hub import AGAIN
from utils.errors import UserError

API, RAW = "https://api.github.com", "https://raw.githubusercontent.com"
LARGE_FILE_POINTER = b"version https://git-lfs"
TIMEOUT_S = 60


def fetch_folder(repository: str, prefix: str, folder: Path) -> str:
    """Bring the files below a folder of a repository into a folder of this machine.

    Args:
        repository: "owner/name".
        prefix: the folder in the repository, with a slash at its end.

    Returns:
        The commit that they are of.

    Raises:
        UserError: GitHub is not reached or refuses, or the files are not in the repository itself.
    """
    base = f"{_address('GITHUB_API_URL', API)}/repos/{repository}"
    commit = str(_json(f"{base}/commits/HEAD")["sha"])
    entries = _json(f"{base}/git/trees/{commit}?recursive=1")["tree"]
    checksums = {
        entry["path"]: entry["sha"]
        for entry in entries
        if entry["type"] == "blob" and entry["path"].startswith(prefix)
    }
    if not checksums:
        raise UserError(f"{repository} has no folder {prefix} any more; see its page on GitHub")
    for path, checksum in checksums.items():
        target = folder / path.removeprefix(prefix)
        if target.is_file() and _checksum(target.read_bytes()) == checksum:
            continue
        raw = f"{_address('GITHUB_RAW_URL', RAW)}/{repository}/{commit}/{path}"
        content = _content(urllib.parse.quote(raw, safe=":/"))
        if content.startswith(LARGE_FILE_POINTER):
            raise UserError(f"{repository}: {path} is stored in Git LFS; clone it with git lfs")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        part.write_bytes(content)
        part.replace(target)
    return commit


def _checksum(content: bytes) -> str:
    """The checksum of a file's content in git's trees."""
    blob = b"blob %d\0" % len(content) + content
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest()


def _address(variable: str, usual: str) -> str:
    return (os.environ.get(variable) or usual).rstrip("/")


def _json(address: str) -> Any:
    with _plain_errors(address):
        return json.loads(_content(address))


def _content(address: str) -> bytes:
    with _plain_errors(address), urllib.request.urlopen(address, timeout=TIMEOUT_S) as response:
        content: bytes = response.read()
        return content


@contextmanager
def _plain_errors(address: str) -> Iterator[None]:
    """Make one message for people of what urllib raises."""
    try:
        yield
    except urllib.error.HTTPError as refused:
        limit = " (GitHub answers so after 60 requests an hour)" if refused.code == 403 else ""
        raise UserError(f"{address}: HTTP {refused.code}{limit}. {AGAIN}") from refused
    except (OSError, ValueError, http.client.HTTPException) as failed:
        raise UserError(
            f"{address}: {type(failed).__name__}: {failed}. Check network and proxy. {AGAIN}"
        ) from failed
