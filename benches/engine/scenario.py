"""Runs in which it is known who is limiting: built out of processes, for figure 6."""

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from benches.engine import engine
from benches.engine.origin import Nginx, Oracle, free_port
from benches.engine.process import Background
from benches.engine.setting import Setting

CLIENT = frozenset({"client_cpu", "client_schedule", "machine_cpu"})
"""All say that the client was not let do more."""
SERVER = frozenset({"server", "server_or_connections"})
"""The server; the other one where nothing tells, as after a cold start."""
CONNECTIONS = frozenset({"connections", "server_or_connections"})
RATE, NOBODY = frozenset({"rate"}), frozenset({""})
DISTURBED = frozenset({"machine_cpu", "server_or_connections"})
"""Right too where others, who are none of the scenario's, had the cores."""
_RUN_S = 3.0
_N_HOGS = 4
_RUNNING_S, _STOPPED_S = 0.02, 0.08
_FEW_DESCRIPTORS = 64
_FIRST_REQUESTS = 1_000
_LOOK_S = 0.05
_COLD_S = 0.9
"""From before the client's start: it takes a third of a second, and its first answers the rest."""
_SILENT_S = 30.0
_PATIENCE_S = 0.5
_FEW_PORTS = "40000 40199"
_IN_NAMESPACE = (
    "unshare", "--net", "sh", "-c",
    f"ip link set lo up && echo '{_FEW_PORTS}' >/proc/sys/net/ipv4/ip_local_port_range "
    '&& exec "$@"',
    "sh",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A run in which it is known who is limiting."""

    name: str
    limits: frozenset[str]
    """The verdicts that are right."""
    run: Callable[[Setting], engine.EngineRun]


Run = Callable[[Setting], engine.EngineRun]


def plain(*options: str, frozen_s: float = 0.0, **job: Any) -> Run:
    """Return a run against an oracle with these options, which is frozen for so long at first."""

    def run(setting: Setting) -> engine.EngineRun:
        with Oracle(setting, *options) as oracle:
            if frozen_s:
                oracle.stall(frozen_s)
            return engine.run_engine(setting, _job(setting, oracle.address, **job))

    return run


def _cold(*options: str, **job: Any) -> Run:
    """Return a run whose first answers are late."""
    return plain(*options, frozen_s=_COLD_S, **job)


def _unwanted(*shares: tuple[float, int], **job: Any) -> Run:
    """Return a run whose answers, a share of them each, are to have such a status."""
    requests = [{**engine.request(), "expect_status": status} for _, status in shares]
    return plain(requests=requests, weights=[share for share, _ in shares], **job)


def _deserted(**job: Any) -> Run:
    """Return a run against a port at which nobody listens."""
    return lambda setting: engine.run_engine(
        setting, _job(setting, f"127.0.0.1:{free_port()}", **job)
    )


def _distrusted(**job: Any) -> Run:
    """Return a run whose client does not trust the server's certificate."""

    def run(setting: Setting) -> engine.EngineRun:
        door = ("--tls-door", "127.0.0.1:0", "--tls-folder", str(setting.scratch))
        with Oracle(setting, *door) as oracle:
            what = _job(setting, oracle.doors[-1], **job)
            what["arms"][0]["tls"] = {
                "server_name": "127.0.0.1",
                "roots_pem": None,
                "identity_pem": None,
                "is_verified": True,
                "versions": "any",
                "resumes": True,
            }
            return engine.run_engine(setting, what)

    return run


def _crowded(*options: str, cpus: Sequence[str] = ("server_cpu", "client_cpu"), **job: Any) -> Run:
    """Return a run beside others that want these cores all the time."""

    def run(setting: Setting) -> engine.EngineRun:
        with ExitStack() as stack:
            oracle = stack.enter_context(Oracle(setting, *options))
            for cpu in cpus:
                for _ in range(_N_HOGS):
                    hog = ["sh", "-c", "while :; do :; done"]
                    stack.enter_context(Background(hog, cpu=getattr(setting, cpu)))
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


SCENARIOS = (
    Scenario(
        name="hogs on the client's core, closed loop",
        limits=CLIENT,
        run=_crowded(cpus=["client_cpu"]),
    ),
    Scenario(
        name="hogs on the client's core, 10,000/s",
        limits=CLIENT | RATE,
        run=_crowded(cpus=["client_cpu"], arrival=engine.even(10_000)),
    ),
    Scenario(name="client stopped 80 ms of 100", limits=CLIENT, run=_stopped_client),
    Scenario(
        name="64 descriptors, from then on", limits=frozenset({"descriptors"}), run=_few_descriptors
    ),
    Scenario(name="200 local ports", limits=frozenset({"ports"}), run=_few_ports),
    Scenario(
        name="backlog of 1, no keep-alive",
        limits=frozenset({"network"}),
        run=plain("--backlog", "1", requests_per_connection=1),
    ),
    Scenario(
        name="100/s of 500/s can be served",
        limits=frozenset({"server"}),
        run=plain("--service", "fixed:20ms", "--workers", "2", arrival=engine.even(500)),
    ),
    Scenario(name="server stopped 80 ms of 100", limits=frozenset({"server"}), run=_stopped_server),
    Scenario(name="nginx, one worker, compressing", limits=frozenset({"server"}), run=_nginx),
    Scenario(
        name="4 connections of 20 ms at 1,000/s",
        limits=frozenset({"connections"}),
        run=plain("--service", "fixed:20ms", connections=4, arrival=engine.even(1_000)),
    ),
    Scenario(
        name="5 connections of 20 ms",
        limits=frozenset({"connections"}),
        run=plain("--service", "fixed:20ms", connections=5),
    ),
    Scenario(name="1,000/s, reached", limits=RATE, run=plain(arrival=engine.even(1_000))),
    Scenario(name="8,000/s, all on one core", limits=CLIENT | RATE, run=_one_core),
    *(
        Scenario(
            name=f"{name}, {how}",
            limits=SERVER,
            run=plain(*options, connections=n, arrival=arrival),
        )
        for how, options in {
            "one of 2 ms at a time": ("--service", "fixed:2ms", "--workers", "1"),
            "four of 20 ms at a time": ("--service", "fixed:20ms", "--workers", "4"),
            "two of about 5 ms at a time": ("--service", "exp:5ms", "--workers", "2"),
            "one of 1 or 20 ms at a time": ("--service", "bimodal:1ms:20ms:0.1", "--workers", "1"),
        }.items()
        for name, n, arrival in (
            ("1,000/s, 20 connections", 20, engine.even(1_000)),
            ("about 1,000/s, 64 connections", 64, engine.even(1_000, is_poisson=True)),
        )
    ),
    *(
        Scenario(name=f"a cold start, {name}, one of 10 ms at a time", limits=SERVER, run=each)
        for name, each in {
            f"{how}, {n} connections": _cold(
                *("--service", "fixed:10ms", "--workers", "1"), connections=n, arrival=arrival
            )
            for n in (20, 40, 90)
            for how, arrival in {"500/s": engine.even(500), "closed loop": None}.items()
        }.items()
    ),
    Scenario(
        name="a cold start, 4 connections of 20 ms at 1,000/s",
        limits=CONNECTIONS,
        run=_cold("--service", "fixed:20ms", connections=4, arrival=engine.even(1_000)),
    ),
    Scenario(
        name="a cold start, 5 connections of 20 ms",
        limits=CONNECTIONS,
        run=_cold("--service", "fixed:20ms", connections=5),
    ),
    Scenario(
        name="10 connections of about 50 ms at 400/s",
        limits=CONNECTIONS,
        run=plain("--service", "exp:50ms", connections=10, arrival=engine.even(400)),
    ),
    *(
        Scenario(name=f"{rate}/s, reached: {name}", limits=RATE, run=each)
        for rate in (100, 300)
        for name, each in {
            "200 ms each": plain(
                *("--service", "fixed:200ms"), connections=200, arrival=engine.even(rate)
            ),
            "four of about 5 ms at a time": plain(
                *("--service", "exp:5ms", "--workers", "4"),
                arrival=engine.even(rate, is_poisson=True),
            ),
            "after a cold start": _cold(
                *("--service", "fixed:1ms", "--workers", "1"), arrival=engine.even(rate)
            ),
            "beside others on both cores": _crowded(arrival=engine.even(rate)),
        }.items()
    ),
    *(
        Scenario(name=f"{name}, {how}", limits=NOBODY, run=each)
        for how, arrival in {"closed loop": None, "200/s": engine.even(200)}.items()
        for name, each in {
            "nobody listens": _deserted(arrival=arrival),
            "another status than wanted": _unwanted((1.0, 204), arrival=arrival),
            "a certificate that is not trusted": _distrusted(arrival=arrival),
            "no answer at all": plain(frozen_s=_SILENT_S, timeout_s=_PATIENCE_S, arrival=arrival),
            "no answer in time": plain(
                *("--service", "fixed:5s"), timeout_s=_PATIENCE_S, arrival=arrival
            ),
        }.items()
    ),
    Scenario(
        name="a third of the answers wrong",
        limits=SERVER,
        run=_unwanted((2.0, 200), (1.0, 204), arrival=engine.even(500)),
    ),
    Scenario(
        name="others on both cores, closed loop",
        limits=CLIENT | {"server_or_connections"},
        run=_crowded(),
    ),
    Scenario(
        name="others on both cores, 100,000/s",
        limits=CLIENT | {"server_or_connections"},
        run=_crowded(arrival=engine.even(100_000)),
    ),
    Scenario(
        name="others on the server's core, one of 2 ms at a time",
        limits=SERVER,
        run=_crowded(*("--service", "fixed:2ms", "--workers", "1"), cpus=["server_cpu"]),
    ),
)
