"""Whether a private copy is contained: what it tries is not seen outside, and is named.

An application writes in five places, mails, calls out, asks a name server and talks to databases,
as it starts and when it is asked. It is started by hand, and by `httpdyno adopt` in a cell and
behind a wall. The bench stands outside of the copies, in a network namespace of its own whose
loopback has the foreign address too, so no packet leaves the machine. It holds a listener at each
address and looks at each place. What is not seen of the application by hand shows nothing of a
copy: that is a miss as well. What goes out by a way that a wall leaves open, as `httpdyno doctor`
says, is marked with `~`, and has to be named as reached. Needs root.

Example:
    .venv/bin/python -m benches.contained
    .venv/bin/python -m benches.contained --isolation cell
"""

import argparse
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from benches.contained.outside import Listener, Outside
from tests.commands import exit_on_signals

from httpdyno.errors import HttpdynoError
from httpdyno.report.shared.message import text
from httpdyno.servers.sandbox.landlock import limits_of_wall

FOREIGN = "192.0.2.1"
"""Of the network that is kept for examples (RFC 5737)."""
TCP = {
    "mail by SMTP": ("127.0.0.1", 25),
    "a call by HTTP": (FOREIGN, 80),
    "database by TCP": ("127.0.0.1", 5432),
}
NAME_SERVER = (FOREIGN, 53)
PACKETS = "packets of any kind"
OPEN_WAYS = {"asks a name server": "UDP", "database by unix socket": "unix sockets"}
"""How doctor calls the ways that a wall leaves open."""
_INSIDE = "HTTPDYNO_BENCH_CONTAINED"
_PORT = 18_080
_READY_S = 15.0
_SETTLE_S = 0.3
_ADOPT_S = 120.0
_SENDMAIL = "#!/bin/sh\ncat > {spool}/mail-$$\n"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One attempt, and what came of it in one isolation or by hand."""

    seen: str
    """What was seen outside; empty where that is nothing."""
    is_named: bool | None = None
    """None where there is nothing to name."""
    is_open: bool = False
    """Whether doctor says that this isolation does not keep it in."""


def main() -> int:
    """Run it; 0 where all is seen by hand, of a copy only what doctor says, and all is named."""
    # What was started is ended, however this one is.
    exit_on_signals()
    parser = argparse.ArgumentParser(
        prog="python -m benches.contained",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = ("cell", "wall")
    parser.add_argument("--isolation", nargs="+", choices=kinds, default=kinds)
    wanted = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        print("cannot be shown here: it needs root, `unshare` and `ip`", file=sys.stderr)
        return 3
    if _INSIDE not in os.environ:
        again = [sys.executable, "-m", "benches.contained", *sys.argv[1:]]
        environment = {**os.environ, _INSIDE: _network()}
        return subprocess.run(["unshare", "--net", *again], env=environment, check=False).returncode
    if os.environ[_INSIDE] == _network():
        raise HttpdynoError("this is not a network namespace of the bench's own")
    for words in ("link set lo up", f"address add {FOREIGN}/32 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    with ExitStack() as stack:
        return told(*_run(stack, wanted.isolation))


def _network() -> str:
    return str(Path("/proc/self/ns/net").readlink())


def _run(stack, kinds):
    def folder(below):
        return stack.enter_context(tempfile.TemporaryDirectory(prefix="contained-", dir=below))

    home = folder("/srv")
    places = {
        "writes beside itself": f"{home}/own",
        "writes in /var": folder("/var/lib"),
        "writes in /tmp": folder("/tmp"),
        "writes in /srv": folder("/srv"),
        "writes at home": folder(Path.home()),
        "mail by sendmail": folder("/var/spool"),
    }
    Path(home, "own").mkdir()
    application = Path(home, "application.py")
    application.write_bytes(Path(__file__).with_name("application.py").read_bytes())
    sendmail = Path(home, "sendmail")
    sendmail.write_text(_SENDMAIL.format(spool=places["mail by sendmail"]))
    sendmail.chmod(0o755)
    unix = f"{folder('/srv')}/database.sock"
    settings = {
        "folders": {name: at for name, at in places.items() if name.startswith("writes")},
        "sendmail": str(sendmail),
        "tcp": TCP,
        "dns": NAME_SERVER,
        "unix": unix,
    }
    Path(home, "settings.json").write_text(json.dumps(settings))
    listeners = {
        name: Listener(socket.AF_INET, socket.SOCK_STREAM, address) for name, address in TCP.items()
    }
    listeners["asks a name server"] = Listener(socket.AF_INET, socket.SOCK_DGRAM, NAME_SERVER)
    listeners["database by unix socket"] = Listener(socket.AF_UNIX, socket.SOCK_STREAM, unix)
    for listener in listeners.values():
        stack.callback(listener.close)
    names = {
        **{name: (f"{at}/started", f"{at}/asked") for name, at in settings["folders"].items()},
        "mail by sendmail": (f"{places['mail by sendmail']}/mail-",),
        **{name: (f"tcp {host}:{port}",) for name, (host, port) in TCP.items()},
        "asks a name server": (f"udp {NAME_SERVER[0]}:{NAME_SERVER[1]}",),
        "database by unix socket": (unix,),
    }
    outside = Outside(places, listeners)
    command = ["/usr/bin/python3", "-S", str(application), f"{home}/settings.json", "--port"]
    by_hand = _by_hand([*command, str(_PORT)], home, outside, listeners)
    work = folder(None)
    copies = {kind: _copy(kind, [*command, "{port}"], work, outside, names) for kind in kinds}
    return by_hand, copies


def _by_hand(command, home, outside, listeners):
    """Start it as a person does; the last thing that it tries is the unix socket."""
    outside.begin()
    process = subprocess.Popen(command, cwd=home)
    try:
        deadline_s = time.monotonic() + _READY_S
        while not listeners["database by unix socket"].n_taken:
            if time.monotonic() > deadline_s:
                break  # Then it is not seen, which the table tells.
            time.sleep(_SETTLE_S)
        n_packets = outside.packets()  # None of them is a request of ours.
        time.sleep(_SETTLE_S)
        with closing(http.client.HTTPConnection("127.0.0.1", _PORT, timeout=_READY_S)) as asking:
            asking.request("GET", "/")
            asking.getresponse().read()
        time.sleep(_SETTLE_S)
    finally:
        process.terminate()
        process.wait()
    rows = {name: Row(seen=seen) for name, seen in outside.seen().items()}
    return {**rows, PACKETS: Row(seen=str(n_packets or ""))}


def _copy(kind, command, work, outside, names):
    """Have a copy rehearsed; what is seen of it, and whether httpdyno names it."""
    outside.begin()
    told_in = Path(work, f"{kind}.json")
    environment = {**os.environ, "HTTPDYNO_STORE": f"{work}/store.sqlite"}
    options = ["--isolation", kind, "-o", f"{work}/{kind}", "--get", "/", "--json", str(told_in)]
    knob = ["--knob", "python3:MALLOC_ARENA_MAX=1,2"]
    ran = subprocess.run(
        [sys.executable, "-m", "httpdyno", "adopt", *options, *knob, "--", *command],
        cwd=work,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=_ADOPT_S,
    )
    if ran.returncode != 0:
        raise HttpdynoError(f"{kind}: adopt ended with {ran.returncode}: {ran.stderr}")
    time.sleep(_SETTLE_S)
    rehearsal = json.loads(told_in.read_text())["rehearsal"]
    if rehearsal["isolation"] != kind or not all(x["is_expected"] for x in rehearsal["answered"]):
        raise HttpdynoError(f"{kind}: it was not rehearsed so: {rehearsal}")
    kept = (*rehearsal["written"], *rehearsal["refused"])
    rows = {}
    for name, seen in outside.seen().items():
        # What got out has to be told as that.
        said = rehearsal["reached"] if seen else kept
        rows[name] = Row(
            seen=seen,
            is_named=all(any(needle in str(each) for each in said) for needle in names[name]),
            is_open=kind == "wall" and OPEN_WAYS.get(name, "nothing") in text(limits_of_wall()),
        )
    if kind == "cell":  # A copy behind a wall is asked over this very loopback.
        rows[PACKETS] = Row(seen=str(outside.packets() or ""))
    return rows


def told(by_hand, copies) -> int:
    """Print the table; return 1 where anything of it is a miss, which is marked with `!`.

    What goes out by a way that is known to be open is marked with `~`, and counted apart.
    """
    header = ["attempt", "by hand"]
    for kind in copies:
        header += [f"{kind} outside", f"named in {kind}"]
    table, n_misses, n_open = [header], 0, 0
    for name, control in by_hand.items():
        cells = [name, control.seen or "! not seen"]
        for rows in copies.values():
            row = rows.get(name)
            if row is None:
                cells += ["not judged", ""]
                continue
            named = {None: "", True: "yes", False: "! no"}[row.is_named]
            got_out = f"~ {row.seen}: goes out, as doctor says" if row.is_open else f"! {row.seen}"
            cells += [got_out if row.seen else "nothing", named]
        n_misses += sum(cell.startswith("!") for cell in cells)
        n_open += sum(cell.startswith("~") for cell in cells)
        table.append(cells)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print("  ".join(cell.ljust(n) for cell, n in zip(cells, widths, strict=True)).rstrip())
    if n_open:
        print(f"{n_open} go out where doctor says that nothing keeps them in")
    print(f"{n_misses} misses")
    return int(n_misses > 0)


if __name__ == "__main__":
    sys.exit(main())
