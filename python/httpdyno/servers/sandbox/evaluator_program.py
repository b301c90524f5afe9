"""Works out templates and patterns, one after the other, until nobody asks any more.

Run by `process.py` as a program of its own. Its bounds are the kernel's: a template that never ends
gets no further processor time, and one that grows gets no further memory, whatever jinja2 or `re`
do meanwhile. The sandbox keeps templates from what they are not given; should one ever get out of
it, it is in a process without rights, files, further processes and secrets.

A request and its answer are JSON after eight bytes of length.
"""

import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

_NOBODY = 65534


def match(asked: dict[str, Any]) -> dict[str, Any]:
    """Return whether a pattern is found in a text, at a line's begin for `^`."""
    try:
        found = re.compile(asked["pattern"], re.MULTILINE).search(asked["text"])
    except (re.error, OverflowError) as error:
        return {"error": "failed", "words": str(error)}
    return {"found": found is not None}


def serve(
    answer: Callable[[dict[str, Any]], dict[str, Any]], limit_s: float, memory_bytes: int
) -> None:
    """Answer all requests of standard input, within bounds for each.

    Args:
        answer: What works one out.
        limit_s: Processor time for each, after which the kernel ends this process.
        memory_bytes: For all of it, besides what it has now.
    """
    give_up_rights(memory_bytes)
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    while (length := asked.read(8)) and len(length) == 8:  # noqa: PLR2004 - as `_write` writes
        text = asked.read(int.from_bytes(length, "big"))
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        try:
            said = answer(json.loads(text.decode("utf-8", "surrogatepass")))
        except MemoryError:
            said = {"error": "memory"}
        except RecursionError:
            said = {"error": "depth"}
        except Exception as error:
            said = {"error": "failed", "words": f"{type(error).__name__}: {error}"}
        _write(told, said)
        signal.setitimer(signal.ITIMER_PROF, 0)


def give_up_rights(memory_bytes: int) -> None:
    """Become nobody where that can be, open no file and start no process from here on."""
    if os.geteuid() == 0:
        # In a user namespace there may be no such user; root of it is nobody else outside.
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        except OSError:
            pass
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - no further imports
        held = int(file.read().split()[0]) * resource.getpagesize()
    for kind, limit in (
        (resource.RLIMIT_AS, held + memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 3),
    ):
        resource.setrlimit(kind, (limit, limit))


def _write(told: BinaryIO, said: dict[str, Any]) -> None:
    text = json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")
    told.write(len(text).to_bytes(8, "big") + text)
    told.flush()


def main(arguments: Sequence[str]) -> None:
    """Serve what the arguments name: `templates` or `patterns`, then its bounds."""
    kind, limit_s, memory_bytes, most_bytes = arguments
    answer = match
    if kind == "templates":
        # Imported here: patterns do without.
        from httpdyno.servers.sandbox.templates import Sandbox  # noqa: PLC0415

        answer = Sandbox(int(most_bytes)).render
    serve(answer, float(limit_s), int(memory_bytes))
