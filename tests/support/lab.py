"""JupyterLab for tests: skipped where it is not installed, unless REQUIRE_BROWSER=1."""

from __future__ import annotations

import http.client
import json
import os
from urllib.parse import urlsplit

import pytest

from benchmarks.worlds.jupyterlab.lab import lab_problems


def need_lab() -> None:
    """End the test, skipped or failed, where JupyterLab is missing."""
    problems = lab_problems()
    if problems and os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {problems[0]}")
    if problems:
        pytest.skip(problems[0])


class LabClient:
    """Requests with the cookies of an episode, as its page could send them."""

    def __init__(self, episode) -> None:
        address = urlsplit(episode.address())
        self.netloc, self.token = address.netloc, address.query.removeprefix("token=")
        self.cookies = {"episode": self.token}
        self.send("GET", "/lab")

    def send(self, method, path, body=None, **headers):
        """Return status and text of a reply; redirects are not followed."""
        connection = http.client.HTTPConnection(self.netloc, timeout=20)
        headers = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "X-XSRFToken": self.cookies.get("_xsrf", ""),
            **headers,
        }
        content = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, content, headers)
            reply = connection.getresponse()
            for name, value in reply.getheaders():
                if name == "Set-Cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            return reply.status, reply.read().decode(errors="replace")
        finally:
            connection.close()
