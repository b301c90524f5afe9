"""The verdict: tests one after the other, each of which knows one limit; pure.

A test names its limit only where the figures say so and nothing of the others does; the order is
that of what hides what. Memory that is short makes disks busy, processes that come and go use up
the cores, workers that are held let the queue overflow. What no test knows is `unknown`, with what
was seen. A wrong word is worse than none: each test leaves a band between yes and no.
"""

import re
from collections.abc import Callable, Iterable

from msgspec import structs

from httpdyno.advice.bottleneck.facts import HARDLY_ANY, Facts, called
from httpdyno.model import Bottleneck, Limit, LogKind, LogLines, Look
from httpdyno.model.look import LEAST_SAMPLES, CompanionSeen, Doing
from httpdyno.reason import Reason, because

# What is said where no limit can be named: that it cannot be told, why, and what was seen.

LEAST_TOLD = 0.05
"""Workers at something, on average: of fewer nothing is said."""


def unknown(why: Reason, evidence: dict[str, float] | None = None) -> Bottleneck:
    """Return the verdict that names no limit, with the reason, and what it would be named by."""
    return Bottleneck(limit="unknown", reason=why, evidence=evidence or {})


def _seen(facts: Facts) -> Reason:
    """Return what was seen of workers, requests and cores."""
    look = facts.look
    most_first = sorted(look.doing.items(), key=lambda item: -item[1])
    doing = [because("advice.doing", n=n, doing=at) for at, n in most_first if n >= LEAST_TOLD]
    return because(
        "advice.seen_at" if doing else "advice.seen",
        workers=facts.workers,
        doing=doing,
        clients=look.clients,
        cores=facts.cores,
    )


def _but_hidden(why: Reason, look: Look) -> Reason:
    """Return why nothing can be told, with what could not be looked at."""
    return because("advice.hidden", why=why, hidden=look.hidden) if look.hidden else why


# The tests of a pool of workers: held by clients, all waiting for the same, or too few; pure.
#
# To a request that waits for a worker all three are one: what the workers are at tells them apart.

_MUCH_OF_WORKERS = 0.6
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
MORE_WORKERS = because("advice.try_more_workers")


def _is_held(facts: Facts, n: float) -> bool:
    """Whether clients who hold so many workers keep others waiting, and cores do not."""
    is_most = facts.are_all_busy and n >= _MUCH_OF_WORKERS * facts.workers
    return is_most and facts.unserved >= 1 and not facts.is_cpu_full


def _waits(
    limit: Limit, doing: str, what: Callable[[Facts], str | Reason], advice: Reason
) -> Callable[[Facts], Bottleneck | None]:
    """Return a test for workers that all wait for the same while there are cores left."""

    def test(facts: Facts) -> Bottleneck | None:
        at, waiting = facts.at(doing), facts.busy - facts.at("running")
        is_most = at >= _HALF * facts.busy and at >= _OF_WAITING * waiting
        if at < _A_WORKER or not is_most or not facts.has_cpu_left:
            return None
        return Bottleneck(
            limit=limit,
            reason=because(
                "advice.waited", busy=facts.busy, n=at, what=what(facts), cores=facts.cores
            ),
            evidence={f"{doing}_workers": facts.at(doing), "busy_workers": facts.busy},
            advice=advice,
        )

    return test


def backend(facts: Facts) -> Bottleneck | None:
    """Name another server that most busy workers wait for."""
    found = _waits("backend", "backend", where, because("advice.try_backend"))(facts)
    if found is None or not (facts.are_all_busy and facts.unserved >= 1):
        return found
    why = because(
        "advice.backend_or_few",
        workers=facts.workers,
        n=facts.at("backend"),
        what=where(facts),
        unserved=facts.unserved,
    )
    return unknown(why, found.evidence)


