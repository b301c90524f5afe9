"""What `httpdyno watch run:N` shows of a made-up run."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
from tests.report.plain import WIDTH, plain_text

from httpdyno.model import ArmUnderWay, Configuration, RootProcess, RunUnderWay, StartUnderWay
from httpdyno.report.watch.run import RunLook, RunView, run_json, run_line
from httpdyno.telemetry.followed import ServerSeen

NOW = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
ROOTS = ((RootProcess(pid=812, start_ticks=9),), (RootProcess(pid=830, start_ticks=12),))
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
        roots=ROOTS[0],
    )
    start = StartUnderWay(
        comparison=3,
        start=2,
        stage="final",
        began_at="2026-03-01T12:04:48.000+00:00",
        arms=(first, ArmUnderWay(configuration=configured(4), roots=ROOTS[1])),
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


def test_a_view_of_80_columns(golden):
    text = plain_text(RunView(look=look()))
    assert max(map(len, text.splitlines())) <= WIDTH
    golden("report/watch_run.txt", text)


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
    assert (second["throughput_per_s"], second["server"]) == (None, None)


def test_cpu_time_that_misses_children_is_a_lower_bound():
    seen = replace(SEEN, misses_children=True)
    assert "≥ 0.93" in plain_text(RunView(look=replace(look(), servers={ROOTS[0]: seen})))
