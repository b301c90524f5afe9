"""What `httpdyno watch run:N` shows of a made-up run."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
from tests.report.plain import WIDTH, plain_text

from httpdyno.model import (
    ArmUnderWay,
    Configuration,
    LatencySoFar,
    PoolMemory,
    RootProcess,
    RunUnderWay,
    StartUnderWay,
)
from httpdyno.report.watch.run import RunLook, RunView, run_json, run_line
from httpdyno.telemetry.watched import ServerSeen

WIDE = 130
NOW = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
ROOTS = ((RootProcess(pid=812, start_ticks=9),), (RootProcess(pid=830, start_ticks=12),))
LATENCY = LatencySoFar(n_requests=7680, p50_s=0.00141, p99_s=0.0092)
SEEN = ServerSeen(roots=((812, "gunicorn"),), n_processes=5, cpu_ratio=0.934)


def configured(workers):
    return Configuration(values={"workers": workers, "preload": True})


def look(**more):
    first = ArmUnderWay(
        configuration=configured(2),
        n_windows=6,
        throughput_per_s=5120.4,
        cpu_s_per_request=0.0001834,
        n_errors=1,
        latency=LATENCY,
        memory=PoolMemory(start=2, pss_bytes=70 << 20, uss_bytes=51 << 20),
        roots=ROOTS[0],
    )
    second = ArmUnderWay(
        configuration=configured(4),
        memory=PoolMemory(start=1, pss_bytes=133 << 20),
        roots=ROOTS[1],
    )
    start = StartUnderWay(
        comparison=3,
        start=2,
        stage="final",
        began_at="2026-03-01T12:04:48.000+00:00",
        arms=(first, second),
    )
    run = RunUnderWay(
        id="12",
        study="shop",
        command="tune",
        began_at="2026-03-01T12:00:00.000+00:00",
        pid=7,
        host="box",
        n_starts=8,
        n_windows=102,
        last_saved_at="2026-03-01T12:04:58.000+00:00",
        starts=(start,),
    )
    return RunLook(run=run, now=NOW, servers={ROOTS[0]: SEEN}, **more)


def with_arms(arms):
    [start] = look().run.starts
    starts = (msgspec.structs.replace(start, arms=arms),)
    return replace(look(), run=msgspec.structs.replace(look().run, starts=starts))


def with_first(**more):
    [start] = look().run.starts
    return with_arms((msgspec.structs.replace(start.arms[0], **more), start.arms[1]))


def test_a_view_of_80_columns(golden):
    text = plain_text(RunView(look=look()))
    assert max(map(len, text.splitlines())) <= WIDTH
    golden("report/watch_run.txt", text)


def test_what_a_wide_view_has_room_for_is_in_one_row(golden):
    golden("report/watch_run_wide.txt", plain_text(RunView(look=look()), WIDE))


def test_a_p99_of_few_requests_is_not_shown_and_it_is_said_how_many_it_takes():
    few = LatencySoFar(n_requests=640, p50_s=0.00141)
    text = plain_text(RunView(look=with_first(latency=few)), WIDE)
    assert " 640 1.41 ms – 70.0 MiB" in " ".join(text.split())
    assert "a p99 takes 1,000 requests" in text
    assert "a p99 takes" not in plain_text(RunView(look=look()), WIDE)


def test_a_percentile_that_given_up_requests_hold_down_is_a_lower_bound():
    held = msgspec.structs.replace(LATENCY, is_p99_lower_bound=True)
    assert " 1.41 ms  ≥ 9.20 ms" in plain_text(RunView(look=with_first(latency=held)), WIDE)


def test_a_run_of_which_neither_latency_nor_memory_is_known_has_no_columns_for_them():
    [start] = look().run.starts
    arms = tuple(msgspec.structs.replace(arm, latency=None, memory=None) for arm in start.arms)
    text = plain_text(RunView(look=with_arms(arms)))
    assert text.count("workers=2") == 1
    assert [word for word in ("p50", "p99", "memory", "brackets") if word in text] == []


def test_a_view_keeps_the_height_and_says_what_is_left_out():
    whole = plain_text(RunView(look=look())).splitlines()
    for n_lines in range(3, len(whole) + 3):
        shown = plain_text(RunView(look=look(), n_lines=n_lines, keys="q quits")).splitlines()
        assert len(shown) <= n_lines
        assert shown[-1].endswith("q quits")
        assert ("lines more" in shown[-1]) == (n_lines - 1 < len(whole))


def test_a_line_has_where_it_is_and_what_is_seen():
    assert run_line(look()) == (
        "run 12  8 complete starts  final 3:  workers=2 6 windows, 5,120/s, 0.93 cores  "
        "workers=4 0 windows, –"
    )
    between = replace(look(), run=msgspec.structs.replace(look().run, starts=()))
    assert run_line(between).endswith("between two starts")
    assert "between two starts" in plain_text(RunView(look=between))


def test_json_has_each_arm_with_its_server():
    told = run_json(look())["run"]
    [start] = told["starts"]
    first, second = start["arms"]
    assert (told["pid"], told["n_windows"], start["stage"], start["start"]) == (7, 102, "final", 2)
    assert (first["configuration"], first["root_pids"]) == ({"workers": 2, "preload": True}, [812])
    assert first["server"] == {
        "roots": [{"pid": 812, "name": "gunicorn"}],
        "n_processes": 5,
        "cpu_ratio": 0.934,
        "misses_children": False,
    }
    assert first["latency"] == {
        "n_requests": 7680,
        "p50_s": 0.00141,
        "p99_s": 0.0092,
        "is_p50_lower_bound": False,
        "is_p99_lower_bound": False,
    }
    assert first["memory"] == {"start": 2, "pss_bytes": 70 << 20, "uss_bytes": 51 << 20}
    assert (second["throughput_per_s"], second["server"]) == (None, None)
    assert (second["latency"], second["memory"]["start"]) == (None, 1)


def test_cpu_time_that_misses_children_is_a_lower_bound():
    seen = replace(SEEN, misses_children=True)
    assert "≥ 0.93" in plain_text(RunView(look=replace(look(), servers={ROOTS[0]: seen})))