def where(facts: Facts) -> str | Reason:
    """Return the address that most of those wait for who wait for another server.

    With the name of who listens there, where that is one of its own companions.
    """
    backends = facts.look.backends
    if not backends:
        return because("advice.another_server")
    address = max(backends, key=backends.__getitem__)
    companion = next((c for c in facts.look.companions if _is_at(address, c.addresses)), None)
    return because("advice.at", who=called(companion), address=address) if companion else address


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
        why = because("advice.ended", workers=facts.workers, unserved=facts.unserved, ended=ended)
        return unknown(why, {"ended_workers": ended, "workers": facts.workers})
    if facts.at(*_SHARED) >= _HALF * facts.busy:
        why = because(
            "advice.shared",
            workers=facts.workers,
            unserved=facts.unserved,
            shared=_shared(facts),
        )
        return unknown(why, {f"{name}_workers": n for name in _SHARED if (n := facts.at(name))})
    return Bottleneck(
        limit="too_few_workers",
        reason=because(
            "advice.too_few_workers",
            workers=facts.workers,
            unserved=facts.unserved,
            cores=facts.cores,
        ),
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
        reason=because(
            "advice.unread", unread=look.unread, clients=look.clients, cores=facts.cores
        ),
        evidence={
            "unread": look.unread,
            "loops_asleep": look.loops_asleep,
            "server_cores": facts.cpu_cores,
        },
        advice=because("advice.try_processes"),
    )


def _shared(facts: Facts) -> tuple[Reason, ...]:
    what = {"backend": where(facts), "lock": _lock(facts), "disk": _disk(facts)}
    told = {name: n for name in _SHARED if (n := facts.at(name)) >= LEAST_TOLD}
    return tuple(because("advice.for_what", n=n, what=what[name]) for name, n in told.items())


def _lock(_facts: Facts) -> Reason:
    return because("advice.a_lock")


def _disk(_facts: Facts) -> Reason:
    return because("advice.a_disk")


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
    if facts.kept < _MUCH_OF_WORKERS * facts.workers:
        why = because(
            "advice.silent_closing" if facts.closing else "advice.silent",
            n=reading,
            workers=facts.workers,
            closing=facts.closing,
            unserved=facts.unserved,
        )
        return unknown(why, evidence)
    return Bottleneck(
        limit="keep_alive",
        reason=because(
            "advice.keep_alive",
            n=reading,
            workers=facts.workers,
            unserved=facts.unserved,
            cores=facts.cores,
        ),
        evidence=evidence,
        advice=because("advice.try_shorter_keep_alive"),
    )


lock = _waits("lock", "lock", _lock, because("advice.try_locks"))
disk = _waits("disk", "disk", _disk, because("advice.try_writes"))


def slow_clients(facts: Facts) -> Bottleneck | None:
    """Name clients that take their answers slowly, also what of these the kernel has already."""
    writing, untaken = facts.at("client_write"), facts.untaken
    if not _is_held(facts, writing + untaken):
        return None
    evidence = {"client_write_workers": writing, "closing_workers": untaken}
    return Bottleneck(
        limit="slow_clients",
        reason=because(
            "advice.slow_clients_closing" if untaken >= LEAST_TOLD else "advice.slow_clients",
            n=writing + untaken,
            workers=facts.workers,
            closing=untaken,
            unserved=facts.unserved,
            cores=facts.cores,
        ),
        evidence=evidence | {"workers": facts.workers, "unserved": facts.unserved},
        advice=because("advice.try_proxy_or_buffer" if writing > untaken else "advice.try_proxy"),
    )


_MUCH = 0.6
"""Of the cores that are busy, or that it may use: who has so much of them is at their limit."""
_CLIENT = {
    "client_cpu": because("advice.client_cpu"),
    "machine_cpu": because("advice.client_cpus_taken"),
    "client_schedule": because("advice.client_late"),
    "descriptors": because("advice.client_files"),
    "ports": because("advice.client_ports"),
}
_STARVED = frozenset({"client_cpu", "machine_cpu", "client_schedule"})
"""Those that come also of what others take."""
_OTHERS, _LOST = 0.1, 0.05
"""Cores, and a part of a thread's time: one who looks and the kernel itself take less."""
_ENOUGH = frozenset({"rate", "connections"})
"""The client's own words for a server that could have done more."""
_SERVER, _EITHER = "server", "server_or_connections"
_NOT_OF_IT = frozenset({"nothing", "load_generator"})
"""Limits that say nothing of what in a server was short."""


