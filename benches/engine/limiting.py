"""Figure 6: whether a run says rightly who kept it from doing more.

Thirteen scenarios are built out of processes, so that who is limiting is known beforehand; besides
them fifty runs in which nothing is wrong.
"""

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.origin import Nginx, Oracle
from benches.engine.process import Background, BenchError
from benches.engine.quiet import Quiet
from benches.engine.setting import Setting

N_RIGHT, N_FALSE_ALARMS = 12, 1
N_HEALTHY, N_HEALTHY_QUICK = 50, 10
HEALTHY_RATES_PER_S = (500, 1_000, 2_000, 4_000)
CLIENT = frozenset({"client_cpu", "client_schedule"})
"""Both say that it was the client's own fault."""
_RUN_S, _HEALTHY_S = 3.0, 2.0
_N_HOGS = 4
_RUNNING_S, _STOPPED_S = 0.02, 0.08
_FEW_DESCRIPTORS = 64
_FIRST_REQUESTS = 1_000
_LOOK_S = 0.05
_FEW_PORTS = "40000 40199"
_IN_NAMESPACE = (
    "unshare", "--net", "sh", "-c",
    f"ip link set lo up && echo '{_FEW_PORTS}' >/proc/sys/net/ipv4/ip_local_port_range "
    '&& exec "$@"',
    "sh",
)  # fmt: skip

Verdict = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A run in which it is known who is limiting."""

    name: str
    limits: frozenset[str]
    """The verdicts that are right."""
    run: Callable[[Setting], engine.EngineRun]


def _plain(*options: str, **job: Any) -> Callable[[Setting], engine.EngineRun]:
    """Return a run against an oracle with these options."""

    def run(setting: Setting) -> engine.EngineRun:
        with Oracle(setting, *options) as oracle:
            return engine.run_engine(setting, _job(setting, oracle.address, **job))

    return run


def _hogged(**job: Any) -> Callable[[Setting], engine.EngineRun]:
    """Return a run beside others that want the client's core all the time."""

    def run(setting: Setting) -> engine.EngineRun:
        with ExitStack() as stack:
            oracle = stack.enter_context(Oracle(setting))
            for _ in range(_N_HOGS):
                hog = Background(["sh", "-c", "while :; do :; done"], cpu=setting.client_cpu)
                stack.enter_context(hog)
            return engine.run_engine(setting, _job(setting, oracle.address, **job))

    return run


def _stopped_client(setting: Setting) -> engine.EngineRun:
    """Run with a client that is stopped for most of the time, as by a CPU quota."""
    with Oracle(setting) as oracle, ExitStack() as stack:
        return engine.run_engine(
            setting,
            _job(setting, oracle.address),
            on_start=lambda pid: stack.enter_context(_duty_cycle(pid)),
        )


def _stopped_server(setting: Setting) -> engine.EngineRun:
    with Oracle(setting) as oracle, _duty_cycle(oracle.pid):
        return engine.run_engine(setting, _job(setting, oracle.address))


def _few_descriptors(setting: Setting) -> engine.EngineRun:
    """Run with new connections all the time, and take the descriptors away in its midst."""
    with Oracle(setting) as oracle:

        def take_away(pid: int) -> None:
            while oracle.n_requests() < _FIRST_REQUESTS:
                time.sleep(_LOOK_S)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_FEW_DESCRIPTORS, _FEW_DESCRIPTORS))

        what = _job(setting, oracle.address, connections=100, requests_per_connection=1)
        return engine.run_engine(setting, what, on_start=_soon(take_away))


def _few_ports(setting: Setting) -> engine.EngineRun:
    """Run in a network namespace with 200 local ports; it goes when the oracle ends."""
    with Oracle(setting, before=_IN_NAMESPACE) as oracle:
        what = _job(setting, oracle.address, connections=300)
        inside = ("nsenter", f"--net=/proc/{oracle.pid}/ns/net")
        return engine.run_engine(setting, what, before=inside)


def _nginx(setting: Setting) -> engine.EngineRun:
    with Nginx(setting) as nginx:
        request = engine.request("/squeezed/numbers.txt", headers=[("Accept-Encoding", "gzip")])
        return engine.run_engine(setting, _job(setting, nginx.address, requests=[request]))


def _one_core(setting: Setting) -> engine.EngineRun:
    with Oracle(setting, cpu=setting.client_cpu) as oracle:
        what = _job(setting, oracle.address, arrival=engine.even(8_000), spin_s=0.0)
        return engine.run_engine(setting, what)


