"""Whether a byte of a copy's gets to what stands behind a site, which is restarted meanwhile.

Redis, HAProxy, MariaDB, PostgreSQL, memcached, php-fpm, a FIFO's reader and others run, each as its
own user. A shop of a person's own has all of them take an order at each request. It is adopted,
checked, tuned and compared, while each of them is restarted three times; one was down when all
began, and comes up amid a start. What each counts is to be what the shop itself ordered.

    python -m benches.untouched.production          as root, in minutes
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from benches.untouched.services import (
    Service,
    all_services,
    as_user,
    end,
    in_production,
    stand_in,
)
from tests.commands import exit_on_signals

_PORT = 18_200
_INSIDE = "HTTPDYNO_BENCH_PRODUCTION"
_N_ORDERS = 3
_N_RESTARTS = 3
_READY_S = 15.0
_COMMAND_S = 300.0
_DONE = (0, 1)
_PROGRAM = (str(Path(sys.executable).with_name("httpdyno")),)
_COMMANDS = {
    "check": ("study", "check", "shop"),
    "tune": ("tune", "shop", "--budget", "{budget}"),
    "compare": ("compare", "shop", "--b", "env.CACHE=on", "--budget", "{budget}"),
}
_NEEDED = (
    "redis-server",
    "haproxy",
    "mariadbd",
    "memcached",
    "php-fpm8.2",
    "psql",
    "unshare",
    "ip",
)


def main() -> int:
    """Run it; 0 where nothing of a copy's was counted anywhere, and all counted the shop's own."""
    exit_on_signals()
    parser = argparse.ArgumentParser(
        prog="python -m benches.untouched.production",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", help="services with these words in their names")
    parser.add_argument("--budget", default="90s", help="what tuning and comparing take (90s)")
    wanted = parser.parse_args()
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        print(f"cannot be shown here: it needs root and {', '.join(_NEEDED)}", file=sys.stderr)
        return 3
    if _INSIDE not in os.environ:
        again = [sys.executable, "-m", "benches.untouched.production", *sys.argv[1:]]
        environment = {**os.environ, _INSIDE: "yes"}
        return subprocess.run(["unshare", "--net", *again], env=environment, check=False).returncode
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    chosen = [
        each
        for each in all_services()
        if not wanted.only or any(word in each.name for word in wanted.only)
    ]
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="production-", dir="/srv"))
        )
        top.chmod(0o755)
        stack.enter_context(in_production(chosen, top))
        return _run(stack, chosen, top, wanted.budget)


def _run(stack: ExitStack, services: list[Service], top: Path, budget: str) -> int:
    late = stand_in("down at first", "absolute")
    late.folder = top / "late"
    late.folder.mkdir()
    os.chown(late.folder, as_user(late.user)["user"], -1)
    late.prepare(late)
    pid = _shop(stack, [*services, late], top)
    late.start()
    for _ in range(_N_ORDERS):
        _order()
    before = {each.name: each.counted() for each in services} | {late.name: late.kept()}
    _taken_away(late)
    deaf = [name for name, n in before.items() if n == 0]
    work = top / "work"
    work.mkdir()
    adopt = ("adopt", f"pid:{pid}", "--get", "/", "--knob", "env.CACHE=off,on", "-c", "4")
    adopted = _command(work, (*adopt, "-o", "shop"))
    after = {each.name: each.counted() for each in services} | {late.name: late.kept()}
    rows = [("adopt", adopted, before, after)]
    stack.callback(_taken_away, late)
    for name, words in _COMMANDS.items() if adopted == 0 else ():
        start = {each.name: each.counted() for each in services} | {late.name: late.kept()}
        with_budget = tuple(word.format(budget=budget) for word in words)
        code = _restarted_meanwhile(work, with_budget, services, late)
        after = {each.name: each.counted() for each in services} | {late.name: late.kept()}
        rows.append((name, code, start, after))
    return _told(before, deaf, rows)


def _shop(stack: ExitStack, services: list[Service], top: Path) -> int:
    """Start the shop as its own user, and wait for it; return its process."""
    script = top / "shop.py"
    script.write_bytes(Path(__file__).with_name("shop.py").read_bytes())
    settings = {
        "port": _PORT,
        "services": [told for each in services for told in each.told()],
    }
    (top / "settings.json").write_text(json.dumps(settings))
    process = subprocess.Popen(
        ["/usr/bin/python3", script, top / "settings.json"],
        **as_user("www-data"),
        cwd=top,
        env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(end, process)
    deadline_s = time.monotonic() + _READY_S
    while time.monotonic() < deadline_s:
        listening = subprocess.run(
            ["ss", "-Hltn", f"sport = :{_PORT}"], capture_output=True, check=True
        )
        if listening.stdout:
            return process.pid
        time.sleep(0.05)
    raise RuntimeError("the shop does not come up")


def _order() -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/", timeout=30) as answer:
        answer.read()


def _taken_away(late: Service) -> None:
    """End it, and have its folder without a socket."""
    if late.process is not None:
        end(late.process)
        late.process = None
        late.path.unlink(missing_ok=True)


def _command(work: Path, words: tuple[str, ...]) -> int:
    environment = {
        **os.environ,
        "HTTPDYNO_DATA_DIR": str(work / "data"),
        "HTTPDYNO_RUN_DIR": str(work / "run"),
    }
    done = subprocess.run(
        [*_PROGRAM, *words],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_COMMAND_S,
        check=False,
    )
    if done.returncode not in _DONE:
        print(f"$ httpdyno {' '.join(words)}\n{done.stdout[-1_000:]}")
    return done.returncode


def _restarted_meanwhile(
    work: Path, words: tuple[str, ...], services: list[Service], late: Service
) -> int:
    """Run a command, again if need be, until each service was restarted three times meanwhile."""
    failures: list[BaseException] = []

    def restart(service: Service) -> None:
        try:
            for _ in range(_N_RESTARTS):
                service.restart()
        except BaseException as error:
            failures.append(error)

    def come_up() -> None:
        # Amid a start, whatever that began with.
        time.sleep(1.0)
        if late.process is None:
            late.start()

    threads = [threading.Thread(target=restart, args=(each,)) for each in services]
    threads.append(threading.Thread(target=come_up))
    for thread in threads:
        thread.start()
    code = _command(work, words)
    while any(thread.is_alive() for thread in threads):
        code = max(code, _command(work, words))
    for thread in threads:
        thread.join()
    _taken_away(late)
    if failures:
        raise failures[0]
    return code


def _told(before, deaf, rows) -> int:
    print(f"orders of the shop itself, {_N_ORDERS}: {before}")
    n_reached = 0
    for command, code, start, after in rows:
        reached = {name: after[name] - n for name, n in start.items() if after[name] != n}
        n_reached += len(reached)
        print(f"{command:<8} exit {code}  of copies: {reached or 0}")
    print(f"services that counted none of the shop's own: {deaf or 'none'}")
    is_whole = all(code in _DONE for _, code, _, _ in rows) and len(rows) == 1 + len(_COMMANDS)
    print("met" if (is_good := is_whole and not n_reached and not deaf) else "missed")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
