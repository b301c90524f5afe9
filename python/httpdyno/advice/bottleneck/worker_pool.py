"""The tests of a pool of workers: held by clients, all waiting for the same, or too few; pure.

To a request that waits for a worker all three are one: what the workers are at tells them apart.
"""

from collections.abc import Callable, Iterable

from httpdyno.advice.bottleneck.facts import Facts, called, of
from httpdyno.advice.bottleneck.unknown import LEAST_TOLD, unknown
from httpdyno.model import Bottleneck, Limit
from httpdyno.model.look import Doing

_MUCH = 0.6
"""Of the workers: so many held by one thing are what limits a pool."""
_A_WORKER, _HALF = 0.5, 0.5
_OF_WAITING = 0.8
"""Of those that neither run nor are ready to."""
_UNCLEAR = 0.5
"""Workers, on average: so many that may wait for a lock forbid to say that there are too few."""
_ENDED = 0.5
"""Of the workers: so many more that ended and wait to be replaced, and requests wait for births."""
_ASLEEP = 0.8
"""Of one thread's time: so much of it asleep is what keeps requests waiting."""
_SHARED: tuple[Doing, ...] = ("backend", "lock", "disk")
"""What several wait for serves no more because one more does."""
MORE_WORKERS = "more workers, as far as memory allows"


def _is_held(facts: Facts, n: float) -> bool:
    """Whether clients who hold so many workers keep others waiting, and cores do not."""
    is_most = facts.are_all_busy and n >= _MUCH * facts.workers
    return is_most and facts.unserved >= 1 and not facts.is_cpu_full


def _waits(
    limit: Limit, doing: str, what: str, advice: str
) -> Callable[[Facts], Bottleneck | None]:
    """Return a test for workers that all wait for the same while there are cores left."""

    def test(facts: Facts) -> Bottleneck | None:
        at, waiting = facts.at(doing), facts.busy - facts.at("running")
        is_most = at >= _HALF * facts.busy and at >= _OF_WAITING * waiting
        if at < _A_WORKER or not is_most or not facts.has_cpu_left:
            return None
        return Bottleneck(
            limit=limit,
            reason=f"of {of(facts.busy)} busy workers {of(facts.at(doing))} waited for {what}; "
            f"{facts.cores_text}",
            evidence={f"{doing}_workers": facts.at(doing), "busy_workers": facts.busy},
            advice=advice,
        )

    return test


def backend(facts: Facts) -> Bottleneck | None:
    """Name another server that most busy workers wait for."""
    found = _waits("backend", "backend", where(facts), "look at what it waits for")(facts)
    if found is None or not (facts.are_all_busy and facts.unserved >= 1):
        return found
    return unknown(
        f"all {facts.workers_text} were busy, {of(facts.at('backend'))} of them waiting for "
        f"{where(facts)}, while {of(facts.unserved)} requests waited for a worker: more of them "
        "help only if what they wait for serves more at a time",
        found.evidence,
    )


def where(facts: Facts) -> str:
    """Return the address that most of those wait for who wait for another server.

    With the name of who listens there, where that is one of its own companions.
    """
    backends = facts.look.backends
    if not backends:
        return "another server"
    address = max(backends, key=backends.__getitem__)
    companion = next((c for c in facts.look.companions if _is_at(address, c.addresses)), None)
    return f"{called(companion)} at {address}" if companion else address


def _is_at(address: str, listening: Iterable[str]) -> bool:
    """Whether one of those that listen is at an address; whoever listens everywhere is."""
    if address.startswith("unix:"):
        return address in listening
    port = address.rpartition(":")[2]
    return any(each in {address, f"0.0.0.0:{port}", f"[::]:{port}"} for each in listening)


