"""Workers that are looked at while somebody loads them, each with its requests."""

import subprocess
import sys

import pytest
from tests.rows import each_row
from tests.telemetry.forked import MIB, PAGE_BYTES, forked
from tests.telemetry.waiting_server import await_true

from httpdyno.host.procfs import content
from httpdyno.reason import because
from httpdyno.telemetry.observed import LoadedPool
from httpdyno.telemetry.profile import counters
from httpdyno.telemetry.status import served_by_pid
from httpdyno.telemetry.worker import not_visible

PAGE = """<table border="0"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th></tr>

<tr><td><b>0-0</b></td><td>312</td><td>0/12/40</td><td>_
</td><td>0.00</td></tr>
<tr><td><b>1-0</b></td><td>-</td><td>0/0/7</td><td>.
</td><td>0.00</td></tr>
<tr><td><b>2-1</b></td><td>313</td><td>1/5/5</td><td><b>W</b>
</td><td>0.00</td></tr>
<tr><td><b>2-1</b></td><td>313</td><td>0/2/2</td><td>_
</td><td>0.00</td></tr>
</table>"""


PHP_FPM = """pool:                 www
accepted conn:        42

************************
pid:                  77
state:                Idle
requests:             9
request duration:     1200

************************
pid:                  78
state:                Running
requests:             12
request URI:          /x?requests: 5
"""
PHP_FPM_JSON = (
    '{"pool":"www","accepted conn":42,"processes":[{"pid":77,"state":"Idle","requests":9},'
    '{"pid":78,"state":"Running","requests":12}]}'
)


def test_the_status_page_tells_each_childs_requests():
    assert served_by_pid(PAGE) == {312: 12, 313: 7}
    for page in (PHP_FPM, PHP_FPM.replace("\n", "\r\n"), PHP_FPM_JSON):
        assert served_by_pid(page) == {77: 9, 78: 12}


@each_row(
    "page",
    [
        "Total Accesses: 12\nScoreboard: _W\n",
        PHP_FPM.partition("****")[0],
        "pid: 77\npid: 78\n",
        '{"processes": 7}',
        '{"processes": [7, {"pid": "77", "requests": 9}, {"pid": true, "requests": 1}]}',
        "{",
    ],
)
def test_what_tells_no_childs_requests(page):
    assert served_by_pid(page) == {}


def test_sizes_are_those_of_the_workers_and_the_root_is_none():
    with forked(2, [8, 64]) as (parent, pids):
        looks = LoadedPool([parent])
        looks.look(0)
        looks.look(10)
        seen = looks.seen()
    by_pid = {key[0]: readings for key, readings in seen.of_workers().items()}
    assert set(by_pid) == set(pids)
    first, second = (by_pid[pid][0] for pid in pids)
    assert second.uss_bytes - first.uss_bytes == pytest.approx(56 * PAGE_BYTES, abs=8 * PAGE_BYTES)
    assert first.rss_bytes > 2 * MIB
    assert seen.n_born == 0
    assert seen.counted_by == "CPU time"
    assert [each.n_workers for each in seen.pool] == [2, 2]
    assert all((each.pss_bytes or 0) > 2 * MIB for each in seen.pool)


def test_what_one_worker_answered_is_all_that_was_answered():
    code = "import sys\nfor line in sys.stdin:\n    sum(range(2_000_000))\n    print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        looks = LoadedPool([process.pid])
        looks.look(0)
        looks.look(15, is_whole=True)  # answers that nobody was seen to work for yet are kept
        for n in (40, 100):
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            looks.look(n, is_whole=True)
        process.stdin.close()
    seen = looks.seen()
    assert [each.n_requests for each in seen.readings[-2:]] == pytest.approx([40, 100])
    assert seen.counted_by == "one worker"


def test_answers_that_come_when_the_work_is_done_are_shared_out_at_the_end():
    # The client may read them after the last look that saw CPU time.
    code = "import sys\nfor line in sys.stdin:\n    sum(range(2_000_000))\n    print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        looks = LoadedPool([process.pid])
        looks.look(0)
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        await_true(lambda: b") S " in content(b"/proc/%d/stat" % process.pid))
        looks.look(40)
        looks.look(55)
        looks.look(70, is_whole=True)
        process.stdin.close()
    assert [each.n_requests for each in looks.seen().readings] == pytest.approx([0, 40, 40, 70])


def test_what_the_server_tells_is_taken_and_who_is_not_told_is_left_out():
    with forked(1, [1, 1]) as (parent, pids):
        looks = LoadedPool([parent])
        looks.look(0, {pids[0]: 500})
        looks.look(10, {pids[0]: 510})
        seen = looks.seen()
    assert seen.counted_by == "status page"
    counts = [(each.pid, each.n_requests) for each in seen.readings]
    # All memory is read in the first look; in the second what its time allows.
    assert counts[0] == (pids[0], 500.0)
    assert set(counts[1:]) <= {(pids[0], 510.0)}


def test_what_was_seen_before_the_server_first_told_is_in_no_life_of_its_count():
    # The page did not answer at first: those counts are since the first look, its are since birth.
    with forked(1, [1]) as (parent, [pid]):
        looks = LoadedPool([parent])
        looks.look(0)
        looks.look(10, {pid: 510})
        looks.look(20, {pid: 520}, is_whole=True)
        seen = looks.seen()
    assert seen.counted_by == "status page"
    assert {each.n_requests for each in seen.readings} <= {510.0, 520.0}
    assert seen.readings[-1].n_requests == 520.0


def test_a_server_that_tells_at_the_end_alone_leaves_what_was_seen_before():
    with forked(1, [1]) as (parent, [pid]):
        looks = LoadedPool([parent])
        looks.look(0)
        looks.look(20, {pid: 520}, is_whole=True)
        seen = looks.seen()
    assert seen.counted_by == "one worker"
    # Of those since the first look it has what its CPU time says: all, or none where it had none.
    assert [each.n_requests for each in seen.readings] in ([0.0, 0.0], [0.0, 20.0])


def test_cpu_time_is_from_the_first_look_to_the_last_whole_one():
    code = "import sys\nfor line in sys.stdin:\n    sum(range(2_000_000))\n    print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        looks = LoadedPool([process.pid])
        looks.look(0)
        assert looks.seen().cpu_s is None
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        looks.look(1, is_whole=True)
        process.stdin.close()
    seen = looks.seen()
    ended_s = seen.pool[-1].cpu_s
    assert seen.cpu_s is not None
    assert 0.001 < seen.cpu_s <= ended_s + 0.02  # that is in ticks
    assert not seen.misses_cpu


def test_disk_transfers_that_may_not_be_seen_are_among_what_is_hidden(monkeypatch):
    def barred(_: bytes) -> bytes:
        raise PermissionError

    monkeypatch.setattr(counters, "readable", barred)
    with forked(1, [1]) as (parent, _):
        looks = LoadedPool([parent])
        looks.look(0)
        looks.look(1, is_whole=True)
        seen = looks.seen()
    assert because("telemetry.disk", why=not_visible()) in seen.hidden
