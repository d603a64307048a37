"""JupyterLab on loopback, in a process of its own: a folder for each episode, nothing is executed.

    python -I lab_server.py FOLDER

It prints its port and the folder with the schemas of settings, and ends with its standard input: a
run that was killed leaves no server. The folder is deleted then. An episode is a subfolder of
`FOLDER/episodes`, whose name is its token:

    files/        what JupyterLab shows as its root
    settings/     what the user has set
    workspaces/   which files are open

JupyterLab is what its wheel holds. Two things are ours: every request belongs to the episode whose
token it carries, and requests that are not in `ALLOWED` are refused. There is no kernel and no
terminal: nothing in the list starts one, and what would start one refuses too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.base.call_context import CallContext
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyterlab.labapp import LabApp  # type: ignore[import-untyped]
from jupyterlab_server.licenses_handler import LicensesHandler
from jupyterlab_server.settings_handler import SettingsHandler
from jupyterlab_server.workspaces_handler import WorkspacesHandler, WorkspacesManager
from tornado.web import HTTPError, RequestHandler
from traitlets.config import Config

NOW = datetime(2026, 3, 9, 9, tzinfo=UTC)  # of the office; what was saved since then was saved now
COOKIE = "episode"
SETTINGS = Path(__file__).with_name("settings.json")  # what differs from JupyterLab's own
ALLOWED = {
    "GET": r"/(lab|lab/(tree|workspaces)/.*|static/.*|lab/extensions/.*|favicon.ico"
    r"|lab/api/(settings|workspaces|themes|translations)(/.*)?"
    r"|api/(me|kernelspecs|kernels|sessions|events/subscribe)|api/contents(/.*)?)",
    "POST": r"/api/contents(/.*)?",
    "PUT": r"/(api/contents|lab/api/settings|lab/api/workspaces)/.*",
    "PATCH": r"/api/contents/.*",
    "DELETE": r"/(api/contents|lab/api/workspaces)/.*",
}
"""Paths of the requests that are answered, by method: what a JupyterLab without kernels needs."""


class Episodes(IdentityProvider):
    """Who sends a request: the episode whose token it carries, as a cookie after the first."""

    def get_user(self, handler: RequestHandler) -> User | None:
        """Return the episode; refuse what is not allowed to anybody."""
        path = handler.request.path
        if not re.fullmatch(ALLOWED.get(handler.request.method or "", ""), path):
            raise HTTPError(403)
        token = handler.get_query_argument("token", "")
        if token:
            handler.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
        token = token or handler.get_cookie(COOKIE, "") or ""
        is_known = token.isalnum() and (EPISODES / token).is_dir()
        return User(username=token, name="Robin Hale", initials="RH") if is_known else None


def folder_of(handler: Any, name: str) -> Path:
    """Return a folder of the episode that a request belongs to; without one an empty folder."""
    if handler is None or handler.current_user is None:
        return FOLDER / "empty"
    return EPISODES / str(handler.current_user.username) / name


class EpisodeFiles(AsyncFileContentsManager):
    """The files of the episode that the present request belongs to."""

    root_dir = property(  # type: ignore[assignment]
        lambda self: str(folder_of(CallContext.get(CallContext.JUPYTER_HANDLER), "files"))
    )
    preferred_dir = ""  # type: ignore[assignment]

    def _base_model(self, path: str) -> dict[str, Any]:
        """The facts on a file; its times lie not after the page's clock."""
        model: dict[str, Any] = super()._base_model(path)  # type: ignore[no-untyped-call]
        for name in ("created", "last_modified"):
            model[name] = min(model[name], NOW)
        return model


class NoKernels(AsyncMappingKernelManager):
    """Starts nothing."""

    async def _async_start_kernel(self, **kwargs: Any) -> str:  # type: ignore[override]
        raise HTTPError(403, "There are no kernels here.")

    start_kernel = _async_start_kernel  # type: ignore[assignment]


class EpisodeSettings(SettingsHandler):
    """The settings of an episode."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Find the episode's folder."""
        await super().prepare()
        self.settings_dir = str(folder_of(self, "settings"))


class EpisodeWorkspaces(WorkspacesHandler):
    """The workspaces of an episode."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Find the episode's folder."""
        await super().prepare()
        self.manager = WorkspacesManager(str(folder_of(self, "workspaces")))


class Server(ServerApp):
    """A server without the services that nobody may use."""

    default_services = (  # type: ignore[assignment]
        "api",
        "auth",
        "config",
        "contents",
        "kernels",
        "kernelspecs",
        "sessions",
        "events",
    )


class EpisodeLab(LabApp):  # type: ignore[misc]
    """JupyterLab with settings and workspaces for each episode, and no other extension."""

    serverapp_class = Server
    schemas_folder = ""
    load_other_extensions = False

    def initialize_handlers(self) -> None:
        """Put the handlers of episodes in the place of the common ones."""
        super().initialize_handlers()
        type(self).schemas_folder = self.schemas_dir
        of_episodes = {SettingsHandler: EpisodeSettings, WorkspacesHandler: EpisodeWorkspaces}
        self.handlers[:] = [
            (pattern, of_episodes.get(handler, handler), *rest)
            for pattern, handler, *rest in self.handlers
            if handler is not LicensesHandler  # it answers nobody, not even that he may not
        ]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """The extensions that this module adds to a server; its name is Jupyter's."""
    return [{"module": "__main__", "app": EpisodeLab}]


def config() -> Config:
    """The settings from JupyterLab's own options."""
    root = FOLDER / "empty"
    app_settings = FOLDER / "app_settings"
    for folder in (EPISODES, root, app_settings):
        folder.mkdir(parents=True)
    (app_settings / "overrides.json").write_text(SETTINGS.read_text())
    return Config(
        {
            "ServerApp": {
                "ip": "127.0.0.1",
                "port": 0,
                "root_dir": str(root),
                "open_browser": False,
                "allow_root": True,
                "quit_button": False,
                "terminals_enabled": False,
                "websocket_ping_interval": 0,
                "log_level": "ERROR",
                "identity_provider_class": Episodes,
                "contents_manager_class": EpisodeFiles,
                "kernel_manager_class": NoKernels,
                "tornado_settings": {
                    "headers": {"Content-Security-Policy": "frame-ancestors http://127.0.0.1:*"}
                },
            },
            "EpisodeFiles": {"delete_to_trash": False, "always_delete_dir": True},
            "KernelSpecManager": {
                "allowed_kernelspecs": {"none"},
                "ensure_native_kernel": False,
            },
            "LabApp": {
                "app_settings_dir": str(app_settings),
                "user_settings_dir": str(FOLDER / "settings"),
                "workspaces_dir": str(FOLDER / "workspaces"),
                "extension_manager": "readonly",
                "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
                "news_url": None,
            },
        }
    )


def end_with_input() -> None:
    """Wait for the end of standard input; delete the folder and end."""
    sys.stdin.buffer.read()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os._exit(0)


def main() -> None:
    """Serve until standard input ends."""
    server = EpisodeLab.initialize_server(argv=[], config=config())
    threading.Thread(target=end_with_input, daemon=True).start()
    # Once it listens:
    server.io_loop.add_callback(print, server.port, EpisodeLab.schemas_folder, flush=True)
    server.start()


FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
EPISODES = FOLDER / "episodes"

if __name__ == "__main__":
    main()
