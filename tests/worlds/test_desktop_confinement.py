"""Nothing that runs on the desktop reaches the host, another world, or more than its share.

The attacks are made by a shell and by programs inside: more than any macro, script, dialog or
"Open with" of an application could do.
"""

import errno
import os
import socket
import struct
import time
from pathlib import Path

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.root import root_folder
from benchmarks.worlds.desktop.sandbox import LOG
from benchmarks.worlds.desktop.suite import open_world
from tests.support.desktop import need_desktop
from tests.support.machine_code import program
from utils.contracts import WorldError

TEMPORARY = "/tmp"  # inside
NEW_USER, NEW_MOUNT = 0x10000000, 0x00020000
ADDRESS = struct.pack("<HHI8x", socket.AF_INET, socket.htons(48123), 0x0100007F)
ABSTRACT = b"desktop-confinement"
UNIX = struct.pack("<H", socket.AF_UNIX) + b"\0" + ABSTRACT
REFUSED_CALLS = {
    "a TCP socket": ([(41, socket.AF_INET, 1, 0), (42, 3, ADDRESS, 16)], errno.EAFNOSUPPORT),
    "a UDP socket": ([(41, socket.AF_INET, 2, 0)], errno.EAFNOSUPPORT),
    "an IPv6 socket": ([(41, socket.AF_INET6, 1, 0)], errno.EAFNOSUPPORT),
    "a raw packet socket": ([(41, 17, 3, 0)], errno.EAFNOSUPPORT),
    "a netlink socket": ([(41, 16, 3, 0)], errno.EAFNOSUPPORT),
    "a socket to the machine's host": ([(41, 40, 1, 0)], errno.EAFNOSUPPORT),
    "the kernel's ciphers": ([(41, 38, 5, 0)], errno.EAFNOSUPPORT),
    "an abstract socket of the host": (
        [(41, 1, 1, 0), (42, 3, UNIX, len(UNIX))],
        errno.ECONNREFUSED,
    ),
    "a new user namespace": ([(272, NEW_USER)], errno.EPERM),
    "a process in a new user namespace": ([(56, NEW_USER | 17, 0, 0, 0, 0)], errno.EPERM),
    "a new mount namespace": ([(272, NEW_MOUNT)], errno.EPERM),
    "a process made by clone3": ([(435, bytes(64), 64)], errno.ENOSYS),
    "another namespace": ([(308, 0, 0)], errno.EPERM),
    "a mount": ([(165, b"x\0", b"/tmp\0", b"tmpfs\0", 0, 0)], errno.EPERM),
    "a mount by the new calls": ([(430, b"tmpfs\0", 0)], errno.EPERM),
    "another root": ([(161, b"/tmp\0")], errno.EPERM),
    "tracing": ([(101, 0, 0, 0, 0)], errno.EPERM),
    "another process's memory": ([(310, 1, 0, 0, 0, 0, 0)], errno.EPERM),
    "the kernel's keys": ([(250, 0, 0, 0, 0, 0)], errno.EPERM),
    "a program for the kernel": ([(321, 0, 0, 0)], errno.EPERM),
    "io_uring": ([(425, 8, bytes(120))], errno.EPERM),
    "performance counters": ([(298, bytes(128), 0, -1, -1, 0)], errno.EPERM),
    "page faults": ([(323, 0)], errno.EPERM),
    "a block device": ([(133, TEMPORARY.encode() + b"/disk\0", 0o60600, 254 << 8)], errno.EPERM),
    "a file by its handle": ([(304, -100, bytes(16), 0)], errno.EPERM),
    "keys into a terminal": ([(16, 0, 0x5412, b"x")], errno.EPERM),
    "a kernel module": ([(175, bytes(8), 8, b"\0")], errno.EPERM),
    "another kernel": ([(246, 0, 0, 0, 0)], errno.EPERM),
    "the kernel's log": ([(103, 3, bytes(64), 64)], errno.EPERM),
    "another host name": ([(170, b"x", 1)], errno.EPERM),
    "another time": ([(227, 0, bytes(16))], errno.EPERM),
    "an end of the machine": ([(169, 0xFEE1DEAD, 672274793, 0, 0)], errno.EPERM),
    "root": ([(105, 0)], errno.EINVAL),
    "calls of another table": ([(0x40000000 + 39,)], 128 + 31),
}
"""What is tried, and the error that it ends with."""


