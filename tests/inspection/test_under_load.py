"""What `inspect --load` does before the load, and what it makes of what it saw."""

import os
import signal
from contextlib import nullcontext
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from httpdyno.advice.curve import Growth, PrivateCurve
from httpdyno.errors import TargetError
from httpdyno.inspection import under_load
from httpdyno.inspection.server import LoadAsked
from httpdyno.inspection.under_load import _table, looked_under_load
from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text
from httpdyno.servers.network.probe import Answer
from httpdyno.telemetry.observed import UnderLoad, WorkerReading
from httpdyno.telemetry.pool import MemoryBound

KIB, MIB = 1 << 10, 1 << 20


def shown_by(_what, _duration_s):
    return nullcontext(SimpleNamespace(show=lambda _live: None))


def test_who_asks_for_an_end_while_urls_are_asked_for_alone_is_heard_at_once(monkeypatch):
    asked: list[str] = []
    told: list[Reason] = []

    def ask(_address, path, *_, **__):
        asked.append(path)
        os.kill(os.getpid(), signal.SIGINT)
        return Answer(status=200, line="200 OK")

    monkeypatch.setattr(under_load, "ask", ask)
    urls = ["http://127.0.0.1:1/first", "http://127.0.0.1:1/second"]
    with pytest.raises(KeyboardInterrupt):
        looked_under_load(LoadAsked(urls=urls), os.getpid(), shown_by, tell=told.append)
    assert asked == ["/first"]
    assert text(told[0]).startswith("asking for http://127.0.0.1:1/first alone")


class Missing(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


def test_a_page_that_is_never_right_ends_the_load_early_and_is_told_by_its_status(monkeypatch):
    monkeypatch.setattr(under_load, "_HOPELESS_S", 0.0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Missing) as server:
        Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/page"
        try:
            with pytest.raises(TargetError, match="got status 404") as found:
                looked_under_load(
                    LoadAsked(urls=[url], duration="10m"), os.getpid(), shown_by, tell=print
                )
        finally:
            server.shutdown()
    assert url in str(found.value)


def seen_from(n_began: int) -> UnderLoad:
    """Return two workers that leak, one of them larger, of which so many requests were known."""
    readings = [
        WorkerReading(
            pid=pid,
            started_ticks=1,
            at_s=n / 100,
            n_requests=n_began + n,
            uss_bytes=10 * MIB + n * KIB + above,
            pss_bytes=0,
            rss_bytes=0,
            cpu_s=0.0,
        )
        for pid, above in ((1, 0), (2, 6 * MIB))
        for n in (0, 1000)
    ]
    return UnderLoad(
        readings=tuple(readings), pool=(), counted_by="status page", looks_cost_s=0.0, n_born=0
    )


BOUND = MemoryBound(
    available_bytes=1 << 30,
    limited_by="available",
    reserve_bytes=0,
    once_bytes=0,
    each_bytes=MIB,
    kernel_bytes=0,
    n=None,
    n_by_parent=None,
    n_by_rss=None,
    n_by_child=None,
    n_by_shared=None,
)


def grown(curve: PrivateCurve) -> Growth:
    return Growth(
        verdict="leak",
        reason=because("advice.few_late_figures"),
        n_workers=2,
        n_requests=1000,
        curve=curve,
    )


def test_what_a_worker_served_before_it_was_seen_makes_no_room():
    curve = PrivateCurve(start_bytes=13 * MIB, rise_bytes=0.0, n_scale=1.0, leak_bytes=KIB)
    fresh = _table(grown(curve), BOUND, seen_from(0), None)
    assert fresh[0].each_bytes == pytest.approx(16 * MIB, rel=0.01)
    assert _table(grown(curve), BOUND, seen_from(12_000), None) == fresh


def test_what_the_kernel_keeps_for_the_parent_is_no_room_for_a_worker():
    found = grown(PrivateCurve(start_bytes=13 * MIB, rise_bytes=0.0, n_scale=1.0))
    bound = replace(BOUND, kernel_bytes=2 * MIB)
    each_bytes = _table(found, bound, seen_from(0), None)[-1].each_bytes
    assert each_bytes is not None
    for besides, n in ((0, 3), (2 * MIB, 4)):
        full = replace(bound, available_bytes=round(4 * each_bytes) + besides)
        assert _table(found, full, seen_from(0), None)[-1].n_workers == n
