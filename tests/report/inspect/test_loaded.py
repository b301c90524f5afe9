"""What a load says of the lives of workers, in words."""

from dataclasses import replace

from httpdyno.advice.curve.finding import Growth, LifeRow
from httpdyno.advice.curve.life import ConfiguredLife
from httpdyno.report.inspect.loaded import Loaded
from httpdyno.report.inspect.loaded_text import loaded_rows, room_at_end
from httpdyno.telemetry.under_load import BY_CPU, UnderLoad

MIB = 1 << 20


def loaded(*lives: LifeRow, configured: tuple[ConfiguredLife, ...]) -> Loaded:
    return Loaded(
        urls=("http://127.0.0.1/",),
        seconds=10.0,
        connections=4,
        n_completed=1000,
        n_errors=0,
        seen=UnderLoad(readings=(), pool=(), counted_by=BY_CPU, looks_cost_s=0.0, n_born=0),
        growth=Growth(verdict="flat", reason="", n_workers=4, n_requests=250),
        lives=lives,
        configured=configured,
        reserve_bytes=MIB,
    )


APACHE = ConfiguredLife(setting="MaxConnectionsPerChild", n=1000, unit="connections")


def row(n: int | None, *configured: str, each: float | None = 2.0 * MIB) -> LifeRow:
    return LifeRow(
        n_requests=n,
        each_bytes=each,
        n_workers=None if each is None else 50,
        configured=configured,
    )


def test_the_configured_life_is_told_though_as_many_fit_as_before():
    seen = loaded(row(25), row(400), row(1000, APACHE.setting), row(None), configured=(APACHE,))
    life = dict(loaded_rows(seen))["life"]
    assert "25 requests 50 workers of 2.00 MiB; 1,000 requests (as configured: " in life
    assert "MaxConnectionsPerChild) 50 workers of 2.00 MiB, and as many of any longer life" in life
    assert "MaxConnectionsPerChild counts connections, here taken for a request each" in life


def test_room_says_how_many_fit_at_the_end_of_the_configured_life():
    seen = loaded(row(1000, APACHE.setting), configured=(APACHE,))
    assert list(room_at_end(seen)) == [
        "50 workers with u at the age where MaxConnectionsPerChild ends it (1,000 connections), "
        "2.00 MiB with the kernel's part"
    ]
    assert list(room_at_end(replace(seen, lives=()))) == [
        "u at the age where MaxConnectionsPerChild ends it (1,000 connections) is not known, "
        "since its growth is not"
    ]


def test_a_worker_that_nothing_ends_and_that_leaks_has_no_bound():
    endless = ConfiguredLife(setting="max_requests", n=None, unit="requests")
    seen = loaded(row(None, "max_requests", each=None), configured=(endless,))
    assert list(room_at_end(seen)) == [
        "u of a worker that nothing ends (max_requests 0) has no bound: it leaks"
    ]
    assert "counts connections" not in dict(loaded_rows(seen))["life"]
