"""Nothing that an agent does in JupyterLab is executed, or leaves the folder of its episode."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.jupyterlab.folder import notebook
from benchmarks.worlds.jupyterlab.lab import Lab
from tests.support.browser import need_browser
from tests.support.lab import LabClient, need_lab

NOTEBOOK = {"type": "notebook", "format": "json", "content": json.loads(notebook(["import os"]))}
TEXT = {"type": "file", "format": "text", "content": "not yours"}
EXECUTING = {
    "a kernel by its name": ("POST", "/api/kernels", {"name": "python3"}),
    "a kernel without a name": ("POST", "/api/kernels", {}),
    "a session with a kernel": (
        "POST",
        "/api/sessions",
        {"path": "a.ipynb", "name": "", "type": "notebook", "kernel": {"name": "python3"}},
    ),
    "a kernel that is restarted": ("POST", "/api/kernels/0/restart", {}),
    "a channel of a kernel": ("GET", "/api/kernels/0/channels", None),
    "a terminal": ("POST", "/api/terminals", {}),
    "a terminal's socket": ("GET", "/terminals/websocket/1", None),
    "an extension": (
        "POST",
        "/lab/api/extensions",
        {"cmd": "install", "extension_name": "jupyterlab-git"},
    ),
    "a plugin switched off": (
        "POST",
        "/lab/api/plugins",
        {"cmd": "disable", "plugin_name": "@jupyterlab/apputils-extension:palette"},
    ),
    "a build": ("POST", "/lab/api/build", {}),
    "an export by TeX": ("GET", "/nbconvert/pdf/a.ipynb", None),
    "an export by a browser": ("GET", "/nbconvert/webpdf/a.ipynb", None),
    "an export of a notebook that is sent": ("POST", "/nbconvert/python", NOTEBOOK),
    "a language server": ("GET", "/lsp/ws/pylsp", None),
    "the server's end": ("POST", "/api/shutdown", {}),
    "the server's config": ("PUT", "/api/config/notebook", {"load_extensions": {"x": True}}),
    "a file as a page of its own": ("GET", "/files/notes.md", None),
    "another view of a file": ("GET", "/view/notes.md", None),
    "the licences of all extensions": ("GET", "/lab/api/licenses/", None),
    "what is not there": ("GET", "/lab/api/nothing/", None),
}
LEAVING = {
    "a path with dots": ("GET", "/api/contents/../../../../../etc/passwd", None),
    "a path with coded dots": ("GET", "/api/contents/%2e%2e/%2e%2e/%2e%2e/lab_server.py", None),
    "an absolute path": ("GET", "/api/contents//etc/passwd", None),
    "a drive": ("GET", "/api/contents/C:/windows/win.ini", None),
    "a file written above the root": ("PUT", "/api/contents/..%2Fabove.txt", TEXT),
    "a file renamed out of the root": ("PATCH", "/api/contents/notes.md", {"path": "../out.md"}),
    "a copy of what lies outside": ("POST", "/api/contents/", {"copy_from": "../../../empty"}),
    "a hidden file": ("PUT", "/api/contents/.profile", TEXT),
    "a link's target": ("GET", "/api/contents/link/passwd", None),
    "settings under another name": ("PUT", "/lab/api/settings/..%2F..%2Fx:y", {"raw": "{}"}),
    "a checkpoint with dots": ("POST", "/api/contents/..%2Fx/checkpoints", {}),
    "other extensions' files": ("GET", "/lab/extensions/..%2F..%2F..%2Fetc%2Fpasswd", None),
    "static files' neighbours": ("GET", "/static/lab/..%2F..%2F..%2Fetc%2Fpasswd", None),
}


@pytest.fixture(scope="module")
def lab():
    need_lab()
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def episode(lab):
    episode = lab.new_episode({"notes.md": "mine\n", "a.ipynb": notebook(["import os"])})
    yield episode
    episode.close()


def folder_of(episode):
    return Path(episode.files).parents[2]


def everything(episode):
    """Every file of the run's folder, with its content."""
    return {
        path.relative_to(folder_of(episode)).as_posix(): path.read_bytes()
        for path in folder_of(episode).rglob("*")
        if path.is_file() and "home" not in path.parts
    }


