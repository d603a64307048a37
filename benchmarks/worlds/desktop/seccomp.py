"""The filter of system calls that every program of a desktop runs under, for x86-64.

It takes away what no application of a desktop needs and what holes of kernels were often reached
by: tracing, keys, BPF, io_uring, namespaces and mounts, sockets of other kinds than those of files.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
X86_64 = 0xC000003E
X32 = 0x40000000  # numbers from here on are those of another table
AF_UNIX = 1
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*, all that clone() takes
NOT_PERMITTED = {
    "ptrace": 101,
    "syslog": 103,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "landlock_restrict_self": 446,
}
NOT_THERE = {"clone3": 435}
"""The C library goes on without it; its arguments lie where no filter can read them."""
CLONE, IOCTL, SOCKET, SOCKETPAIR = 56, 16, 41, 53


def program() -> bytes:
    """Return the filter as the kernel takes it: an array of `struct sock_filter`."""
    parts = [
        [_do(LOAD, ARCHITECTURE_AT), _jump(JUMP_EQUAL, X86_64, 1, 0), _do(RETURN, KILL)],
        [_do(LOAD, NUMBER_AT), _jump(JUMP_AT_LEAST, X32, 0, 1), _do(RETURN, KILL)],
        *(_refused(number, errno.EPERM) for number in NOT_PERMITTED.values()),
        *(_refused(number, errno.ENOSYS) for number in NOT_THERE.values()),
        _refused_where(CLONE, 0, JUMP_SET, NEW_NAMESPACES, errno.EPERM),
        _refused_where(IOCTL, 1, JUMP_EQUAL, TIOCSTI, errno.EPERM),
        _refused_where(IOCTL, 1, JUMP_EQUAL, TIOCLINUX, errno.EPERM),
        _refused_unless(SOCKET, 0, AF_UNIX, errno.EAFNOSUPPORT),
        _refused_unless(SOCKETPAIR, 0, AF_UNIX, errno.EAFNOSUPPORT),
        [_do(RETURN, ALLOW)],
    ]
    return b"".join(instruction for part in parts for instruction in part)


def _do(code: int, value: int) -> bytes:
    return _jump(code, value, 0, 0)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refused(number: int, error: int) -> Sequence[bytes]:
    return [_jump(JUMP_EQUAL, number, 0, 1), _do(RETURN, ERRNO | error)]


def _refused_where(number: int, argument: int, test: int, value: int, error: int) -> list[bytes]:
    """Refuse a call whose argument passes a test; the number is loaded again after it."""
    return [
        _jump(JUMP_EQUAL, number, 0, 4),
        _do(LOAD, ARGUMENTS_AT + 8 * argument),
        _jump(test, value, 0, 1),
        _do(RETURN, ERRNO | error),
        _do(LOAD, NUMBER_AT),
    ]


def _refused_unless(number: int, argument: int, value: int, error: int) -> list[bytes]:
    """Refuse a call whose argument is another one than the only one that is allowed."""
    return [
        _jump(JUMP_EQUAL, number, 0, 4),
        _do(LOAD, ARGUMENTS_AT + 8 * argument),
        _jump(JUMP_EQUAL, value, 1, 0),
        _do(RETURN, ERRNO | error),
        _do(LOAD, NUMBER_AT),
    ]
