"""One start of a study's server as it is to begin with, each of its requests asked once.

It claims nothing: it says whether the study can run, and what that will cost.
"""

import http.client
import math
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex

from httpdyno.errors import AdapterError
from httpdyno.experiment.bench import StartRequest, block_order
from httpdyno.experiment.calibration import N_STARTS
from httpdyno.experiment.looks_to_take import LooksToTake
from httpdyno.experiment.planning import comparisons_ahead, n_at_once
from httpdyno.experiment.server_bench import ServerBench
from httpdyno.experiment.start_arm import READY_TIMEOUT_S
from httpdyno.load.access_log import read_access_log
from httpdyno.model import Configuration, Effective, Plan, Replay, RequestSpec, StartRecord, Study
from httpdyno.servers.adapter import NotRunning, Prepared, Running, ServerAdapter
from httpdyno.servers.address import connected, host_header
from httpdyno.servers.run_data import RunData
from httpdyno.servers.run_folder import new_run_root

MOST_OF_LOG = 50
"""Requests of a replayed log that are asked: a log may hold many thousands."""

_MOST_BYTES = 64 << 20
_REDIRECT_OR_OK = range(200, 400)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What came of one request."""

    request: str
    """`GET /list`."""
    expected: str
    """The right answer: `200`, `any 2xx or 3xx`, with its length where that is known."""
    status: int
    """0 where there was no answer."""
    words: str
    """Why there was none; empty where there was one."""
    duration_s: float
    n_bytes: int
    is_right: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OneStart:
    """What one start showed."""

    version: str
    ready_s: float
    """From the start on, with what prepares it."""
    effective: Effective
    answers: tuple[Answered, ...]
    n_left_out: int = 0
    """Requests of a replayed log that were not asked."""
    prepare_s: float = 0.0
    """What of `ready_s` went into a site's `prepare`; of other servers it is not told apart."""


