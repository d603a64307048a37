"""Run programs of the desktop's root in a sandbox of namespaces (bubblewrap, from that root).

A program in it sees the root, read-only, and what it is given besides; no network, no process, no
file of the host. Nothing of the host's environment reaches it, and the host's paths stand in no
command line. It runs under the filter of `seccomp` and with limits on memory, files and processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from benchmarks.worlds.desktop import seccomp
from benchmarks.worlds.desktop.processes import children, name_of
from utils.contracts import WorldError

LOADER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
BWRAP = [LOADER, "--library-path", "usr/lib/x86_64-linux-gnu", "usr/bin/bwrap"]
"""By its own loader and libraries: nothing needs to be installed on the host."""
NOBODY = 65534  # whom programs run as where the run is root
MB = 1 << 20
NEW_USER_NAMESPACE = """import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
    sys.exit("unshare: " + os.strerror(ctypes.get_errno()))
"""
LOG = "tmp/log"
PREPARE = f"""ulimit -c 0
ulimit -f 262144
ulimit -v 4194304
ulimit -p 400
echo 1000 > /proc/self/oom_score_adj
exec > /{LOG} 2>&1
"""
"""No core files; 128 MB a file (in blocks of 512), 4 GiB of addresses, 400 processes; the first to
go where memory is short. What programs write lies inside: it takes no room of the host."""
ISOLATED = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"),
    *("--cap-drop", "ALL"),
)
SESSION_ID = ("--uid", "1000", "--gid", "1000", "--hostname", "desktop")


def maker_command(command: Sequence[str]) -> list[str]:
    """Return the command that runs a program in a root that is being made, and is writable.

    Start the command with the root as its working directory.
    """
    places = ("--bind", ".", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    names = ("--setenv", "PATH", "/usr/bin:/usr/sbin", "--setenv", "HOME", "/tmp")
    return [*BWRAP, "--unshare-all", "--die-with-parent", *places, *names, "--", *command]


def trial_command() -> list[str]:
    """Return a command that does nothing in a sandbox; where it fails, no world can be started."""
    places = ("--ro-bind", ".", "/", "--dev", "/dev", "--proc", "/proc")
    return [*BWRAP, *ISOLATED, *places, "--", "true"]


def refused_namespaces() -> str:
    """Try to make a user namespace, without a root; return the error, or "" without one.

    Where one can be made, a sandbox may fail nevertheless: some machines allow nothing in it.
    """
    command = [sys.executable, "-I", "-S", "-c", NEW_USER_NAMESPACE]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stderr.strip() if result.returncode else ""


def _common() -> list[str]:
    """Return the arguments that every sandbox of a world has."""
    links = [
        ("usr/bin", "/bin"),
        ("usr/lib", "/lib"),
        ("usr/lib64", "/lib64"),
        ("usr/sbin", "/sbin"),
    ]
    return [
        *(*ISOLATED, "--new-session", "--clearenv", *SESSION_ID),
        *("--ro-bind", "usr", "/usr", "--ro-bind", "etc", "/etc", "--ro-bind", "var", "/var"),
        *(part for target, link in links for part in ("--symlink", target, link)),
        *("--dev", "/dev", *_tmpfs("/dev/shm", 64), "--remount-ro", "/dev", "--proc", "/proc"),
        *(*_tmpfs("/tmp", 256), *_tmpfs("/run", 64), "--dir", "/run/user"),
    ]


def _tmpfs(path: str, size_mb: int) -> list[str]:
    return ["--size", str(size_mb * MB), "--tmpfs", path]


def bound(path: str, source: Path, *, writable: bool = False) -> list[str]:
    """Return the arguments by which a folder of the host is seen in a sandbox."""
    return ["--bind" if writable else "--ro-bind", str(source), path]


def private(path: str, size_mb: int) -> list[str]:
    """Return the arguments for a folder in memory of that size, writable, and gone at the end."""
    return _tmpfs(path, size_mb)


class Sandbox:
    """A running sandbox, which ends with the thread that has started it."""

    def __init__(
        self,
        root: Path,
        places: Sequence[str],
        variables: Mapping[str, str],
        script: str,
    ) -> None:
        """Start a shell in it.

        Args:
            root: the unpacked packages.
            places: what it sees besides (`bound`, `private`).
            variables: its environment.
            script: what the shell does; its standard input is `send`.
        """
        named = [part for name, value in variables.items() for part in ("--setenv", name, value)]
        with _handed(seccomp.program()) as filter_file:
            arguments = [*_common(), *places, *named, "--seccomp", str(filter_file.fileno())]
            with _handed("\0".join([*arguments, "--remount-ro", "/"]).encode()) as argument_file:
                self._process = subprocess.Popen(
                    [
                        *(*BWRAP, "--args", str(argument_file.fileno()), "--"),
                        *("sh", "-c", f"{PREPARE}{script}"),
                    ],
                    cwd=root,
                    env={},  # which pid 1 of the sandbox would show to all in it
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,  # of a fixed size, whoever writes to it
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl+C is for the run, which ends it in order
                    pass_fds=(filter_file.fileno(), argument_file.fileno()),
                    **identity(),
                )
        self._inside: Path | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def send(self, line: str) -> None:
        """Write a line to the standard input of the script.

        Raises:
            WorldError: it has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise WorldError("a sandbox has ended", self.output()) from None

    def output(self) -> str:
        """Return the last of what its programs have written, for error messages."""
        texts = []
        if not self.is_running and self._process.stdout is not None:
            os.set_blocking(self._process.stdout.fileno(), False)
            texts.append((self._process.stdout.read() or b"").decode(errors="replace"))
        inside = self.inside()
        if inside is not None:
            with suppress(OSError):
                log = os.open(inside / LOG, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with os.fdopen(log, "rb") as file:
                    texts.append(file.read(MB)[-2000:].decode(errors="replace"))
        return "\n".join(texts)

    def pids(self) -> list[int]:
        """Return the processes of the sandbox, as the host numbers them."""
        found, todo = [], [self._process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children(pid)
        return found

    def inside(self) -> Path | None:
        """Return the sandbox's root folder as this process sees it; None: it is not there yet.

        Whoever reads there must follow no link: it would lead into the host.
        """
        if self._inside is None:
            for pid in self.pids()[1:]:
                if name_of(pid) in ("sh", "Xvfb"):
                    self._inside = Path(f"/proc/{pid}/root")
                    break  # further ones are forks of it that end
        return self._inside

    def end(self) -> None:
        """Kill all of it; return when it is gone."""
        pids = self.pids()
        self._process.kill()
        for pid in pids[1:]:  # the sandbox's first process takes the others along
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def identity() -> dict[str, Any]:
    """Whom a sandbox is run as: nobody, where the run is root and can be somebody else."""
    if not can_be_nobody():
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def can_be_nobody() -> bool:
    """Whether the run is root, and not only root of a namespace in which it is alone."""
    if os.geteuid():
        return False
    for name in ("uid_map", "gid_map"):
        lines = Path(f"/proc/self/{name}").read_text(encoding="ascii").splitlines()
        ranges = [[int(number) for number in line.split()] for line in lines]
        if not any(first <= NOBODY < first + count for first, _, count in ranges):
            return False
    return True


def give_to_sandbox(folder: Path) -> None:
    """Have a folder belong to whom the sandboxes run as."""
    if can_be_nobody():
        os.chown(folder, NOBODY, NOBODY)


def _handed(content: bytes) -> IO[bytes]:
    """Return a file without a name that a child can read from its beginning."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who takes it
    file.write(content)
    file.flush()
    file.seek(0)
    return file