SCENARIOS = (
    Scenario(name="hogs on the client's core, closed loop", limits=CLIENT, run=_hogged()),
    Scenario(
        name="hogs on the client's core, 10,000/s",
        limits=CLIENT,
        run=_hogged(arrival=engine.even(10_000)),
    ),
    Scenario(name="client stopped 80 ms of 100", limits=CLIENT, run=_stopped_client),
    Scenario(
        name="64 descriptors, from then on", limits=frozenset({"descriptors"}), run=_few_descriptors
    ),
    Scenario(name="200 local ports", limits=frozenset({"ports"}), run=_few_ports),
    Scenario(
        name="backlog of 1, no keep-alive",
        limits=frozenset({"network"}),
        run=_plain("--backlog", "1", requests_per_connection=1),
    ),
    Scenario(
        name="100/s of 500/s can be served",
        limits=frozenset({"server"}),
        run=_plain("--service", "fixed:20ms", "--workers", "2", arrival=engine.even(500)),
    ),
    Scenario(name="server stopped 80 ms of 100", limits=frozenset({"server"}), run=_stopped_server),
    Scenario(name="nginx, one worker, compressing", limits=frozenset({"server"}), run=_nginx),
    Scenario(
        name="4 connections of 20 ms at 1,000/s",
        limits=frozenset({"connections"}),
        run=_plain("--service", "fixed:20ms", connections=4, arrival=engine.even(1_000)),
    ),
    Scenario(
        name="5 connections of 20 ms",
        limits=frozenset({"connections"}),
        run=_plain("--service", "fixed:20ms", connections=5),
    ),
    Scenario(
        name="1,000/s, reached", limits=frozenset({"rate"}), run=_plain(arrival=engine.even(1_000))
    ),
    Scenario(name="8,000/s, all on one core", limits=CLIENT | {"rate"}, run=_one_core),
)


def measure(setting: Setting) -> Figure:
    """Measure figure 6."""
    figure = Figure(number=6, name="who was limiting")
    quiet: Quiet[Verdict] = Quiet()
    verdicts = [quiet.run(partial(_verdict, setting, scenario)) for scenario in SCENARIOS]
    healthy = [
        quiet.run(partial(_healthy, setting, n))
        for n in range(setting.sized(N_HEALTHY, N_HEALTHY_QUICK))
    ]
    figure.raw = {"scenarios": verdicts, "healthy": healthy, "discarded": quiet.discarded}
    figure.notes += quiet.notes()
    n_built = sum("failure" not in each for each in verdicts)
    blamed = [each["name"] for each in verdicts if each.get("is_server_blamed")]
    alarms = [each for each in healthy if not each["is_right"]]
    figure.parts = [
        Part(
            name=f"right in {len(SCENARIOS)} scenarios",
            estimate=exactly(sum(each.get("is_right", False) for each in verdicts))
            if n_built == len(SCENARIOS)
            else None,
            at_least=N_RIGHT,
            note="; ".join(_told(each) for each in verdicts if not each.get("is_right")),
        ),
        Part(
            name='"server" when it was the client',
            estimate=exactly(len(blamed)),
            at_most=0,
            note=", ".join(blamed),
        ),
        Part(
            name=f"false alarms in {len(healthy)} healthy runs",
            estimate=exactly(len(alarms)),
            at_most=N_FALSE_ALARMS,
            note=", ".join(f"{each['name']}: {each['said']}" for each in alarms),
        ),
    ]
    figure.command = (
        "taskset -c 1 httpdyno load URL -d 3s   # beside: taskset -c 1 sh -c 'while :; do :; done'"
    )
    return figure


def _verdict(setting: Setting, scenario: Scenario) -> Verdict:
    try:
        done = scenario.run(setting)
    except BenchError as error:
        return {"name": scenario.name, "failure": str(error)}
    said = done.window["limited_by"]
    return {
        "name": scenario.name,
        "said": said,
        "expected": sorted(scenario.limits),
        "is_right": said in scenario.limits,
        "is_server_blamed": said.startswith("server") and scenario.limits <= CLIENT,
        "run": done.record(),
    }


def _healthy(setting: Setting, index: int) -> Verdict:
    """Run with nothing wrong: in turn at a rate that all can do, and as many as are answered."""
    rate = HEALTHY_RATES_PER_S[index // 2 % len(HEALTHY_RATES_PER_S)]
    if index % 2:
        service = ("--service", "exp:5ms", "--workers", "2")
        run = _plain(*service, duration_s=_HEALTHY_S, connections=8)
        name, expected = "closed loop of 5 ms, two at a time", "server"
    else:
        run = _plain(duration_s=_HEALTHY_S, arrival=engine.even(rate))
        name, expected = f"{rate}/s", "rate"
    done = run(setting)
    said = done.window["limited_by"]
    return {
        "name": name,
        "said": said,
        "expected": [expected],
        "is_right": said == expected,
        "run": done.record(),
    }


def _job(setting: Setting, address: str, **job: Any) -> dict[str, Any]:
    return engine.job(setting, address, **{"duration_s": _RUN_S, "timeout_s": 5.0, **job})


@contextmanager
def _duty_cycle(pid: int) -> Iterator[None]:
    """Stop and continue a process in turn, from now on."""
    is_over = threading.Event()

    def alternate() -> None:
        try:
            while not is_over.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(_STOPPED_S)
                os.kill(pid, signal.SIGCONT)
                time.sleep(_RUNNING_S)
        except ProcessLookupError:
            return

    thread = threading.Thread(target=alternate)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _soon(act: Callable[[int], None]) -> Callable[[int], None]:
    """Return what starts a thread that does this to a process."""

    def start(pid: int) -> None:
        threading.Thread(target=act, args=(pid,), daemon=True).start()

    return start


def _told(verdict: Verdict) -> str:
    if "failure" in verdict:
        return f"{verdict['name']}: {verdict['failure']}"
    return f"{verdict['name']}: said {verdict['said']}, not {' or '.join(verdict['expected'])}"
