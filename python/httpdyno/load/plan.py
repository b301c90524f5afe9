"""A load test that can begin: where to, what, how long and from which cores, all of it checked."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import structs

from httpdyno.load.access_log import Recording, read_access_log
from httpdyno.load.check import check_headers, check_workload
from httpdyno.load.machine import check_descriptors, usual_spin_s
from httpdyno.load.message import check_tls
from httpdyno.load.target import Target, addresses_of, check_permitted, taking
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import Replay, Workload


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadPlan:
    """A load test that can begin."""

    target: Target
    address: str
    addresses: tuple[str, ...]
    """All that the name has, in the order in which they are tried."""
    workload: Workload
    recording: Recording | None
    """Of a replay: when its requests are due."""
    window: WindowPlan
    seed: int
    threads: int
    cpus: tuple[int, ...]
    spin_s: float
    warm_up: WindowPlan | None = None
    """The same load before it is measured."""

    @property
    def windows(self) -> list[WindowPlan]:
        """What is loaded; the last one is measured."""
        return [self.window] if self.warm_up is None else [self.warm_up, self.window]


def load_plan(  # noqa: PLR0913 - all that a load is made of
    target: Target,
    workload: Workload,
    window: WindowPlan,
    *,
    seed: int,
    threads: int,
    cpus: tuple[int, ...] = (),
    spin_s: float | None = None,
    warm_up: WindowPlan | None = None,
    allowed_host: str | None = None,
    log_headers: tuple[tuple[str, str], ...] = (),
    log_expect: Callable[[int], int | None] | None = None,
) -> LoadPlan:
    """Return the plan, having looked at all that can be wrong with it; a log is read here.

    Args:
        target: The server.
        workload: What it is offered; of a replay without requests.
        window: Ends with the log where that is shorter.
        seed: Of all that is random.
        threads: That send.
        cpus: Which they are kept on; empty leaves them free.
        spin_s: Polling before each due time; None is what suits this machine.
        warm_up: The same load before it is measured.
        allowed_host: May be loaded though it is neither this machine nor in a private network.
        log_headers: Of a replay: sent with each request.
        log_expect: Of a replay: the right status to one that the log has; None is as it says.

    Raises:
        UsageError: Something makes no sense.
        TargetError: The server has no address.
    """
    check_workload(workload)
    if isinstance(workload.arrival, Replay):
        check_headers(log_headers)
    if workload.tls is not None:
        check_tls(workload.tls)
    check_descriptors(workload, threads)
    addresses = addresses_of(target)
    address = taking(target, addresses, allowed_host=allowed_host)
    check_permitted(target, address, allowed_host=allowed_host)
    recording = None
    if isinstance(workload.arrival, Replay):
        # Last, because a long log takes seconds.
        recording = read_access_log(
            workload.arrival, seed=seed, headers=log_headers, expect=log_expect
        )
        workload = structs.replace(workload, requests=recording.requests)
        n = len(recording.steps)
        window = replace(window, n_requests=min(window.n_requests or n, n))
    return LoadPlan(
        target=target,
        address=address,
        addresses=addresses,
        workload=workload,
        recording=recording,
        window=window,
        seed=seed,
        threads=threads,
        cpus=cpus,
        spin_s=usual_spin_s(workload, address) if spin_s is None else spin_s,
        warm_up=warm_up,
    )