class Inside:
    """A shell in a world, for attacks."""

    def __init__(self, world):
        self.world = world
        self.count = 0

    def run(self, command, limit_s=30.0):
        """Return output and exit code of a command; the code is None if it does not end."""
        self.count += 1
        name = f"attack-{self.count}"
        session = self.world.session
        session.launch(
            f"( {command} ) > ~/{name}.txt 2>&1; echo $? > ~/{name}.part; mv ~/{name}.part ~/{name}.code"
        )
        ends_s = time.monotonic() + limit_s
        while time.monotonic() < ends_s:
            files = session.files()
            if f"{name}.code" in files:
                output = files[f"{name}.txt"].decode(errors="replace")
                return output, int(files[f"{name}.code"])
            time.sleep(0.05)
        return "", None


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    need_desktop()
    os.environ["A_SECRET_KEY"] = "sk-of-the-host"
    opened = [open_world(tmp_path_factory.mktemp("shots")) for _ in range(2)]
    for world in opened:
        world.reset({"files": {"Documents/own.txt": "of this world\n"}})
    yield opened
    for world in opened:
        world.close()
    del os.environ["A_SECRET_KEY"]


@pytest.fixture(scope="module")
def inside(worlds):
    return Inside(worlds[0])


@pytest.fixture
def fresh(tmp_path):
    """A world that may be destroyed."""
    need_desktop()
    world = open_world(tmp_path)
    world.reset({"files": {}})
    yield world
    world.close()


@pytest.mark.parametrize("name", REFUSED_CALLS)
def test_a_system_call_that_no_application_needs_is_refused(worlds, inside, name):
    calls, expected = REFUSED_CALLS[name]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(b"\0" + ABSTRACT)
        listener.listen()
        worlds[0].session.add_files({"try": program(calls)})
        _, code = inside.run("chmod +x ~/try; ~/try")
    assert code == expected


def test_the_tiny_programs_do_run_where_nothing_is_refused(worlds, inside):
    worlds[0].session.add_files({"fine": program([(39,), (41, 1, 1, 0)])})
    assert inside.run("chmod +x ~/fine; ~/fine")[1] == 0


