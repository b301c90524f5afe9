"""Ways round `--yes-i-may-load`: whether the load engine is ever given an address elsewhere.

Each is a command line that goes through all of httpdyno but the engine's start, which notes the
addresses it was to load. All runs in a network namespace that leads nowhere, and speaks only of
addresses and names that are kept for documentation (RFC 5737, RFC 3849, RFC 6761).

    unshare --net python -m benches.faults.permissions N
"""

import contextlib
import importlib
import io
import ipaddress
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import msgspec
from benches.faults.family import Count

from httpdyno.cli import app
from httpdyno.errors import UsageError

_REPOSITORY = Path(__file__).parents[2]
_DEADLINE_S = 300.0
_V4, _V6 = "192.0.2.7", "2001:db8::7"
_MAY = "--yes-i-may-load"
_SENT = "this is where load would be sent"
_REFUSED = (2, 3)
_LOCAL = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
_LOG = '::1 - - [10/Oct/2000:13:55:36 -0700] "GET {url} HTTP/1.1" 301 1 "{url}" "x"\n'

WAYS: tuple[tuple[str, ...], ...] = (
    # Addresses, in every form that a resolver takes.
    (f"http://{_V4}/",),
    ("http://198.51.100.9/",),
    (_V4,),
    (f"https://{_V4}/",),
    (f"http://{_V4}:8000/",),
    ("http://3221225991/",),
    ("http://0xc0000207/",),
    ("http://030000001007/",),
    ("http://0xc0.0.2.7/",),
    ("http://0300.0.2.07/",),
    ("http://192.0.519/",),
    ("http://192.519/",),
    (f"http://{_V4}./",),
    ("http://%31%39%32.0.2.7/",),
    (f"http://[{_V6}]/",),
    (f"http://[{_V6}%25lo]/",),
    (f"http://[{_V6}%lo]/",),
    (f"http://[::ffff:{_V4}]/",),
    ("http://[::ffff:c000:207]/",),
    (f"http://[::{_V4}]/",),
    (f"http://[64:ff9b::{_V4}]/",),
    ("http://[2002:c000:207::1]/",),
    ("http://[2001:0:c000:207::1]/",),
    ("http://0.0.0.0/",),
    ("http://0/",),
    ("http://[::]/",),
    ("http://[::ffff:0.0.0.0]/",),
    # Names that lead elsewhere.
    ("http://far.invalid/",),
    ("http://FAR.INVALID./",),
    ("http://localhost.far.invalid/",),
    ("http://127.0.0.1.far.invalid/",),
    ("http://fär.invalid/",),
    ("http://１９２.0.2.7/",),  # noqa: RUF001 - digits that resolvers turn into ASCII
    ("http://192。0。2。7/",),
    ("http://turns.invalid/",),
    # What stands around the host.
    (f"http://127.0.0.1@{_V4}/",),
    (f"http://127.0.0.1:80@{_V4}/",),
    (f"http://{_V4}\\@127.0.0.1/",),
    (f"http://{_V4}#@127.0.0.1/",),
    # Somewhere else than on the command line.
    ("--url-file", "urls.txt"),
    ("http://127.0.0.1:1/", "--url-file", "urls.txt"),
    ("http://127.0.0.1:1/", "--replay", "access.log"),
    # Permission for something else.
    (f"http://{_V4}/", _MAY, "far.invalid"),
    ("http://far.invalid/", _MAY, "invalid"),
)
_PERMITTED: tuple[tuple[str, ...], ...] = (
    ("http://127.0.0.1:1/",),
    ("http://far.invalid/", _MAY, "far.invalid"),
    (f"http://[{_V6}]/", _MAY, _V6),
)
"""These must get to the engine, or the others prove nothing."""


def measure(n: int, seed: int) -> Iterator[Count]:
    """Try the first n ways."""
    del seed
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        yield Count(name="ways tried", value=0, n=0, note="skipped: needs root and `unshare`")
        return
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-m", "benches.faults.permissions", str(n)],
        cwd=_REPOSITORY,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    found = json.loads(done.stdout)
    for name, said in found.items():
        total = len(_PERMITTED) if name == "permitted and refused" else min(n, len(WAYS))
        yield Count(name=name, value=len(said), n=total, note=said[0] if said else "")


def tried(words: tuple[str, ...]) -> tuple[int, str, list[str]]:
    """Ask for a load; return the code, what was said and which addresses the engine was given."""
    given: list[str] = []

    def start(spec: bytes, _on_edge: object) -> None:
        given.extend(arm["address"] for arm in msgspec.msgpack.decode(spec)["arms"])
        raise UsageError(_SENT)

    out = io.StringIO()
    with (
        mock.patch.object(importlib.import_module("httpdyno._native"), "start", start),
        mock.patch.object(socket, "getaddrinfo", _lookup(socket.getaddrinfo)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            code = app.run(["load", "-n", "1", *words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, out.getvalue(), given


@contextlib.contextmanager
def files() -> Iterator[None]:
    """Be in a folder with the files that ways name."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="faults-permissions-") as name:
        os.chdir(name)
        try:
            url = f"http://{_V4}/"
            Path("urls.txt").write_text(f"{url}\n", encoding="utf-8")
            Path("access.log").write_text(_LOG.format(url=url), encoding="utf-8")
            yield
        finally:
            os.chdir(before)


def complaints(n: int) -> dict[str, list[str]]:
    """Return which of the first n ways got through, and what was said wrongly."""
    got_round, unclear, refused = [], [], []
    with files():
        for words in WAYS[:n]:
            code, text, given = tried(words)
            got_round += [f"{words}: {each}" for each in given if not _is_local(each)]
            is_clear = "Traceback" not in text and text.count("error: ") == 1
            unclear += [] if code in _REFUSED and is_clear else [f"{words}: {code}: {text[-200:]}"]
        for words in _PERMITTED:
            _, text, given = tried(words)
            refused += [] if given else [f"{words}: {text[-200:]}"]
    return {
        "ways round": got_round,
        "not refused in one sentence": unclear,
        "permitted and refused": refused,
    }


def _lookup(real: Callable[..., object]) -> Callable[..., object]:
    """Return a resolver that knows names under `.invalid`; one of them leads home once."""
    turning = itertools.chain([_V4], itertools.repeat("127.0.0.1"))

    def lookup(host: str, port: int, **options: object) -> object:
        name = host.lower().rstrip(".")
        if name == "turns.invalid":
            host = next(turning)
        elif name.endswith(".invalid"):
            host = _V4
        return real(host, port, **options)

    return lookup


def _is_local(address: str) -> bool:
    host = ipaddress.ip_address(address.rpartition(":")[0].strip("[]").partition("%")[0])
    return any(host in ipaddress.ip_network(network) for network in _LOCAL)


if __name__ == "__main__":
    print(json.dumps(complaints(int(sys.argv[1]))))
