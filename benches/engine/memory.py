"""Figure 7: memory, as the resident set of the process while it loads."""

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benches.engine import engine
from benches.engine.cost import CONNECTIONS
from benches.engine.figure import Figure, Part, exactly
from benches.engine.interval import median_of_runs
from benches.engine.origin import Oracle
from benches.engine.process import Background, BenchError, peak_bytes, resident_bytes
from benches.engine.setting import REPOSITORY, Setting

GROWTH_MB, PER_CONNECTION_KB, BASE_MB = 1.0, 4.0, 60.0
WHOLE_GROWTH_MB = 2.0
MB, KB = 1e6, 1e3
_FROM, _TO = 1_000_000, 20_000_000
_MANY_CONNECTIONS, _MANY_QUICK = 10_000, 1_000
_SPARE_DESCRIPTORS = 200
_LOOK_S = 0.2
_PATIENCE_S = 3600.0
_STEADY_S, _LAST_S = 3.0, 60.0
"""Imports and first buffers are there by then; and how long a test may go on as it was."""
_IDLE_SERVICE_S = 3
"""Connections wait so long for each answer that nearly all are idle at any time."""

Sample = dict[str, int]


def measure(setting: Setting) -> Figure:
    """Measure figure 7."""
    figure = Figure(number=7, name="memory")
    first, last = (_FROM // 20, _TO // 20) if setting.is_quick else (_FROM, _TO)
    growth = _growth(figure, setting, first, last)
    connections, cost = _per_connection(figure, setting)
    base = _base(figure, setting)
    last_s = setting.sized(int(_LAST_S), int(_LAST_S) // 6)
    whole_growth = _whole_growth(figure, setting, float(last_s))
    figure.parts = [
        Part(
            name=f"growth from {first:,} to {last:,} requests",
            estimate=exactly(growth / MB),
            unit=" MB",
            at_most=GROWTH_MB,
        ),
        Part(
            name=f"per idle connection, {CONNECTIONS} to {connections:,}",
            estimate=median_of_runs([each / KB for each in cost]),
            unit=" KB",
            at_most=PER_CONNECTION_KB,
        ),
        Part(
            name=f"whole program's peak at {CONNECTIONS} connections",
            estimate=median_of_runs([each / MB for each in base]),
            unit=" MB",
            at_most=BASE_MB,
            note="Python and all",
        ),
        Part(
            name=f"whole program's growth, second {_STEADY_S:g} to {last_s}",
            estimate=exactly(whole_growth / MB),
            unit=" MB",
            at_most=WHOLE_GROWTH_MB,
        ),
    ]
    figure.command = f"command time -v httpdyno load URL -c {CONNECTIONS} -n {last}"
    return figure


def _growth(figure: Figure, setting: Setting, first: int, last: int) -> int:
    """Return how much larger the process is after the last than after the first so many."""
    with Oracle(setting, "--log-capacity", "0") as oracle:
        what = engine.job(
            setting,
            oracle.address,
            connections=CONNECTIONS,
            n_requests=last + last // 50,
            duration_s=_PATIENCE_S,
        )
        with _sampled(oracle) as (samples, watch):
            done = engine.run_engine(setting, what, on_start=watch, timeout_s=_PATIENCE_S)
    engine.check_clean(done)
    figure.raw["growth"] = {"samples": samples, "run": done.record()}
    return _size_at(samples, last) - _size_at(samples, first)


def _size_at(samples: list[Sample], n_requests: int) -> int:
    for sample in samples:
        if sample["requests"] >= n_requests:
            return sample["rss_bytes"]
    raise BenchError(f"no sample was taken after {n_requests:,} requests")


def _per_connection(figure: Figure, setting: Setting) -> tuple[int, list[float]]:
    """Return how many connections there were, and what each of them took, run by run."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    many = min(setting.sized(_MANY_CONNECTIONS, _MANY_QUICK), hard - _SPARE_DESCRIPTORS)
    if many < _MANY_CONNECTIONS and not setting.is_quick:
        figure.notes.append(f"the limit of open files ({hard}) allows {many} connections")
    costs, raw = [], []
    for _ in range(setting.sized(3, 1)):
        sizes = {n: _idle_size(setting, n) for n in (CONNECTIONS, many)}
        costs.append((sizes[many] - sizes[CONNECTIONS]) / (many - CONNECTIONS))
        raw.append(sizes)
    figure.raw["rss_bytes_by_connections"] = raw
    return many, costs


def _idle_size(setting: Setting, connections: int) -> int:
    """Return the largest resident set while all connections are open and used once."""
    options = ("--service", f"fixed:{_IDLE_SERVICE_S}s", "--backlog", "4096")
    with Oracle(setting, *options) as oracle:
        what = engine.job(
            setting,
            oracle.address,
            connections=connections,
            duration_s=3.0 * _IDLE_SERVICE_S,
            timeout_s=20.0,
        )
        with _sampled(oracle) as (samples, watch):
            done = engine.run_engine(setting, what, on_start=watch)
    engine.check_clean(done)
    # Each connection has had an answer by then: its buffers were needed.
    used = [
        each["rss_bytes"]
        for each in samples
        if each["requests"] >= 2 * connections and each["open"] >= connections
    ]
    if not used:
        raise BenchError(f"{connections} connections were never all open: {samples[-1:]}")
    return max(used)


def _base(figure: Figure, setting: Setting) -> list[int]:
    program = str(REPOSITORY / ".venv" / "bin" / "httpdyno")
    with Oracle(setting, "--log-capacity", "0") as oracle:
        command = [program, "load", f"http://{oracle.address}/", "-c", str(CONNECTIONS), "-d", "3s"]
        peaks = [peak_bytes(command, cpu=setting.client_cpu) for _ in range(setting.sized(3, 1))]
    figure.raw["whole program"] = peaks
    return peaks


def _whole_growth(figure: Figure, setting: Setting, last_s: float) -> int:
    """Return how much the program grew while it loaded, its progress and all."""
    program = str(REPOSITORY / ".venv" / "bin" / "httpdyno")
    with Oracle(setting, "--log-capacity", "0") as oracle:
        words = ["load", f"http://{oracle.address}/", "-c", str(CONNECTIONS)]
        # It is looked at until a moment before its end, when it says what it saw.
        command = [program, *words, "-d", f"{last_s + 1:g}s"]
        with Background(command, cpu=setting.client_cpu) as loading:
            began_s = time.monotonic()
            sizes: list[int] = []
            while (elapsed_s := time.monotonic() - began_s) < last_s:
                if elapsed_s >= _STEADY_S:
                    sizes.append(resident_bytes(loading.pid))
                time.sleep(_LOOK_S)
    figure.raw["whole program by time"] = sizes
    return max(sizes) - sizes[0]


@contextmanager
def _sampled(oracle: Oracle) -> Iterator[tuple[list[Sample], Any]]:
    """Take samples of a process, from the moment that the second of what is given is called."""
    samples: list[Sample] = []
    is_over = threading.Event()
    failures: list[BenchError] = []

    def watch(pid: int) -> None:
        try:
            while not is_over.wait(_LOOK_S):
                counts = oracle.stats()
                # The oracle's own connection for this question is one of those open.
                samples.append(
                    {
                        "requests": counts["requests"],
                        "open": counts["open"] - 1,
                        "rss_bytes": resident_bytes(pid),
                    }
                )
        except FileNotFoundError:
            return
        except BenchError as error:
            failures.append(error)

    threads: list[threading.Thread] = []

    def start(pid: int) -> None:
        threads.append(threading.Thread(target=watch, args=(pid,)))
        threads[0].start()

    try:
        yield samples, start
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