def bottleneck(look: Look) -> Bottleneck:
    """Return what limited a server while it was looked at."""
    facts = Facts(look)
    if look.n_samples < LEAST_SAMPLES:
        is_once = look.n_samples == 1
        why = because("advice.sampled_once" if is_once else "advice.sampled", n=look.n_samples)
        return unknown(_but_hidden(why, look))
    if not look.answers:
        return unknown(because("advice.no_answer"))
    told = (test(facts) for test in (_TESTS if facts.has_workers else _TESTS_WITHOUT_WORKERS))
    why = _seen(facts) if facts.has_workers else facts.none_there
    found = next((each for each in told if each is not None), None)
    found = found or unknown(_but_hidden(why, look))
    return structs.replace(found, answer_time=facts.answer_time)


def of_the_server(limited_by: str, found: Bottleneck) -> tuple[str, Bottleneck | None]:
    """Return one verdict of a load's and of a look's: who was the limit, and what of a server.

    Only where a load says that it was, or may have been, the server a look says what of it. Of one
    that had room under more of the same load it says nothing.

    Args:
        limited_by: By the load's own evidence.
        found: By a look at the server.
    """
    if limited_by not in {_SERVER, _EITHER} or found.limit in _NOT_OF_IT:
        return limited_by, None
    return limited_by if found.limit == "unknown" else _SERVER, found


def _load_generator(facts: Facts) -> Bottleneck | None:
    look = facts.look
    why = _CLIENT.get(look.client_limit)
    # A client that was late and yet had its answers kept nobody from anything.
    if why is None or facts.is_met:
        return None
    # Nor is it the client where others have the cores, and what it sent queues at who sleeps.
    if facts.are_cores_of_others and facts.waiting >= 1:
        return None
    if facts.site_cores >= _MUCH * look.cpus:
        return unknown(
            because("advice.either_short", why=why, server=facts.site_cores, cpus=look.cpus)
        )
    has_lost = look.client_lost_ratio is None or look.client_lost_ratio >= _LOST
    if look.client_limit in _STARVED and has_lost and facts.others_cores >= _OTHERS:
        return unknown(
            because(
                "advice.client_or_others",
                why=why,
                others=facts.others_cores,
                n=look.host_cpus,
            ),
            {"others_cores": facts.others_cores, "client_cores": facts.client_cores},
        )
    return Bottleneck(
        limit="load_generator",
        reason=because("advice.client", why=why, server=facts.site_cores, cpus=look.cpus),
        evidence={"server_cores": facts.site_cores, "cores": look.cpus},
        advice=because("advice.try_other_client"),
    )


_FAULTS_PER_ANSWER = 0.5


def _memory(facts: Facts) -> Bottleneck | None:
    look = facts.look
    hits, faults = look.memory_limit_hits or 0, facts.per_answer(look.major_faults)
    pressure = look.pressure.get("memory", 0.0)
    # Pressure is the whole machine's: by itself it says nothing of this server. So are pages from
    # swap: fewer than the faults that are asked for do not explain them, which may be of files.
    is_short = bool(hits) or facts.per_answer(look.swap_ins) >= _FAULTS_PER_ANSWER
    if not is_short or faults < _FAULTS_PER_ANSWER:
        return None
    what = [
        *([because("advice.group_limit", n=hits)] if hits else []),
        *([because("advice.swapped_in", n=look.swap_ins)] if look.swap_ins else []),
        because("advice.faults", n=faults),
        *([because("advice.pressure", ratio=pressure)] if pressure else []),
    ]
    return Bottleneck(
        limit="memory",
        reason=because("advice.memory", signs=what),
        evidence={
            "memory_limit_hits": hits,
            "swap_ins": look.swap_ins,
            "major_faults_per_answer": faults,
            "memory_pressure_ratio": pressure,
        },
        advice=because("advice.try_less_memory"),
    )


_BIRTHS_PER_ANSWER = 0.5
_SEEN_BIRTHS_PER_ANSWER, _FORKS_PER_ANSWER = 0.2, 0.8
"""Seen, where the whole machine began about one for each answer: of processes that live for less
than the time between two samples half or more are not seen."""
_SPAWN_RATIO = 0.3
_MOSTLY = 0.5
"""Of the births: where more are a companion's, it is its processes that have to live longer."""
_SHORT_LIFE_S = 1.0