def test_no_file_of_the_host_is_there(inside, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("of the host")
    output, _ = inside.run(f"cat {secret}; cat {Path(__file__)}; ls -a / /home /root /srv /mnt")
    assert "of the host" not in output and "No such file" in output
    assert set(output.partition("/home:")[0].split()[-14:]) >= {"usr", "etc", "proc"}
    assert inside.run("ls /home")[0] == "user\n"


@pytest.mark.parametrize(
    "place", ["/", "/usr/", "/etc/", "/var/", "/dev/", "/usr/bin/", "/template/", "/task/"]
)
def test_nothing_but_home_and_temporary_folders_can_be_written(inside, place):
    output, code = inside.run(f"echo x > {place}mine")
    assert code and "mine" in output


@pytest.mark.parametrize("place", ["~", "/tmp", "/run/user", "/dev/shm"])
def test_a_temporary_folder_can_be_written(inside, place):
    assert inside.run(f"echo x > {place}/mine && rm {place}/mine")[1] == 0


def test_only_its_own_processes_are_seen(inside):
    output, _ = inside.run("cat /proc/[0-9]*/comm")
    names = set(output.split())
    assert "xfce4-panel" in names
    assert not names & {"python", "python3", "pytest", "bash", "systemd", "init"}


def test_the_first_process_shows_nothing_of_the_run(inside):
    output, _ = inside.run("cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'")
    assert "sk-of-the-host" not in output and f"HOME=/{HOME}" in output
    output, _ = inside.run("cat /proc/1/cmdline | tr '\\0' ' '")
    assert str(root_folder()) not in output and "bwrap" in output


def test_the_display_of_another_world_and_the_screen_of_its_own_are_out_of_reach(inside):
    assert inside.run("ls /tmp/.X11-unix")[0] == "X0\n"
    assert inside.run("rm -f /tmp/.X11-unix/X0")[1] and inside.run("touch /tmp/.X11-unix/X1")[1]
    assert inside.run("ls /screen")[1]


def test_output_takes_no_room_of_the_host(inside):
    _, code = inside.run("head -c 3000000 /dev/zero > /proc/1/fd/1", 5.0)
    assert code != 0  # it waits for ever, or is refused
    links, _ = inside.run("for file in /proc/1/fd/* /proc/self/fd/*; do readlink $file; done")
    host = [link for link in links.split() if link.startswith("/") and HOME not in link]
    assert {link for link in host if "faketime" not in link} <= {"/dev/null", f"/{LOG}"}


def test_no_other_message_bus_is_there(inside):
    assert inside.run("ls /run")[0] == "user\n"
    assert "bus" in inside.run("ls /run/user")[0]


def test_no_device_but_the_harmless_ones_is_there(inside):
    devices = set(inside.run("ls /dev")[0].split())
    harmless = {"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm"}
    assert devices <= harmless | {"stderr", "stdin", "stdout", "tty", "urandom", "zero"}


def test_the_kernel_is_not_changed(inside):
    assert inside.run("echo 1 > /proc/sys/kernel/sysrq")[1]
    assert inside.run("echo b > /proc/sysrq-trigger")[1]
    assert inside.run("ls /sys")[1]


def test_it_has_no_capability_and_cannot_get_one(inside):
    output, _ = inside.run("while read name value; do echo $name $value; done < /proc/self/status")
    status = dict(line.split(" ", 1) for line in output.splitlines() if " " in line)
    assert int(status["CapEff:"], 16) == int(status["CapBnd:"], 16) == 0
    assert status["NoNewPrivs:"] == "1" and status["Seccomp:"] == "2"


def test_no_program_of_the_root_changes_the_user():
    need_desktop()
    programs = [path for path in (root_folder() / "usr").rglob("*") if path.is_file()]
    assert len(programs) > 1000
    assert not [
        path for path in programs if path.lstat().st_mode & 0o6000 and not path.is_symlink()
    ]


def test_no_interpreter_is_there_but_the_shell_of_the_launcher(inside):
    for name in ("python3", "perl", "bash", "gcc", "curl", "wget", "nc", "ssh"):
        assert inside.run(f"command -v {name}")[1], name


@pytest.mark.parametrize(
    ("place", "limit_mb"), [("/tmp", 256), (f"/{HOME}", 192), ("/dev/shm", 64), ("/run/user", 64)]
)
def test_a_folder_holds_no_more_than_its_share(inside, place, limit_mb):
    fill = "; ".join(f"head -c 100000000 /dev/zero > {place}/part{number}" for number in range(4))
    output, _ = inside.run(
        f"{fill}; size=$(cat {place}/part* | wc -c); rm {place}/part*; echo $size", 60.0
    )
    assert 0.8 * (limit_mb << 20) < int(output.split()[-1]) <= limit_mb << 20


def test_a_file_is_no_larger_than_a_document_needs_to_be(inside):
    inside.run(f"head -c 200000000 /dev/zero > {TEMPORARY}/large")
    size, _ = inside.run(f"wc -c < {TEMPORARY}/large; rm {TEMPORARY}/large")
    assert int(size) <= 128 << 20


def test_links_pipes_and_odd_names_are_read_without_being_followed(inside, worlds, tmp_path):
    (tmp_path / "secret").write_text("of the host")
    inside.run(
        f"cd ~/Documents; ln -s {tmp_path} folder; ln -s {tmp_path}/secret link; ln -s / root; "
        "mkfifo pipe; mkdir -p a/b/c; touch -- -rf $(printf odd\\tname); ln -s loop loop"
    )
    files = worlds[0].session.files()
    assert files["Documents/link"] == f"-> {tmp_path}/secret".encode()
    assert files["Documents/root"] == b"-> /" and files["Documents/folder"].startswith(b"-> ")
    assert files["Documents/pipe"] == b"no regular file" and "Documents/a/b/c/" in files
    assert not any(b"of the host" in content for content in files.values())


def test_a_world_that_is_full_of_processes_is_ended_and_the_other_goes_on(fresh, worlds):
    inside = Inside(fresh)
    inside.run("i=0; while [ $i -lt 600 ]; do sleep 60 & i=$((i+1)); done", 20.0)
    assert len(fresh.session.pids()) < 480
    begin = time.monotonic()
    fresh.close()
    assert time.monotonic() - begin < 10
    assert worlds[1].step(Action("move", (0.5, 0.5))).state_ok


def keep_waiting(world, count):
    for _ in range(count):
        world.step(Action("wait", seconds=1.0))


def test_a_world_that_takes_too_much_memory_is_ended(fresh):
    grow = "x=0123456789abcdef; while :; do x=$x$x; done"
    fresh.session.launch(f"sh -c '({grow}) & ({grow}) & ({grow}) & ({grow}) & wait'")
    with pytest.raises(WorldError) as caught:
        keep_waiting(fresh, 30)
    assert caught.value.by_action


def test_a_world_that_kills_all_of_itself_costs_an_error_and_nothing_else(fresh, worlds):
    fresh.session.launch("kill -9 -1")
    with pytest.raises(WorldError):
        keep_waiting(fresh, 20)
    assert worlds[1].session.is_running
    fresh.reset({"files": {}})
    assert fresh.step(Action("move", (0.5, 0.5))).state_ok
