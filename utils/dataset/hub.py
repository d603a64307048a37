"""Files of a data set on the Hugging Face hub: ask what is there, fetch it, go on where it stopped.

Addresses, headers (with the token), metadata and errors are huggingface_hub's, so that HF_ENDPOINT,
HF_TOKEN, HF_HUB_OFFLINE and proxies work as they do there. The bytes are read here: since its
release 1.x that library writes to a temporary file of a random name and deletes it on failure, so a
download of some gigabytes that breaks off would start again from nothing.

Every error is one UserError with a message for people. The library is imported on first use.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from utils.errors import UserError

# Seconds before each new attempt at a broken transfer. The first costs nothing (most breaks are a
# closed connection), and any attempt that brought data starts the row again.
RETRY_WAITS_S = (0, 1, 2, 4, 8)
DEFAULT_REVISION = "main"


@dataclass(frozen=True)
class Remote:
    """A file as the hub has it now.

    Attributes:
        etag: SHA-256 for large files, the git object id for small ones, else something opaque.
        size: in bytes, None if the hub does not say.
    """

    name: str
    commit: str
    etag: str
    size: int | None

    def part_in(self, folder: Path) -> Path:
        """Where the transfer of exactly this content lies: another content, another name."""
        tag = hashlib.sha256(self.etag.encode()).hexdigest()[:16]
        return folder / f"{tag}-{self.name}"


class Unreachable(UserError):
    """There is no way to the hub, now or on this machine; nothing is said about the file."""


class Hub:
    """One data set repository at one revision.

    The first answer pins the commit, so that all files of a run come from the same state.
    """

    def __init__(self, repo_id: str, revision: str) -> None:
        self.repo_id = repo_id
        self.revision = revision
        self._commit: str | None = None

    def ask(self, name: str) -> Remote:
        """Ask for commit, size and sum of a file; transfers nothing.

        Raises:
            UserError: the hub cannot be reached, refuses, or has no such file.
        """
        with self._told_in_one_message(name):
            from huggingface_hub import get_hf_file_metadata

            found = get_hf_file_metadata(self._url(name))
        if found.commit_hash is None or found.etag is None:
            raise UserError(
                f"{endpoint()} does not answer like a Hugging Face hub (no commit or no ETag for"
                f" {name}). If HF_ENDPOINT is set, check it; else a proxy may be in between."
            )
        self._commit = self._commit or found.commit_hash
        return Remote(name, found.commit_hash, found.etag, found.size)

    def fetch(self, remote: Remote, folder: Path, on_bytes: Callable[[int], None]) -> Path:
        """Bring a file into a folder, going on with what an earlier run left there.

        Args:
            remote: what `ask` returned.
            folder: holds the parts; the complete file lies there too, under `remote.part_in`.
            on_bytes: told how many bytes have come, those of earlier runs first; negative if they
                have to be fetched again.

        Raises:
            UserError: the transfer broke off and could not be taken up again.
            OSError: the disk is full or the folder cannot be written.
        """
        complete = remote.part_in(folder)
        if complete.is_file():
            on_bytes(complete.stat().st_size)
            return complete
        folder.mkdir(parents=True, exist_ok=True)
        part = complete.with_name(complete.name + ".part")
        start = part.stat().st_size if part.exists() else 0
        if remote.size is None or start > remote.size:
            part.unlink(missing_ok=True)  # nothing tells whether these bytes are the right ones
            start = 0
        on_bytes(start)
        with self._told_in_one_message(remote.name):
            self._read_on(remote, part, on_bytes)
        part.replace(complete)
        return complete

    def _read_on(self, remote: Remote, part: Path, on_bytes: Callable[[int], None]) -> None:
        errors = _errors()
        failures = 0
        part.touch()
        while True:
            start = part.stat().st_size
            problem: Exception | None = None
            if start != remote.size:
                try:
                    self._stream(remote, part, start, on_bytes)
                except errors.HfHubHTTPError as refused:
                    if refused.response.status_code not in (408, 429, 500, 502, 503, 504):
                        raise
                    problem = refused
                except errors.HTTPError as broken:
                    problem = broken
            came = part.stat().st_size
            if problem is None and remote.size in (None, came):
                return
            failures = 0 if came > start else failures + 1
            if failures >= len(RETRY_WAITS_S):
                raise problem or UserError(
                    f"{remote.name}: {endpoint()} ends the transfer after {came} of {remote.size}"
                    " bytes. Run the same command again; it goes on from there."
                )
            time.sleep(RETRY_WAITS_S[failures])

    def _stream(
        self, remote: Remote, part: Path, start: int, on_bytes: Callable[[int], None]
    ) -> None:
        from huggingface_hub import constants, utils

        tools: Any = utils  # it re-exports these names without declaring that it does
        # Compressed on the way, a file could not be continued at a byte.
        headers = {**tools.build_hf_headers(), "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        # Always by the hub's own address: it redirects to storage under a link that is good for
        # this attempt, and the client drops the token when the redirect leaves the host.
        with tools.get_session().stream(
            "GET",
            self._url(remote.name),
            headers=headers,
            timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
            follow_redirects=True,
        ) as response:
            if response.status_code == 416:
                on_bytes(-start)
                part.unlink()
                part.touch()
                return
            tools.hf_raise_for_status(response)
            continued = response.status_code == 206 and response.headers.get(
                "Content-Range", ""
            ).startswith(f"bytes {start}-")
            if start and not continued:
                on_bytes(-start)
            # Unbuffered: what has come survives a kill.
            with part.open("ab" if continued else "wb", buffering=0) as sink:
                for chunk in response.iter_bytes():
                    _write_all(sink, chunk)
                    on_bytes(len(chunk))

    def _url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url

        revision = self._commit or self.revision
        return hf_hub_url(self.repo_id, name, repo_type="dataset", revision=revision)

    @contextmanager
    def _told_in_one_message(self, name: str) -> Iterator[None]:
        _check_endpoint()
        errors = _errors()
        try:
            yield
        except errors.HfHubHTTPError as refused:
            raise UserError(self._refusal(refused, name)) from refused
        except errors.OfflineModeIsEnabled as offline:
            raise Unreachable(
                f"{name} has to be fetched, but HF_HUB_OFFLINE is set; unset it, or put the file"
                " into the folder MMBench-GUI of the data root by hand."
            ) from offline
        except errors.HTTPError as unreachable:
            raise Unreachable(
                f"{name}: the connection to {endpoint()} failed"
                f" ({type(unreachable).__name__}: {without_token(str(unreachable))})."
                " Check the network and the proxy settings; HF_ENDPOINT names a mirror."
                " Run the same command again; what has arrived is kept."
            ) from unreachable
        except UnicodeError as odd:
            raise UserError("HF_TOKEN has characters that no token has; copy it anew.") from odd

    def _refusal(self, refused: Any, name: str) -> str:
        errors = _errors()
        status = refused.response.status_code
        where = f"{endpoint()}/datasets/{self.repo_id}"
        token = "the HF_TOKEN that is set" if os.environ.get("HF_TOKEN") else "no HF_TOKEN is set"
        if isinstance(refused, errors.GatedRepoError):
            return (
                f"{where} asks for consent first ({status}). Open it in a browser, accept the"
                f" conditions, then set HF_TOKEN to a token of that account (now: {token})."
            )
        if isinstance(refused, errors.RevisionNotFoundError):
            return f"{where} has no revision {self.revision!r} ({status}); check --revision."
        if isinstance(refused, errors.EntryNotFoundError):
            return (
                f"{where} has no file {name} at revision {self.revision!r} ({status});"
                " check --revision, or look there whether it was renamed."
            )
        if isinstance(refused, errors.RepositoryNotFoundError) or status in (401, 403, 404):
            return (
                f"{where} is not there or not open to you ({status}; {token}). Check HF_ENDPOINT"
                " if it is set, and that HF_TOKEN is right and may read this data set."
            )
        return (
            f"{name}: {endpoint()} answers {status} {refused.response.reason_phrase}. This may"
            " pass; run the same command again later, what has arrived is kept."
        )


def _errors() -> Any:
    # HTTPError, in there, is that of the HTTP client, which changes from release to release.
    try:
        from huggingface_hub import errors
    except ImportError as missing:
        raise UserError(
            f"The package huggingface_hub cannot be imported ({missing});"
            " pip install -r requirements.txt"
        ) from missing
    return errors


def endpoint() -> str:
    """The hub's address as it may be shown: without user name and password."""
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()


def without_token(text: str) -> str:
    """The text with the values of the token variables blotted out."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        secret = os.environ.get(name, "").strip()
        if secret:
            text = text.replace(secret, f"<{name}>")
    return text


def _check_endpoint() -> None:
    # Else a mistyped address surfaces deep in the HTTP client, as an error about a URL.
    given = os.environ.get("HF_ENDPOINT", "")
    try:
        address = urlsplit(given)
        good = address.scheme in ("http", "https") and bool(address.hostname)
        _ = address.port
    except ValueError:
        good = False
    if given and not good:
        raise UserError("HF_ENDPOINT is not an address such as https://huggingface.co")


def _write_all(sink: Any, chunk: bytes) -> None:
    # An unbuffered file may take less than it is given, on a disk that is almost full for example.
    rest = memoryview(chunk)
    while rest:
        rest = rest[sink.write(rest) :]
