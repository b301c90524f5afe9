"""What throughput at another number of workers decides of a look that leaves it open."""

import pytest
from msgspec import structs
from tests.rows import each_row

from httpdyno.advice.bottleneck import OtherSize, bottleneck, with_other_sizes
from httpdyno.model import Look, RatioInterval
from httpdyno.report.shared.message import text


def pool(n_workers, *, clients=64.0, at_backend=None):
    """Return a look at workers that wait for a database, and requests that wait for a worker."""
    n = min(n_workers, clients)
    waiting = n if at_backend is None else at_backend
    return Look(
        seconds=0.7,
        n_samples=14,
        workers=n_workers,
        doing={"backend": waiting, "lock": n - waiting, "idle": n_workers - n},
        backends={"127.0.0.1:5432": waiting},
        cpu_s=0.1,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.3,
        answers=100.0,
        clients=clients,
        client_limit="server",
    )


def other(look, ratio, half_width, *, change="workers 4 → 8"):
    low, high = ratio - half_width, ratio + half_width
    interval = RatioInterval(ratio=ratio, low=low, high=high, confidence=0.95)
    return OtherSize(change=change, look=look, throughput=interval)


def judged(look, *others):
    return with_other_sizes(bottleneck(look), look, others)


def test_where_more_workers_wait_for_a_backend_and_bring_nothing_it_is_the_limit_of_both():
    few, many = pool(4.0), pool(8.0)
    assert bottleneck(few).limit == bottleneck(many).limit == "unknown"
    for one, two in ((few, many), (many, few)):
        found = judged(one, other(two, 1.003, 0.012))
        assert found.limit == "backend"
        assert "workers 4 → 8 had 4.0 → 8.0 workers wait for it" in text(found.reason)
        assert "1.00 × (0.99 … 1.02) the throughput" in text(found.reason)
        assert found.evidence["throughput_ratio_high"] == pytest.approx(1.015)
    assert found.answer_time == bottleneck(many).answer_time


def test_where_more_of_them_bring_more_they_were_too_few_and_the_more_may_be_it_still():
    few, many = pool(4.0), pool(8.0)
    found = judged(few, other(many, 1.82, 0.04))
    assert found.limit == "too_few_workers"
    assert "more do help: workers 4 → 8 had 1.82 × (1.78 … 1.86) the throughput" in text(
        found.reason
    )
    assert found.evidence["other_workers"] == 8.0
    assert judged(many, other(few, 1.82, 0.04)).limit == "unknown"


def test_a_backend_of_one_look_is_too_few_workers_where_more_of_them_bring_more():
    """The processes of a private database are looked at too, and those that are free are free."""
    few = structs.replace(pool(4.0), workers=12.0, doing={"backend": 4.0, "idle": 8.0})
    many = structs.replace(pool(8.0), workers=20.0, doing={"backend": 8.0, "idle": 12.0})
    assert bottleneck(few).limit == "backend"
    found = judged(few, other(many, 1.9, 0.02))
    assert found.limit == "too_few_workers"
    assert text(found.reason).startswith(
        "4.0 of 12 workers were busy and 60 requests waited for one"
    )
    assert judged(few, other(many, 1.0, 0.02)) == bottleneck(few)
    served = structs.replace(few, clients=4.0)
    assert judged(served, other(many, 1.9, 0.02)) == bottleneck(served)


def test_workers_that_share_several_things_are_too_few_where_more_bring_more():
    mixed = pool(4.0, at_backend=2.0)
    mixed = structs.replace(mixed, doing={"backend": 2.0, "running": 0.5, "disk": 1.5})
    assert bottleneck(mixed).limit == "unknown"
    assert judged(mixed, other(pool(8.0), 1.5, 0.02)).limit == "too_few_workers"
    assert judged(mixed, other(pool(8.0), 1.0, 0.01)).limit == "unknown"


@each_row(
    ("many", "ratio", "half_width"),
    [
        (pool(8.0), 1.07, 0.01),  # neither flat nor worth much
        (pool(8.0), 1.0, 0.08),  # not known well enough
        (pool(8.0), 1.2, 0.15),
        (pool(4.4), 1.0, 0.001),  # hardly more workers
        (pool(5.0), 1.02, 0.01),  # as much as that few more could bring
        (pool(8.0, at_backend=4.0), 1.0, 0.01),  # the others wait elsewhere
        (pool(8.0, clients=4.0), 1.0, 0.01),  # no more of them are asked
        (structs.replace(pool(8.0), host_busy=1.7), 1.0, 0.01),  # cores may be the limit of these
        (structs.replace(pool(8.0), n_samples=3), 1.0, 0.01),
    ],
)
def test_what_is_not_sure_stays_open(many, ratio, half_width):
    few = pool(4.0)
    assert judged(few, other(many, ratio, half_width)) == bottleneck(few)


def test_levels_that_contradict_each_other_decide_nothing():
    few = pool(4.0)
    others = other(pool(8.0), 1.0, 0.01), other(pool(16.0), 1.3, 0.01)
    assert judged(few, *others) == bottleneck(few)
    assert judged(few, *reversed(others)) == bottleneck(few)


def test_the_nearest_that_decides_is_told_and_one_that_does_not_forbids_nothing():
    few = pool(4.0)
    vague = other(pool(8.0), 1.0, 0.2)
    far = other(pool(16.0), 1.01, 0.01, change="workers 4 → 16")
    assert "workers 4 → 16" in text(judged(few, vague, far).reason)


def test_too_few_workers_of_which_more_bring_nothing_are_not_too_few():
    # Each holds the only token of a backend while it sleeps: to a look it sleeps by itself.
    few = structs.replace(pool(1.0), doing={"sleep": 1.0}, backends={})
    many = structs.replace(pool(20.0), doing={"sleep": 1.0, "idle": 19.0}, backends={})
    assert bottleneck(few).limit == "too_few_workers"
    found = judged(few, other(many, 1.01, 0.01, change="workers 1 → 20"))
    assert found.limit == "unknown"
    assert "more bring hardly anything: workers 1 → 20 had 1.01 × (1.00 … 1.02)" in text(
        found.reason
    )
    assert (found.evidence["other_workers"], found.advice) == (20.0, None)
    # More that help, too little that is known, and fewer that do no worse change nothing.
    help_them = other(pool(2.0), 1.9, 0.1), other(many, 1.01, 0.01)
    unsure, fewer = other(many, 1.0, 0.2), other(structs.replace(many, workers=0.5), 1.0, 0.01)
    for others in (help_them, (unsure,), (fewer,), ()):
        assert judged(few, *others) == bottleneck(few)


def test_a_verdict_that_one_look_gives_stays():
    busy = structs.replace(pool(4.0), doing={"running": 4.0}, cpu_s=1.3, host_busy=2.0)
    alone = pool(8.0, clients=8.0)
    for look, limit in ((busy, "cpu"), (alone, "backend")):
        assert bottleneck(look).limit == limit
        assert judged(look, other(pool(16.0), 2.0, 0.01)) == bottleneck(look)
