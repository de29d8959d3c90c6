"""A process that dies, or is told no, at exactly its n-th system call.

The kernel's own tracing (ptrace) through ctypes: every system call of the child stops it, whatever
library made it, so nothing can be missed and nothing has to be compiled or installed. The child is
a fork, so that the n-th death costs a transaction and not the start of a Python.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import reverie

# Calls that change the disk, or promise that it was changed.
WRITING = {
    "x86_64": {
        1: "write", 18: "pwrite64", 20: "writev", 40: "sendfile", 74: "fsync", 75: "fdatasync",
        76: "truncate", 77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 85: "creat",
        86: "link", 87: "unlink", 88: "symlink", 90: "chmod", 91: "fchmod", 132: "utime",
        162: "sync", 235: "utimes", 258: "mkdirat", 263: "unlinkat", 264: "renameat",
        265: "linkat", 266: "symlinkat", 268: "fchmodat", 280: "utimensat", 285: "fallocate",
        296: "pwritev", 306: "syncfs", 316: "renameat2", 326: "copy_file_range",
    },
    "aarch64": {
        34: "mkdirat", 35: "unlinkat", 36: "symlinkat", 37: "linkat", 38: "renameat",
        45: "truncate", 46: "ftruncate", 47: "fallocate", 52: "fchmod", 53: "fchmodat",
        64: "write", 66: "writev", 68: "pwrite64", 70: "pwritev", 71: "sendfile", 81: "sync",
        82: "fsync", 83: "fdatasync", 88: "utimensat", 267: "syncfs", 276: "renameat2",
        285: "copy_file_range",
    },
}  # fmt: skip
OPENING = {"x86_64": {2: "open", 257: "openat"}, "aarch64": {56: "openat"}}
# Calls that only look: dying there is dying before the next change, but they can fail.
READING = {
    "x86_64": {0: "read", 17: "pread64", 217: "getdents64", 73: "flock"},
    "aarch64": {63: "read", 67: "pread64", 61: "getdents64", 32: "flock"},
}

# What the package reads of itself, such as its lists of words, is no part of a memory's story.
_PACKAGE = f"{Path(reverie.__file__).parent}/"

_MACHINE = platform.machine()
_TRACEME, _POKEUSER, _SYSCALL, _SETOPTIONS, _SYSCALL_INFO = 0, 6, 24, 0x4200, 0x420E
_SYSGOOD, _EXITKILL = 1, 1 << 20
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_ENTRY, _EXIT = 1, 2
# Where x86-64 keeps the number of a call and its answer, in the traced process's registers.
_ORIG_RAX, _RAX = 15 * 8, 10 * 8


class _CallInfo(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


_libc = ctypes.CDLL(None, use_errno=True)
if sys.platform == "linux":
    _libc.ptrace.restype = ctypes.c_long
    _libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class Fate:
    """What happens at the n-th of the counted calls: `error` None is death, else it fails so.

    Counted are the calls that change the disk; with `reads`, those that only look at it too.
    """

    at: int
    error: int | None = None
    reads: bool = False


@dataclass(frozen=True)
class Call:
    """One counted system call: its name and the file it was about, when that is known."""

    name: str
    path: str = ""


@dataclass(frozen=True)
class Ran:
    """How a traced process ended, and the calls it made up to there."""

    end: Literal["killed", "exited"]
    code: int
    calls: tuple[Call, ...]

    def at(self, number: int) -> str:
        call = self.calls[number - 1] if number <= len(self.calls) else Call("after the last call")
        return f"{call.name} {call.path}".strip()


@cache
def why_not() -> str | None:
    """Why calls cannot be traced here; None when they can. Tried in a process of its own."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.faults.tracing"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip() or None


def _obstacle() -> str | None:
    if sys.platform != "linux" or _MACHINE not in WRITING:
        return f"tracing system calls needs Linux on x86-64 or ARM64, this is {sys.platform} on {_MACHINE}"
    try:
        ran = traced(lambda: os.close(os.open("/dev/null", os.O_RDONLY)), Fate(0, reads=True))
    except OSError as error:
        return f"this machine does not allow ptrace ({error.strerror}); it needs Linux 5.3 and no seccomp filter against it"
    return None if ran.calls else "ptrace works here but shows no system calls"


def why_no_failures() -> str | None:
    """Making a call fail needs to know the registers; dying does not."""
    return why_not() or (None if _MACHINE == "x86_64" else "failing calls are made on x86-64 only")


