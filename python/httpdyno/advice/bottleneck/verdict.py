"""The verdict: tests one after the other, each of which knows one limit; pure.

A test names its limit only where the figures say so and nothing of the others does; the order is
that of what hides what. Memory that is short makes disks busy, processes that come and go use up
the cores, workers that are held let the queue overflow. What no test knows is `unknown`, with what
was seen. A wrong word is worse than none: each test leaves a band between yes and no.
"""

from msgspec import structs

from httpdyno.advice.bottleneck.facts import HARDLY_ANY, Facts, called, of, percent
from httpdyno.advice.bottleneck.unknown import hidden_text, seen_text, unknown
from httpdyno.advice.bottleneck.worker_pool import (
    asleep_before_requests,
    backend,
    disk,
    keep_alive,
    lock,
    slow_clients,
    too_few_workers,
)
from httpdyno.model import Bottleneck, Look
from httpdyno.model.look import LEAST_SAMPLES, CompanionSeen

_MUCH = 0.6
"""Of the cores that are busy, or that it may use: who has so much of them is at their limit."""
_CLIENT = {
    "client_cpu": "its threads had no CPU time left",
    "machine_cpu": "others had the CPUs that its threads waited for",
    "client_schedule": "it sent late",
    "descriptors": "it ran out of open files",
    "ports": "it ran out of local ports",
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
        times = "once" if look.n_samples == 1 else f"{look.n_samples} times"
        return unknown(f"it was looked at {times}, which is too few{hidden_text(look)}")
    if not look.answers:
        return unknown("it gave no right answer meanwhile")
    told = (test(facts) for test in (_TESTS if facts.has_workers else _TESTS_WITHOUT_WORKERS))
    why = seen_text(facts) if facts.has_workers else f"{facts.none_text}{hidden_text(look)}"
    found = next((each for each in told if each is not None), None) or unknown(why)
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
    because = _CLIENT.get(look.client_limit)
    # A client that was late and yet had its answers kept nobody from anything.
    if because is None or facts.is_met:
        return None
    # Nor is it the client where others have the cores, and what it sent queues at who sleeps.
    if facts.are_cores_of_others and facts.waiting >= 1:
        return None
    if facts.site_cores >= _MUCH * look.cpus:
        return unknown(
            f"the load client ran short ({because}), and the server used {of(facts.site_cores)} of "
            f"{of(look.cpus)} cores: on one machine either may have kept the other from more"
        )
    has_lost = look.client_lost_ratio is None or look.client_lost_ratio >= _LOST
    if look.client_limit in _STARVED and has_lost and facts.others_cores >= _OTHERS:
        return unknown(
            f"the load client ran short ({because}), because others took "
            f"{of(facts.others_cores)} of {look.host_cpus} cores, or of itself",
            {"others_cores": facts.others_cores, "client_cores": facts.client_cores},
        )
    return Bottleneck(
        limit="load_generator",
        reason=f"the load client was the limit: {because}, while the server used "
        f"{of(facts.site_cores)} of {of(look.cpus)} cores",
        evidence={"server_cores": facts.site_cores, "cores": look.cpus},
        advice="load it from another machine, or give the client a core of its own",
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
        f"its control group reached its limit {hits:,} times" if hits else "",
        f"{look.swap_ins:,} pages came back from swap" if look.swap_ins else "",
        f"{faults:.1f} page faults of an answer read from disk",
        f"tasks waited for memory {percent(pressure)} of the time" if pressure else "",
    ]
    return Bottleneck(
        limit="memory",
        reason=f"memory is short: {', '.join(each for each in what if each)}",
        evidence={
            "memory_limit_hits": hits,
            "swap_ins": look.swap_ins,
            "major_faults_per_answer": faults,
            "memory_pressure_ratio": pressure,
        },
        advice="fewer workers, or more memory: a pool that swaps is slower than a smaller one",
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
    used = (
        f"; {percent(ratio)} of the server's CPU time was of those that began and ended meanwhile"
    )
    if facts.spawn_cpu_s is None:
        used = ""  # where nobody waits for them, or not soon, what they used is not known
    # What comes and goes in a database is nothing to a pool that dies.
    births, deaths = (
        (facts.own_births, facts.own_deaths) if is_dying else (look.births, look.deaths)
    )
    theirs = None if is_dying else _mostly_theirs(look)
    where = f" ({of(facts.per_s(theirs.births))} of them of {called(theirs)})" if theirs else ""
    return Bottleneck(
        limit="spawning",
        # Who came and went between two samples was not seen.
        reason=f"at least {of(facts.per_s(births))} processes came{where} and "
        f"{of(facts.per_s(deaths))} went a second, {facts.per_answer(births):.2g} for an "
        f"answer{used}",
        evidence={
            "births_per_s": facts.per_s(births),
            "births_per_answer": facts.per_answer(births),
            **({} if facts.spawn_cpu_s is None else {"spawn_cpu_ratio": ratio}),
            **({"machine_births_per_answer": forks_per_answer} if look.host_forks else {}),
        },
        advice=f"let processes of {called(theirs)} live longer: where each connection to it has "
        "one, keep connections open"
        if theirs
        else "let processes live longer: a persistent pool in place of CGI, a higher number of "
        "requests for each",
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
    holds = f" (it holds {min(backlogs):,})" if backlogs else ""
    known = {"backlog": float(min(backlogs))} if backlogs else {}
    return Bottleneck(
        limit="listen_queue",
        reason=f"{overflows:,} connections found the listen queue full{holds} though "
        f"{of(facts.at('idle'))} of {facts.workers_text} were free on average",
        evidence={"overflows": overflows, "idle_workers": facts.at("idle"), **known},
        advice="a longer backlog, and net.core.somaxconn not below it",
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
        return unknown(
            f"the cores were used up, and not by the server: {facts.cores_text}; "
            "others had the rest"
        )
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
            reason=f"{of(facts.at('running'))} of {facts.workers_text} were ready to run on "
            f"{of(cores)} cores, and one was taken off its core {of(taken_off)} times for an "
            "answer",
            evidence=evidence,
            advice="fewer workers: those that wait for a core only hold memory and caches",
        )
    most = max(look.companions, key=facts.companion_cores, default=None)
    is_there = most is not None and facts.companion_cores(most) >= facts.cpu_cores
    where = f" in {called(most)} above all" if most is not None and is_there else ""
    return Bottleneck(
        limit="cpu",
        reason=f"the cores are used up: {facts.cores_text}",
        evidence=evidence,
        advice=f"less CPU time for a request{where}, or more cores; more workers bring nothing",
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
        reason=f"it had room: {of(facts.at('idle'))} of {facts.workers_text} were free, and "
        f"{facts.cores_text}",
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
