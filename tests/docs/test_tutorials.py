"""The tutorials do what they say: each of their blocks is saved or run, in order, in one folder.

A block with a title is a file. A block of bash is run, and each line of the text block behind it has
to be in its output. A command that ends in `&` stays in the background until the page is over.
"""

import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.runs import PROJECT

TUTORIALS = PROJECT / "docs" / "tutorials"
OF_A_CLONE = (
    "evaluate.py",
    "compare.py",
    "benchmarks",
    "models",
    "utils",
    "sample_data",
    "configs",
)
PAGES = ("own_model.md", "own_benchmark.md", "two_servers.md", "first_score.md", "notebook.md")
"""The three that take seconds come first: they are of the fast tier."""
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USUAL_PORTS = ("8765", "8767", "8768")


def blocks_of(page):
    return BLOCK.findall((TUTORIALS / page).read_text(encoding="utf-8"))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def stopped(process):
    process.kill()
    process.wait()


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_does_what_it_says(page, tmp_path):
    for name in OF_A_CLONE:
        (tmp_path / name).symlink_to(PROJECT / name)
    ports = {port: free_port() for port in USUAL_PORTS}
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LMUData", "EVAL_WORK_DIR", "IMAGE_ROOT_DIR")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    environment = {**variables, "PATH": path}
    output = ""
    with ExitStack() as background:
        for kind, title, content in blocks_of(page):
            for usual, port in ports.items():
                content = content.replace(usual, port)
            if title:
                (tmp_path / title).write_text(content, encoding="utf-8")
            elif kind == "bash" and content.endswith("&\n"):
                command = content.removesuffix("&\n").split()
                process = subprocess.Popen(command, cwd=tmp_path, env=environment)
                background.callback(stopped, process)
            elif kind == "bash":
                finished = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", content],
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=300,
                )
                output = finished.stdout
                assert finished.returncode in (0, 1), output  # 1: a part failed, as a page may show
            elif kind == "text":
                for line in content.splitlines():
                    assert line in output, f"{line!r} is not in\n{output}"
            else:
                pytest.fail(
                    f"{page}: a block of {kind} without a title is neither file nor command"
                )


def test_each_tutorial_is_run_here_and_reached_from_the_readme():
    names = {path.name for path in TUTORIALS.glob("*.md")}
    linked = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert {name for name in names if f"tutorials/{name}" in linked} == names == {*PAGES}