def one_start(adapter: ServerAdapter, study: Study) -> OneStart:
    """Start the server once, ask each request once, end it.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words.
    """
    version = adapter.version(study.server, Path(study.folder))
    requests = _requests(study)
    with one_server(adapter, study, study.start_configuration()) as up:
        running = up.running
        return OneStart(
            version=version,
            ready_s=up.ready_s,
            effective=up.effective,
            answers=_answers(running, study, requests[:MOST_OF_LOG]),
            prepare_s=running.prepare_s if isinstance(running, Prepared) else 0.0,
            n_left_out=max(0, len(requests) - MOST_OF_LOG),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Up:
    """A server that is up, alone."""

    running: Running
    effective: Effective
    ready_s: float


@contextmanager
def one_server(adapter: ServerAdapter, study: Study, configuration: Configuration) -> Iterator[Up]:
    """Start a study's server in a configuration, and end it with the block.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words.
    """
    folder, of_server = Path(study.folder), study.of_server(configuration)
    with new_run_root() as root, RunData(study.server, root, adapter=adapter) as data:
        data.make()
        began_s = time.monotonic()
        running = adapter.spawn(study.server, folder, of_server, root.new_place("check"))
        if isinstance(running, NotRunning):
            raise _not_up(running)
        try:
            effective = running.await_ready(READY_TIMEOUT_S)
            if isinstance(effective, NotRunning):
                raise _not_up(effective)
            ready_s = time.monotonic() - began_s
            yield Up(running=running, effective=effective, ready_s=ready_s)
        finally:
            running.stop()


def start_of_two(adapter: ServerAdapter, study: Study, *, seed: int) -> StartRecord:
    """Return one start of the server against itself, with all of its windows: what it costs."""
    method, start = study.method, study.start_configuration()
    request = StartRequest(
        comparison=0,
        start=0,
        arms=(start, start),
        order=block_order(2, method.blocks_per_start, seed=seed, comparison=0, start=0),
        window_s=method.window_s,
        lead_in_s=method.lead_in_s,
        warm_up_s=method.warm_up_s,
    )
    with ServerBench(adapter=adapter, study=study, seed=seed) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
    return record


def whole_s(plan: Plan, record: StartRecord, *, can_count: bool) -> tuple[float, float]:
    """Return what the fewest starts of a whole plan take: all side by side, and one by one.

    Where the fewest do not decide, it takes more. What is looked at besides is in both.

    Args:
        plan: Of a ladder, a table, a sweep or a factorial.
        record: A start of two, alone.
        can_count: Whether system calls can be counted here.
    """
    looks_s = LooksToTake(can_count=can_count).expected_s(comparisons_ahead(plan))
    method, n_steps, start_s = plan.study.method, len(plan.steps), record.duration_s
    if method.is_all_at_once:
        # All are up in each start; the final claim has two.
        one_by_one_s = method.min_starts * (n_at_once(plan) / 2 + 1) * start_s + looks_s
        return one_by_one_s, one_by_one_s
    load_s = sum(window.measurement.total_s for window in record.windows)
    coming_up_s = max(0.0, start_s - load_s)

    def together_s(n_starts: int) -> float:
        """The first start of a comparison is alone, the others come up in batches."""
        later = n_starts - 1
        return start_s + later * load_s + math.ceil(later / method.side_by_side) * coming_up_s

    if plan.reference is not None:
        # Each has starts of its own, and nothing comes before or after.
        return n_steps * together_s(method.min_starts), method.min_starts * n_steps * start_s
    n_comparisons = n_steps + 1
    least_s = together_s(N_STARTS) + n_comparisons * together_s(method.min_starts)
    most_s = (N_STARTS + method.min_starts * n_comparisons) * start_s
    return least_s + looks_s, most_s + looks_s


def _not_up(failed: NotRunning) -> AdapterError:
    return AdapterError(
        f"the server did not come up, it {_STATUS[failed.status]}: {failed.detail}".rstrip(": "),
        hint="these are its own words; correct the study or its files, and check again",
    )


_STATUS = {
    "refused": "refused its configuration",
    "crashed": "crashed",
    "hung": "did not answer in time",
    "unstable": "is unstable",
    "infeasible": "cannot run so",
    "complete": "ended",
}


def _requests(study: Study) -> Sequence[RequestSpec]:
    """Return what is asked: what users ask for first, then the rest, once each."""
    load = study.load_of(study.start_configuration())
    own = read_access_log(load.arrival).requests if isinstance(load.arrival, Replay) else ()
    return tuple(dict.fromkeys(chain(load.first, own or load.requests)))


def _answers(
    running: Running, study: Study, requests: Sequence[RequestSpec]
) -> tuple[Answered, ...]:
    cookies: dict[str, str] = {}
    return tuple(_asked(running, study, request, cookies) for request in requests)


def _asked(
    running: Running, study: Study, request: RequestSpec, cookies: dict[str, str]
) -> Answered:
    """Return what came of one request; takes in the cookies that it brought."""
    began_s = time.monotonic()
    status, words, n_bytes = 0, "", 0
    try:
        connection = _connection(running, study)
        try:
            connection.request(
                request.method,
                _filled(request.path),
                body=_body(request) or None,
                headers=_headers(running, request, cookies),
            )
            answer = connection.getresponse()
            n_bytes = len(answer.read(_MOST_BYTES))
            status = answer.status
            for line in answer.headers.get_all("set-cookie", []):
                name, _, value = line.partition(";")[0].partition("=")
                cookies[name.strip()] = value.strip()
        finally:
            connection.close()
    except TimeoutError:
        words = f"no answer within {study.workload.timeout_s:g} s"
    except (OSError, http.client.HTTPException, ValueError) as error:
        words = str(error) or type(error).__name__
    return Answered(
        request=f"{request.method} {request.path}",
        expected=_expected(request),
        status=status,
        words=words,
        duration_s=time.monotonic() - began_s,
        n_bytes=n_bytes,
        is_right=_is_right(request, status, n_bytes),
    )


def _connection(running: Running, study: Study) -> http.client.HTTPConnection:
    address, timeout_s = running.addresses[0], study.workload.timeout_s
    connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
    socket = connected(address, timeout_s, running.networks[0] if running.networks else "")
    tls = study.workload.tls
    if tls is not None:
        # As the load does where the copy has a stand-in for a key: it is our own server.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        socket = context.wrap_socket(socket, server_hostname=tls.server_name or "localhost")
    connection.sock = socket
    return connection


def _headers(running: Running, request: RequestSpec, cookies: dict[str, str]) -> dict[str, str]:
    found = {"Host": host_header(running.addresses[0]), "Connection": "close"}
    if cookies:
        found["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    for name, value in request.headers:
        same = next((each for each in found if each.lower() == name.lower()), name)
        found[same] = _filled(value)
    return found


def _body(request: RequestSpec) -> bytes:
    if request.body_file:
        return Path(request.body_file).read_bytes()
    return _filled(request.body).encode()


def _filled(text: str) -> str:
    """Return a text with what stands for a number, a user and something random put in."""
    return text.replace("{n}", "1").replace("{user}", "1").replace("{random}", token_hex(8))


def _expected(request: RequestSpec) -> str:
    status = "any 2xx or 3xx" if request.expect_status is None else str(request.expect_status)
    if request.expect_length is None:
        return status
    return f"{status} with {request.expect_length:,} bytes"


def _is_right(request: RequestSpec, status: int, n_bytes: int) -> bool:
    wanted = request.expect_status
    is_status = status in _REDIRECT_OR_OK if wanted is None else status == wanted
    return is_status and request.expect_length in {None, n_bytes}
