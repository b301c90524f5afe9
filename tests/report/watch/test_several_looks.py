"""What `httpdyno watch` shows of requests, disks and error logs: figures of several looks."""

from dataclasses import replace

import pytest
from tests.report.plain import plain_text
from tests.report.watch.test_watch import ROOT_PID, look, pair, said, view, worker
from tests.rows import each_row

from httpdyno.reason import because
from httpdyno.report.watch.json import watch_json
from httpdyno.report.watch.line import watch_line
from httpdyno.telemetry.log import log_lines
from httpdyno.telemetry.profile.counters import Disk, Transfers
from httpdyno.telemetry.watched import first_look, next_look


def test_cpu_time_of_a_request_is_told_now_and_in_the_mean():
    seen = None
    for at_s, user_s, n in ((100.0, 1.0, 0), (101.0, 1.2, 101), (102.0, 1.6, 202)):
        now = look(at_s, worker(ROOT_PID, user_s=user_s), status=said(n, W=1))
        seen = next_look(seen, now) if seen else first_look(now)
    assert seen is not None
    assert "0.40 cores, 4.00 ms a request (3.00 ms since the view began)" in watch_line(seen, 1.0)
    assert watch_json(seen)["pool"]["cpu_s_per_request"] == pytest.approx(0.004)


@each_row(
    ("used_s", "group_s", "n", "told"),
    [
        (0.09, None, 100, False),  # in ticks, of which there are too few
        (0.2, None, 9, False),
        (0.0, 0.002, 100, True),
        (0.0, 0.0, 100, False),
    ],
)
def test_of_little_cpu_time_or_few_requests_none_is_told(used_s, group_s, n, told):
    groups = (None, None) if group_s is None else (7.0, 7.0 + group_s)
    before, after = (
        look(at_s, worker(ROOT_PID, user_s=1.0 + used), status=said(n), group_cpu_s=group)
        for at_s, used, n, group in ((1.0, 0.0, 0, groups[0]), (2.0, used_s, n + 1, groups[1]))
    )
    seen = next_look(first_look(before), after)
    assert ("a request" in watch_line(seen, 1.0)) is told
    assert (watch_json(seen)["pool"]["cpu_s_per_request"] is not None) is told


def test_disk_transfers_of_several_looks_are_over_the_requests_of_these():
    seen = None
    read = [Disk(at_s=0.0, seconds=0.0, moved=None)]
    read += [read[0], Disk(at_s=2.0, seconds=2.0, moved=Transfers(read_bytes=200 << 10))]
    for at_s, disk in enumerate(read):
        now = look(float(at_s), worker(ROOT_PID), status=said(101 * at_s, W=1), disk=disk)
        seen = next_look(seen, now) if seen else first_look(now)
        assert ("disk" in watch_line(seen, 1.0)) is (at_s == 2)
    assert seen is not None
    told = "disk 100 KiB/s read and 0 B/s written, 1.00 KiB and 0 B a request, over 2 s"
    assert told in watch_line(seen, 1.0)
    told_json = watch_json(seen)["disk"]
    assert (told_json["read_bytes_per_s"], told_json["read_bytes_per_request"]) == (102400, 1024)


def test_disk_transfers_that_may_not_be_seen_are_named():
    hidden = Disk(
        at_s=0.0,
        seconds=0.0,
        moved=None,
        hidden=because("telemetry.disk", why=because("telemetry.not_visible")),
    )
    seen = next_look(
        first_look(look(0.0, worker(ROOT_PID), disk=hidden)),
        look(1.0, worker(ROOT_PID), disk=replace(hidden, at_s=1.0, seconds=1.0)),
    )
    assert "disk       reads and writes not visible" in plain_text(view(seen))
    assert "disk" not in watch_line(seen, 1.0)
    assert watch_json(seen)["disk"] is None
    assert "disk reads and writes not visible without root" in watch_json(seen)["not_seen"]


def test_what_each_worker_served_is_a_column_where_its_page_says_so():
    assert "served" not in plain_text(view(pair()))
    before = look(1.0, worker(ROOT_PID), worker(900), status=replace(said(5, W=1), served={900: 4}))
    # A page that does not answer leaves what it said last.
    seen = next_look(
        first_look(before),
        look(2.0, worker(ROOT_PID), worker(900), no_status=because("telemetry.no_status_page")),
    )
    *_, head, parent, child, _ = plain_text(view(seen)).splitlines()
    assert head.split()[-3:] == ["served", "age", "state"]
    assert [line.split()[-4] for line in (parent, child)] == ["–", "4"]
    served = {each["pid"]: each["n_requests"] for each in watch_json(seen)["workers"]}
    assert served == {ROOT_PID: None, 900: 4}


def test_new_lines_of_the_error_log_are_told_with_what_should_be_known_of_them():
    reached = b"[mpm_prefork:error] [pid 1] AH00161: server reached MaxRequestWorkers setting\n"
    seen = None
    for at_s, added in enumerate((b"", reached, b"[x:warn] later\n", b"")):
        now = look(float(at_s), worker(ROOT_PID), log=log_lines([added]))
        seen = next_look(seen, now) if seen else first_look(now)
        line = watch_line(seen, 1.0)
        assert ("AH00161" in line, "later" in line) == (at_s == 1, at_s == 2)
    assert seen is not None
    text = " ".join(plain_text(view(seen)).split())
    assert (
        "errors error, 1 line: AH00161: server reached MaxRequestWorkers setting (by itself" in text
    )
    assert "errors warning, 1 line: later" in text
    told = watch_json(seen)["error_log"]
    assert [(each["level"], each["count"]) for each in told["kinds"]] == [
        ("error", 1),
        ("warning", 1),
    ]
    assert told["kinds"][0]["remark"].startswith("by itself no sign of too few workers")
    silent = next_look(first_look(look(0.0, worker(ROOT_PID))), look(1.0, worker(ROOT_PID)))
    assert watch_json(silent)["error_log"] is None
