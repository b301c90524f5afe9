"""What a killed httpdyno left, written by hand: its owner is gone, or one may doubt that."""

import json

import msgspec
from msgspec.structs import replace

from httpdyno.host.process_identity import ProcessIdentity
from httpdyno.servers.run.live_process import process_info
from httpdyno.servers.run.root import disk_root

KEY = "0123456789abcdef"


def owned_by(path, **changes):
    """Return the first line of a file that a process which is gone owned, but for changes."""
    path.touch(mode=0o600)
    info = path.stat()
    owner = replace(ProcessIdentity.me(), start_ticks=1, **changes)
    return {"owner": msgspec.to_builtins(owner), "file": [info.st_dev, info.st_ino]}


def left_by(*lines, head=(), name="run-1-1-abc", **changes):
    """Return a run folder that such a process left, with lines in its record."""
    folder = disk_root() / name
    folder.mkdir()
    record = folder / "owner.jsonl"
    first = owned_by(record, **changes) | {"key": KEY} | dict(head)
    record.write_text("".join(json.dumps(each) + "\n" for each in [first, *lines]))
    return folder


def session_of(process):
    """Return the line of a record that says that a process leads a server's session."""
    info = process_info(process.pid)
    assert info is not None
    return {"leader": info.pid, "started_ticks": info.started_ticks}
