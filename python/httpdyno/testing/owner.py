"""A process that owns one server until it is killed: what a crashed httpdyno was before.

Run as `python -m httpdyno.testing.owner MODULE:CLASS STUDY_FOLDER` with the server's spec and the
configuration as JSON lines on standard input. When the server is ready it prints the server's
root pid, its address and its folder, and waits for the end of its input.
"""

import importlib
import sys
from pathlib import Path

import msgspec

from httpdyno.model import Configuration, ServerSpec
from httpdyno.servers.adapter import NotRunning, ServerAdapter
from httpdyno.servers.run_folder import new_run_root

_READY_S = 20.0


def main(adapter_path: str, study_folder: Path) -> int:
    """Start, say so, wait, end."""
    module, _, name = adapter_path.partition(":")
    adapter: ServerAdapter = getattr(importlib.import_module(module), name)()
    spec = msgspec.json.decode(sys.stdin.readline(), type=ServerSpec)
    configuration = msgspec.json.decode(sys.stdin.readline(), type=Configuration)
    with new_run_root() as root:
        place = root.new_place("owned")
        running = adapter.spawn(spec, study_folder, configuration, place)
        if isinstance(running, NotRunning):
            sys.stderr.write(running.detail)
            return 1
        try:
            answer = running.await_ready(_READY_S)
            if isinstance(answer, NotRunning):
                sys.stderr.write(answer.detail)
                return 1
            sys.stdout.write(f"{running.root_pid} {running.address} {place.folder}\n")
            sys.stdout.flush()
            sys.stdin.read()
        finally:
            running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
