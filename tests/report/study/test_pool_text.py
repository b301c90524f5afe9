"""What a sweep says of the pool, in a line: its figures, or why there are none."""

from msgspec import structs
from tests.report import sample

from httpdyno.model import Level, PoolCurve, PoolLine, Respawn, Sweep
from httpdyno.reason import because
from httpdyno.report.study.sweep import pool_text


def sweep_of(pool: PoolCurve | None, *, knee: Level = 8) -> Sweep:
    sweep = sample.sweep().sweep
    assert sweep is not None
    return structs.replace(sweep, pool=pool, knee=knee)


BIRTHS = Respawn(serve_s=0.000_4, spawn_s=0.0024, spawn_low_s=0.002_118, spawn_high_s=0.002_691)


def test_memory_is_told_with_an_interval_for_each_figure() -> None:
    line = PoolLine(
        once_bytes=38 << 20,
        once_low_bytes=-(1 << 20),
        once_high_bytes=39.01 * 2**20,
        each_bytes=4.1 * 2**20,
        each_low_bytes=3.907 * 2**20,
        each_high_bytes=4.293 * 2**20,
    )
    assert pool_text(sweep_of(PoolCurve(memory=line, n_levels=9))) == (
        "memory: 38.0 MiB (0 B … 39.1 MiB) once + 4.10 MiB (3.90 MiB … 4.30 MiB; "
        "95 % confidence, 9 levels) for each worker"
    )


def test_a_birth_is_told_in_requests_and_as_a_share_at_the_knee() -> None:
    assert pool_text(sweep_of(PoolCurve(births=BIRTHS, n_levels=5), knee=500)) == (
        "recycling: replacing a process costs 2.40 ms (2.11 ms … 2.70 ms; 95 % confidence, 5 "
        "levels) of the server's time, as much as 6.0 requests; at 500 requests for each process "
        "that is 1.2 % of it"
    )


def test_where_the_knee_is_never_the_longest_life_is_told() -> None:
    told = pool_text(sweep_of(PoolCurve(births=BIRTHS, n_levels=5), knee=0))
    assert "at 512 requests for each process" in told


def test_what_does_not_follow_is_told_with_its_reason() -> None:
    assert pool_text(sweep_of(PoolCurve(reason=because("advice.births_free")))) == (
        "pool: replacing a worker costs nothing that shows: shorter lives are not slower"
    )


def test_a_sweep_of_something_else_says_nothing_of_it() -> None:
    assert pool_text(sweep_of(None)) == ""
