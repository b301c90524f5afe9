"""A process that holds one server until it is killed: what a crashed httpdyno was before.

Run as `python -m tests.conformance.server_holder MODULE:CLASS STUDY_FOLDER` with the server's spec
and the configuration as JSON lines on standard input. When the server is ready it prints a `Held`
as a JSON line, and waits for the end of its input.
"""

import importlib
import sys
from pathlib import Path

import msgspec

from httpdyno.host.interruption import take_signals
from httpdyno.model import Configuration, ServerSpec
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.stack import Stack
from httpdyno.servers.stack.templates import TemplateStack

_READY_S = 20.0


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The server, as whoever started this process needs to know it."""

    root_pids: tuple[int, ...]
    addresses: tuple[str, ...]
    folder: str
    """The run folder of this process."""


def main(adapter_path: str, study_folder: Path) -> int:
    """Start, say so, wait, end."""
    # As every command: who interrupts it twice must not break off the end of its server.
    take_signals()
    module, _, name = adapter_path.partition(":")
    made = getattr(importlib.import_module(module), name)()
    stack = made if isinstance(made, Stack) else TemplateStack(made)
    spec = msgspec.json.decode(sys.stdin.readline(), type=ServerSpec)
    configuration = msgspec.json.decode(sys.stdin.readline(), type=Configuration)
    with new_run_root() as root:
        place = root.new_place("owned")
        running = stack.spawn(spec, study_folder, configuration, place)
        if isinstance(running, NotRunning):
            sys.stderr.write(text(running.detail))
            return 1
        try:
            answer = running.await_ready(_READY_S)
            if isinstance(answer, NotRunning):
                sys.stderr.write(text(answer.detail))
                return 1
            held = Held(
                root_pids=running.root_pids,
                addresses=running.addresses,
                folder=str(place.folder.parent),
            )
            sys.stdout.write(msgspec.json.encode(held).decode() + "\n")
            sys.stdout.flush()
            sys.stdin.read()
        finally:
            running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