def _spawning(facts: Facts) -> Bottleneck | None:
    look = facts.look
    per_answer = facts.per_answer(look.births)
    ratio = (facts.spawn_cpu_s or 0.0) / look.cpu_s if look.cpu_s else 0.0
    forks_per_answer = facts.per_answer(look.host_forks or 0)
    may_be_each = per_answer >= _SEEN_BIRTHS_PER_ANSWER and forks_per_answer >= _FORKS_PER_ANSWER
    is_each = (per_answer >= _BIRTHS_PER_ANSWER or may_be_each) and ratio >= _SPAWN_RATIO
    # A pool whose workers die within a second waits for new ones, whatever the cores do. Where
    # hardly ever one is there, who only went may have crashed, and who only came be the first.
    n_ended = facts.own_deaths if facts.has_workers else min(facts.own_births, facts.own_deaths)
    is_short_lived = facts.per_s(n_ended) * _SHORT_LIFE_S >= max(facts.workers, HARDLY_ANY)
    is_dying = is_short_lived and not facts.is_cpu_full and facts.unserved >= 1
    if not (is_each or is_dying):
        return None
    # What comes and goes in a database is nothing to a pool that dies.
    births, deaths = (
        (facts.own_births, facts.own_deaths) if is_dying else (look.births, look.deaths)
    )
    theirs = None if is_dying else _mostly_theirs(look)
    # Who came and went between two samples was not seen.
    why = because(
        "advice.spawning",
        began=because(
            "advice.began_of" if theirs else "advice.began",
            n=facts.per_s(births),
            theirs=facts.per_s(theirs.births) if theirs else 0.0,
            who=called(theirs) if theirs else "",
        ),
        ended=facts.per_s(deaths),
        each=facts.per_answer(births),
    )
    if facts.spawn_cpu_s is not None:
        # Where nobody waits for them, or not soon, what they used is not known.
        why = because("advice.spawning_used", why=why, ratio=ratio)
    return Bottleneck(
        limit="spawning",
        reason=why,
        evidence={
            "births_per_s": facts.per_s(births),
            "births_per_answer": facts.per_answer(births),
            **({} if facts.spawn_cpu_s is None else {"spawn_cpu_ratio": ratio}),
            **({"machine_births_per_answer": forks_per_answer} if look.host_forks else {}),
        },
        advice=because(
            "advice.try_longer_lives_of" if theirs else "advice.try_longer_lives",
            who=called(theirs) if theirs else "",
        ),
    )


def _mostly_theirs(look: Look) -> CompanionSeen | None:
    """Return the companion that most processes came to; None where none has most."""
    most = max(look.companions, key=lambda each: each.births, default=None)
    return most if most is not None and most.births > _MOSTLY * look.births else None


_OVERFLOWS_PER_ANSWER = 0.005
_LONG_QUEUE = 0.5
"""Of its backlog, at the longest that was seen."""


def _listen_queue(facts: Facts) -> Bottleneck | None:
    look = facts.look
    overflows = look.overflows or 0
    is_full = facts.per_answer(overflows) >= _OVERFLOWS_PER_ANSWER
    if not is_full or facts.are_all_busy or facts.is_cpu_full:
        return None
    # The kernel counts the queues of all servers of a network namespace together.
    if look.queues and not any(each.most >= _LONG_QUEUE * each.backlog for each in look.queues):
        return None
    backlogs = [queue.backlog for queue in look.queues]
    known = {"backlog": float(min(backlogs))} if backlogs else {}
    return Bottleneck(
        limit="listen_queue",
        reason=because(
            "advice.listen_queue_of" if backlogs else "advice.listen_queue",
            overflows=overflows,
            backlog=min(backlogs, default=0),
            idle=facts.at("idle"),
            workers=facts.workers,
        ),
        evidence={"overflows": overflows, "idle_workers": facts.at("idle"), **known},
        advice=because("advice.try_backlog"),
    )


_CROWD = 8
"""Ready threads for each core: far more than any pool of the right size has."""
_TAKEN_OFF = 2.0
_BOTH = 0.8
_PART = 0.3


