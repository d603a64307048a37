"""The JupyterLab of a run: starts its server, and makes and reads the folders of episodes."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from utils.contracts import WorldError

SERVER = Path(__file__).parent / "lab_server.py"
SETTINGS = SERVER.with_name("settings.json")
OLD = 1772442000  # when the files of a task were last changed: Monday, 2 March 2026, 09:00 UTC
CHECKPOINTS = ".ipynb_checkpoints"
Files = dict[str, str]  # text by path; a folder has a slash at its end, and no text
State = dict[str, Files]  # "files" and "settings"


def lab_problems() -> list[str]:
    """All that is missing to start JupyterLab, with the command that installs it."""
    if find_spec("jupyterlab") is None:
        return ["JupyterLab is not installed; pip install -r requirements/jupyterlab.txt"]
    return []


class Lab:
    """A server on loopback in a process of its own, which ends with this one."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="jupyterlab-"))
        home = str(self.folder / "home")
        temporary = self.folder / "tmp"
        temporary.mkdir()
        paths = {"HOME": home, "IPYTHONDIR": home, "TMPDIR": str(temporary)}
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(SERVER), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "JUPYTER_NO_CONFIG": "1", **paths},
            start_new_session=True,  # Ctrl+C is for the run, which ends it in order
            text=True,
        )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        port, _, schemas = self._process.stdout.readline().strip().partition(" ")
        self._schemas = Path(schemas)
        if not port.isdecimal():
            self.close()
            raise WorldError("JupyterLab did not start; try: jupyter lab --no-browser", "")
        self.url = f"http://127.0.0.1:{port}/"

    def new_episode(self, files: Mapping[str, str]) -> LabEpisode:
        """Make the folder of an episode with the files of a task."""
        folder = self.folder / "episodes" / secrets.token_hex(16)
        return LabEpisode(self.url, folder, files, self._schemas)

    def close(self) -> None:
        """End the server, which deletes its folder."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=10)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class LabEpisode:
    """The folder of one episode, and the address that shows it."""

    def __init__(self, url: str, folder: Path, files: Mapping[str, str], schemas: Path) -> None:
        self._url = url
        self._schemas = schemas
        self._folder = folder
        self.files = root = folder / "files"
        root.mkdir(parents=True)
        for path, text in files.items():
            target = root / path
            if path.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode())
        for target in [root, *root.rglob("*")]:
            os.utime(target, (OLD, OLD))
        self.before = self.dump()

    def address(self, path: str = "") -> str:
        """Return the address that opens JupyterLab, with a file or folder open in it."""
        tree = f"/tree/{path}" if path else ""
        return f"{self._url}lab/workspaces/desk{tree}?token={self._folder.name}"

    def dump(self) -> State:
        """Return all files and settings as they are now."""
        settings = _texts(self._folder / "settings").items()
        changed = {path: _changed(path, text, self._schemas) for path, text in settings}
        return {"files": _texts(self.files), "settings": changed}

    def close(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _changed(path: str, text: str, schemas: Path) -> str:
    """Return the settings in a text that are not what they are anyway, as JSON.

    The settings editor writes all of a plugin, with a toolbar's buttons that come from elsewhere.
    """
    import json5

    if path.endswith("/"):
        return ""
    name = path.removesuffix(".jupyterlab-settings")
    schema = json.loads((schemas / f"{name}.json").read_text(encoding="utf-8"))
    defaults = {key: entry.get("default") for key, entry in schema.get("properties", {}).items()}
    overrides = json.loads(SETTINGS.read_text(encoding="utf-8"))
    defaults |= overrides.get(":".join(name.rsplit("/", 1)), {})
    values = json5.loads(text) if text.strip() else {}
    return json.dumps(
        {
            key: value
            for key, value in values.items()
            if key != "toolbar" and value != defaults.get(key)
        }
    )


def _texts(root: Path) -> Files:
    texts: Files = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if CHECKPOINTS in relative.parts:
            continue
        if path.is_dir():
            texts[f"{relative.as_posix()}/"] = ""
        else:
            texts[relative.as_posix()] = path.read_bytes().decode(errors="replace")
    return texts
