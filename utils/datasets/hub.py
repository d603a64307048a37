"""One file of a data set on the Hugging Face hub, fetched so that a broken transfer goes on.

All of it is done by huggingface_hub, so HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and proxies work as
they do there. Its `hf_hub_download` however writes to a file of a random name and removes it on
failure, so a transfer of gigabytes that breaks off would start again from nothing; here the part
has a name that the next run finds.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import UserError

AGAIN = "Run the same command again; fetched files are kept."


@dataclass
class Hub:
    """One data set repository; the first answer pins the commit, so that all files fit together."""

    repo_id: str
    commit: str | None = None

    def fetch(self, name: str, folder: Path) -> Path:
        """Bring a file into a folder, going on with what an earlier run left there.

        UserError: the hub is not reached or refuses; OSError: the folder cannot be written.
        """
        with self.plain_errors(name) as hub:
            metadata = hub.get_hf_file_metadata(self._url(name), endpoint=hub_endpoint())
        if None in (metadata.commit_hash, metadata.etag, metadata.size):
            raise UserError(
                f"{_shown_endpoint()} does not answer like the Hugging Face hub (no commit, ETag "
                f"or size for {name}); check HF_ENDPOINT and the proxy."
            )
        self.commit = self.commit or metadata.commit_hash
        # Another content, another name.
        complete = folder / f"{hashlib.sha256(metadata.etag.encode()).hexdigest()[:16]}-{name}"
        if complete.exists():
            return complete
        part = complete.with_name(f"{complete.name}.part")
        with self.plain_errors(name) as hub, part.open("ab") as sink:
            hub.utils.logging.set_verbosity_error()  # its warnings show addresses with passwords
            # By the hub's own address: it redirects to storage under a link that is good for this
            # attempt, and the client drops the token when the redirect leaves the host.
            hub.file_download.http_get(
                self._url(name),
                sink,
                resume_size=sink.tell(),
                expected_size=metadata.size,
                # Compressed on the way, a file could not be continued at a byte.
                headers={**hub.utils.build_hf_headers(), "Accept-Encoding": "identity"},
                displayed_filename=name,
            )
        _check_sum(part, name, metadata.etag)
        part.replace(complete)
        return complete

    def _url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(
            self.repo_id, name, repo_type="dataset", revision=self.commit, endpoint=hub_endpoint()
        )

    @contextmanager
    def plain_errors(self, name: str) -> Iterator[Any]:
        """Hand out the library; what it raises becomes one message for people."""
        import huggingface_hub as hub
        from huggingface_hub import errors

        try:
            yield hub
        except errors.HfHubHTTPError as refused:
            token = f"{'' if os.environ.get('HF_TOKEN') else 'no '}HF_TOKEN is set"
            what = (
                f"{_shown_endpoint()}/datasets/{self.repo_id} does not give {name} (HTTP "
                f"{refused.response.status_code}, {token})"
            )
            raise UserError(f"{what}; check HF_ENDPOINT and HF_TOKEN. {AGAIN}") from refused
        except errors.OfflineModeIsEnabled as offline:
            raise UserError(f"{name} is missing, and HF_HUB_OFFLINE is set; unset it") from offline
        except OSError:
            raise
        except Exception as failed:  # the client has errors of its own for odd addresses and tokens
            reason = f"{type(failed).__name__}: {failed}"
            if token := os.environ.get("HF_TOKEN", "").strip():
                reason = reason.replace(token, "<HF_TOKEN>")
            what = f"{name}: the connection to {_shown_endpoint()} failed ({reason})"
            raise UserError(
                f"{what}. Check the network, the proxy settings, HF_TOKEN and HF_ENDPOINT (a "
                f"mirror). {AGAIN}"
            ) from failed


def _check_sum(part: Path, name: str, etag: str) -> None:
    """Compare a file with its ETag, which of large files is their SHA-256; remove another one.

    Raises:
        UserError: it is another one.
    """
    if not re.fullmatch("[0-9a-f]{64}", etag):
        return
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != etag:
        part.unlink()
        raise UserError(
            f"{name}: the fetched file is damaged (SHA-256 {digest}, {_shown_endpoint()} says "
            f"{etag}). It was removed; run the same command again to fetch it anew"
        )


def hub_endpoint() -> str:
    """Return the address of the hub, or of the mirror that HF_ENDPOINT names."""
    from huggingface_hub import constants

    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def _shown_endpoint() -> str:
    """Return the hub's address without user name and password."""
    scheme, _, rest = hub_endpoint().rpartition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}"