def too_few_workers(facts: Facts) -> Bottleneck | None:
    """Name the number of workers, where all are busy by themselves and cores are left."""
    # What waits only now and then is no queue. Who waits for nobody knows what may be free.
    if not (facts.are_all_known_busy and facts.unserved >= 1 and facts.has_cpu_left):
        return None
    if facts.look.unclear >= _UNCLEAR:
        return None
    # Children of workers that nobody waits for are dead for good; of a pool others go meanwhile.
    if facts.own_deaths and (ended := facts.at("zombie")) >= _ENDED * facts.workers:
        return unknown(
            f"all {facts.workers_text} were busy and {of(facts.unserved)} requests waited for one, "
            f"but {of(ended)} more had ended and none had taken their place yet: more workers help "
            "only if they do not end as soon",
            {"ended_workers": ended, "workers": facts.workers},
        )
    if facts.at(*_SHARED) >= _HALF * facts.busy:
        return unknown(
            f"all {facts.workers_text} were busy and {of(facts.unserved)} requests waited for one, "
            f"but half of the workers or more waited for what they share ({_shared(facts)}): more "
            "workers help only if that serves more at a time",
            {f"{name}_workers": n for name in _SHARED if (n := facts.at(name))},
        )
    return Bottleneck(
        limit="too_few_workers",
        reason=f"all {facts.workers_text} were busy and {of(facts.unserved)} requests waited for "
        f"one, while {facts.cores_text}",
        evidence={
            "workers": facts.workers,
            "unserved": facts.unserved,
            "server_cores": facts.cpu_cores,
        },
        advice=MORE_WORKERS,
    )


def asleep_before_requests(facts: Facts) -> Bottleneck | None:
    """Name the number of workers, where requests lie unread while who would read them sleeps.

    Of a process with an event loop and other threads, all of which are idle, its workers do not
    say so. Who waits for any event does not sleep: it may leave a body unread for a slow backend.
    """
    look = facts.look
    if facts.are_all_known_busy:
        return None  # they say so themselves
    is_left = look.unread >= max(1.0, _HALF * look.clients)
    wants_none = facts.at("running", *_SHARED) <= 1 - _ASLEEP
    if not (is_left and look.loops_asleep >= _ASLEEP and wants_none):
        return None
    return Bottleneck(
        limit="too_few_workers",
        reason=f"{of(look.unread)} of {of(look.clients)} requests under way lay unread while the "
        f"thread that reads them slept; {facts.cores_text}",
        evidence={
            "unread": look.unread,
            "loops_asleep": look.loops_asleep,
            "server_cores": facts.cpu_cores,
        },
        advice="more processes, as far as memory allows, or no call that sleeps in their event "
        "loops",
    )


def _shared(facts: Facts) -> str:
    what = {"backend": where(facts), "lock": "a lock", "disk": "a disk"}
    told = {name: n for name in _SHARED if (n := facts.at(name)) >= LEAST_TOLD}
    return ", ".join(f"{of(n)} for {what[name]}" for name, n in told.items())


def keep_alive(facts: Facts) -> Bottleneck | None:
    """Name kept connections, which hold workers though they say nothing."""
    reading = facts.at("client_read")
    if not _is_held(facts, reading):
        return None
    evidence = {
        "client_read_workers": reading,
        "workers": facts.workers,
        "unserved": facts.unserved,
    }
    if facts.kept < _MUCH * facts.workers:
        return unknown(
            f"{of(reading)} of {facts.workers_text} read from clients that are silent, send slowly "
            f"or close late{facts.closing_text}, while {of(facts.unserved)} others waited",
            evidence,
        )
    return Bottleneck(
        limit="keep_alive",
        reason=f"{of(reading)} of {facts.workers_text} were held by clients that say nothing, "
        f"while {of(facts.unserved)} requests waited for one; {facts.cores_text}",
        evidence=evidence,
        advice="a shorter KeepAliveTimeout, more workers, or a server in front that keeps "
        "connections",
    )


lock = _waits("lock", "lock", "a lock", "hold it for less, or have more of them")
disk = _waits("disk", "disk", "a disk", "fewer or later writes, or a faster disk")


def slow_clients(facts: Facts) -> Bottleneck | None:
    """Name clients that take their answers slowly, also what of these the kernel has already."""
    writing, untaken = facts.at("client_write"), facts.untaken
    if not _is_held(facts, writing + untaken):
        return None
    closing = f" ({of(untaken)} of them are closing the connection)"
    buffer = ", or a larger send buffer" if writing > untaken else ""
    evidence = {"client_write_workers": writing, "closing_workers": untaken}
    return Bottleneck(
        limit="slow_clients",
        reason=f"{of(writing + untaken)} of {facts.workers_text} were held by clients that take "
        f"their answer slowly{closing if untaken >= LEAST_TOLD else ''}, while "
        f"{of(facts.unserved)} requests waited for one; {facts.cores_text}",
        evidence=evidence | {"workers": facts.workers, "unserved": facts.unserved},
        advice=f"a buffering proxy in front{buffer}",
    )
