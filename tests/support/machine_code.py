"""Tiny programs for Linux on x86-64 that make system calls and end with the number of the error.

What a sandbox refuses is tried without an interpreter in it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

BASE = 0x400000
HEADER_BYTES = 120
REGISTERS = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x49\xba", b"\x49\xb8", b"\x49\xb9")
"""Opcodes that load a number as the first to the sixth argument: rdi, rsi, rdx, r10, r8, r9."""
END = b"\x48\xf7\xd8\x48\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05"  # exit(-rax)
SUCCESS = b"\x31\xc0"  # rax = 0

Call = Sequence[int | bytes]  # number and arguments; bytes are passed by their address


def program(calls: Sequence[Call]) -> bytes:
    """Return an ELF file that makes the calls in turn, up to the first that fails.

    It exits with that call's error, or with 0.
    """
    code_length = len(_code(calls, 0)[0])
    code, data = _code(calls, BASE + HEADER_BYTES + code_length)
    size = HEADER_BYTES + len(code) + len(data)
    elf = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf += struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, BASE + HEADER_BYTES, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    elf += struct.pack("<IIQQQQQQ", 1, 7, 0, BASE, BASE, size, size, 0x1000)
    return elf + code + data


def _code(calls: Sequence[Call], data_address: int) -> tuple[bytes, bytes]:
    parts: list[bytes] = []
    data = b""
    for number, *arguments in calls:
        part = b"\x48\xb8" + struct.pack("<Q", number)
        for register, argument in zip(REGISTERS, arguments, strict=False):
            value = argument
            if isinstance(argument, bytes):
                value = data_address + len(data)
                data += argument + bytes(-len(argument) % 8)
            part += register + struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)
        parts.append(part + b"\x0f\x05\x48\x85\xc0")  # syscall; test rax, rax
    code = b""
    rest = sum(len(part) + 6 for part in parts) + len(SUCCESS)
    for part in parts:
        code += part
        rest -= len(part) + 6
        code += b"\x0f\x88" + struct.pack("<i", rest)  # where it has failed, go to the end
    return code + SUCCESS + END, data