def traced(work: Callable[[], None], fate: Fate) -> Ran:
    """Run `work` in a fork, under this fate (0: nothing happens), and see how it ends."""
    counted = {
        **WRITING[_MACHINE],
        **OPENING[_MACHINE],
        **(READING[_MACHINE] if fate.reads else {}),
    }
    child = os.fork()
    if child == 0:
        _libc.ptrace(_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        code = 70
        try:
            work()
            code = 0
        except SystemExit as ended:
            code = int(str(ended.code or 0))
        finally:
            os._exit(code)
    return _follow(child, counted, fate)


def _follow(child: int, counted: dict[int, str], fate: Fate) -> Ran:
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) or os.WSTOPSIG(status) != signal.SIGSTOP:
        raise OSError(errno.EPERM, "the child could not ask to be traced")
    _ptrace(_SETOPTIONS, child, 0, _SYSGOOD | _EXITKILL)
    calls: list[Call] = []
    failing = False
    info = _CallInfo()
    deliver = 0
    while True:
        _ptrace(_SYSCALL, child, 0, deliver)
        deliver = 0
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return Ran("killed", os.WTERMSIG(status), tuple(calls))
        if os.WIFEXITED(status):
            return Ran("exited", os.WEXITSTATUS(status), tuple(calls))
        if os.WSTOPSIG(status) != _SYSCALL_STOP:
            deliver = os.WSTOPSIG(status)
            continue
        _ptrace(_SYSCALL_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == _EXIT and failing:
            _ptrace(_POKEUSER, child, _RAX, -(fate.error or 0))
            failing = False
        elif info.op == _ENTRY and (call := _counted(child, info, counted, fate)):
            calls.append(call)
            if len(calls) == fate.at and fate.error is None:
                # The call is not made: a killed process leaves the kernel before it starts.
                os.kill(child, signal.SIGKILL)
            elif len(calls) == fate.at:
                # Call number -1 does nothing; its answer is set when it returns.
                _ptrace(_POKEUSER, child, _ORIG_RAX, -1)
                failing = True


def _counted(child: int, info: _CallInfo, counted: dict[int, str], fate: Fate) -> Call | None:
    """To die at a call that changes nothing is to die at the next one that does."""
    name = counted.get(info.number)
    if name is None:
        return None
    opens = name in {"open", "openat"}
    if opens and not fate.reads and not info.arguments[1 if name == "open" else 2] & os.O_CREAT:
        return None
    call = Call(name, _path(child, name, info))
    return None if call.path.startswith(_PACKAGE) else call


def _ptrace(request: int, child: int, address: int, data: int) -> None:
    if _libc.ptrace(request, child, address, data) == -1:
        number = ctypes.get_errno()
        if number != errno.ESRCH:
            raise OSError(number, os.strerror(number))


_ON_OPEN_FILE = {"write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "fchmod", "read"}
_ON_PATH = {"open", "rename", "mkdir", "rmdir", "link", "unlink", "chmod"}
_ON_PATH_AT = {"openat", "mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "fchmodat"}


def _path(child: int, name: str, info: _CallInfo) -> str:
    """The file a call is about; for a rename, both names."""
    first, second, third, fourth, *_ = (ctypes.c_int64(value).value for value in info.arguments)
    found = ""
    try:
        if name in _ON_OPEN_FILE:
            found = str(Path(f"/proc/{child}/fd/{first}").readlink())
        elif name in _ON_PATH:
            found = _text(child, first)
        elif name in _ON_PATH_AT:
            found = _at(child, first, second)
        if name in {"rename", "link"}:
            found += f" -> {_text(child, second)}"
        elif name in {"renameat", "renameat2", "linkat"}:
            found += f" -> {_at(child, third, fourth)}"
    except OSError:
        return "?"
    return found


def _at(child: int, folder: int, address: int) -> str:
    text = _text(child, address)
    if text.startswith("/"):
        return text
    # The kernel reads the folder's number as 32 bits; -100 is the working directory.
    number = ctypes.c_int32(folder).value
    place = f"/proc/{child}/cwd" if number == -100 else f"/proc/{child}/fd/{number}"
    return f"{Path(place).readlink()}/{text}"


def _text(child: int, address: int) -> str:
    with Path(f"/proc/{child}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(4096).partition(b"\0")[0].decode(errors="replace")


if __name__ == "__main__":
    print(_obstacle() or "")