def _cpu(facts: Facts) -> Bottleneck | None:
    look = facts.look
    if not facts.is_cpu_full:
        return None
    busy = min(look.cpus, look.host_busy)
    both = facts.site_cores + facts.client_cores
    # The client's part grows with what the server answers: less time for a request serves both.
    is_own = facts.site_cores >= _MUCH * busy
    is_shared = both >= _BOTH * busy and facts.site_cores >= _PART * busy
    if not (is_own or is_shared):
        return unknown(because("advice.cores_taken", cores=facts.cores))
    evidence = {
        "server_cores": facts.cpu_cores,
        **{
            f"{each.name}_cores": n
            for each in look.companions
            if (n := facts.companion_cores(each))
        },
        "host_busy_cores": look.host_busy,
        "ready_threads": facts.at("running"),
        "involuntary_switches_per_answer": facts.per_answer(look.switches_involuntary),
    }
    cores = max(1.0, look.cpus)
    taken_off = facts.per_answer(look.switches_involuntary)
    if facts.at("running") >= _CROWD * cores and taken_off >= _TAKEN_OFF:
        return Bottleneck(
            limit="too_many_workers",
            reason=because(
                "advice.too_many_workers",
                ready=facts.at("running"),
                workers=facts.workers,
                cores=cores,
                times=taken_off,
            ),
            evidence=evidence,
            advice=because("advice.try_fewer_workers"),
        )
    most = max(look.companions, key=facts.companion_cores, default=None)
    is_there = most is not None and facts.companion_cores(most) >= facts.cpu_cores
    return Bottleneck(
        limit="cpu",
        reason=because("advice.cpu", cores=facts.cores),
        evidence=evidence,
        advice=because("advice.try_less_cpu_in", who=called(most))
        if most is not None and is_there
        else because("advice.try_less_cpu"),
    )


_WAITING = 0.5
_AT_RANDOM = 0.1


def _nothing(facts: Facts) -> Bottleneck | None:
    look = facts.look
    # Requests that come at random meet now and then.
    most_waiting = max(_WAITING, _AT_RANDOM * facts.workers)
    # Behind an event loop they may wait for one that answers in its place.
    is_short = max(facts.waiting, facts.waiting_behind) < most_waiting
    is_free = not facts.are_all_busy and is_short and not facts.is_cpu_full
    is_met = facts.is_met or look.client_limit in _ENOUGH
    if not is_free or not is_met or look.overflows:
        return None
    return Bottleneck(
        limit="nothing",
        reason=because(
            "advice.nothing", idle=facts.at("idle"), workers=facts.workers, cores=facts.cores
        ),
        evidence={"idle_workers": facts.at("idle"), "server_cores": facts.cpu_cores},
    )


_TESTS = (
    _load_generator,
    _memory,
    _spawning,
    _nothing,
    slow_clients,
    keep_alive,
    _listen_queue,
    lock,
    disk,
    backend,
    asleep_before_requests,
    _cpu,
    too_few_workers,
)
_TESTS_WITHOUT_WORKERS = (_memory, _spawning)
"""Where hardly one was there; that clients run short of something may then come of that."""


# What a server's own log says of its workers, beside what was seen of them; pure.
#
# Source: httpd 2.4, server/mpm/prefork/prefork.c, perform_idle_server_maintenance (AH00161, once in
# a life: fewer idle than MinSpareServers, and no place free); event.c (AH00484, AH10159) alike.
# PHP, sapi/fpm/fpm/fpm_process_ctl.c: only pools that grow say it.

_REACHED = re.compile(
    r"server (?:reached (?:MaxRequestWorkers|(?:pm\.)?max_children)"
    r"|is within MinSpareThreads of MaxRequestWorkers)"
)
_ALSO_IDLE = re.compile(r"MaxRequestWorkers")


def with_own_words(found: Bottleneck, log: LogLines | None) -> Bottleneck:
    """Return a verdict of too few workers with what the server's log says of it.

    It is told as what it is: no verdict comes of it.
    """
    if found.limit != "too_few_workers" or log is None:
        return found
    said = next((each for kind in log.kinds if (each := _REACHED.search(kind.example))), None)
    if said is None:
        return found
    why = because("advice.logged", why=found.reason, line=said[0])
    return structs.replace(found, reason=why)


def remark_on(kind: LogKind) -> Reason | None:
    """Return what should be known of such a line before it is believed; None for most."""
    said = _REACHED.search(kind.example)
    if said is None or not _ALSO_IDLE.search(said[0]):
        return None
    return because("advice.logged_when_idle")