@pytest.mark.parametrize("attempt", [*EXECUTING, *LEAVING])
def test_a_request_that_would_execute_something_or_leave_the_folder_comes_to_nothing(
    lab, episode, attempt
):
    method, path, body = {**EXECUTING, **LEAVING}[attempt]
    client, before = LabClient(episode), everything(episode)
    status, text = client.send(method, path, body)
    assert status >= 400, text[:300]
    assert "root:" not in text
    assert psutil.Process(lab.pid).children(recursive=True) == []
    assert everything(episode) == before
    assert client.send("GET", "/api/kernels") == (200, "[]")
    assert client.send("GET", "/api/sessions") == (200, "[]")


def test_an_episode_s_own_files_can_be_read_written_and_removed(episode):
    client = LabClient(episode)
    assert client.send("GET", "/api/contents/notes.md")[0] == 200
    assert client.send("PUT", "/api/contents/new.md", TEXT)[0] == 201
    assert client.send("DELETE", "/api/contents/notes.md")[0] == 204
    assert set(episode.dump()["files"]) == {"a.ipynb", "new.md"}


def test_nobody_gets_anything_without_the_token_or_with_that_of_another_episode(lab, episode):
    other = lab.new_episode({"secret.md": "another's\n"})
    client = LabClient(episode)
    assert "secret.md" not in client.send("GET", "/api/contents")[1]
    assert client.send("GET", f"/api/contents/..%2F..%2F{Path(other.files).parent.name}")[0] == 404
    other.close()
    assert LabClient(other).send("GET", "/api/contents")[0] == 403
    for cookies in ({}, {"episode": "0" * 32}, {"episode": "../empty"}):
        client.cookies = cookies
        assert client.send("GET", "/api/contents")[0] == 403, cookies


def test_another_page_or_host_name_gets_nothing(episode):
    client = LabClient(episode)
    assert client.send("GET", "/api/contents", Host="evil.example")[0] >= 400
    assert client.send("PUT", "/api/contents/x.md", TEXT, **{"X-XSRFToken": "0"})[0] == 403
    assert client.send("GET", "/api/contents", Origin="http://evil.example")[0] >= 400


def test_the_server_ends_and_its_folder_goes_when_the_run_is_killed(tmp_path):
    need_lab()
    code = (
        "from benchmarks.worlds.jupyterlab.lab import Lab; lab = Lab(); lab.new_episode({});"
        "print(lab.pid, lab.folder, flush=True); input()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pid, folder = run.stdout.readline().split()
    server = psutil.Process(int(pid))
    assert Path(folder).is_dir()
    run.kill()
    run.communicate()
    psutil.wait_procs([server], timeout=20)
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    assert not Path(folder).exists()


def test_a_notebook_s_cells_that_are_run_and_scripts_that_are_trusted_do_nothing(tmp_path):
    need_lab()
    need_browser()
    from benchmarks.worlds.jupyterlab.suite import open_world
    from tests.support.lab_oracle import LabOracle

    executed = tmp_path / "executed.txt"
    script = "<script>fetch('/api/kernels', {method: 'POST', body: '{}'})</script>"
    trusted = json.loads(notebook([f"open({str(executed)!r}, 'w')", f"*{script}"]))
    trusted["cells"][0]["outputs"] = [
        {"output_type": "display_data", "data": {"text/html": script}, "metadata": {}}
    ]
    world = open_world(tmp_path)
    try:
        files = {"a.ipynb": json.dumps(trusted)}
        world.reset({"apps": ["jupyterlab"], "files": files, "open": "a.ipynb"})
        oracle = LabOracle(world)
        oracle.play([["click.button", "No Kernel"], ["menu", "Run", "Run All Cells"]])
        world.step(Action("key", keys=("ctrl", "shift", "c")))
        world.step(Action("type", text="trust notebook"))
        world.step(Action("key", keys=("enter",)))
        world.step(Action("key", keys=("enter",)))
        assert psutil.Process(world.lab.pid).children(recursive=True) == []
        assert not executed.exists()
    finally:
        world.close()


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_temporary_files_of_a_lab_end_with_it(how):
    need_lab()
    lab = Lab()
    try:
        LabClient(lab.new_episode({"notes.md": "mine"}))
        server = psutil.Process(lab.pid)
        assert Path(server.environ()["TMPDIR"]).is_relative_to(lab.folder)
        assert [*lab.folder.glob("tmp/*")]  # what JupyterLab left in /tmp before
        if how == "killed":
            server.kill()
    finally:
        lab.close()
    assert not lab.folder.exists()
