"""What a load says of the lives of workers, in words."""

from dataclasses import replace

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.advice.curve import ConfiguredLife, Growth, LifeRow
from httpdyno.model import Behind, Look
from httpdyno.reason import because
from httpdyno.report.inspect.json import loaded_json
from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.inspect.text import loaded_rows, room_at_end
from httpdyno.telemetry.log import log_lines
from httpdyno.telemetry.observed import UnderLoad
from httpdyno.telemetry.profile.counters import Disk, Transfers

MIB = 1 << 20


def loaded(*lives: LifeRow, configured: tuple[ConfiguredLife, ...]) -> Loaded:
    return Loaded(
        urls=("http://127.0.0.1/",),
        seconds=10.0,
        connections=4,
        n_completed=1000,
        n_errors=0,
        seen=UnderLoad(readings=(), pool=(), counted_by="CPU time", looks_cost_s=0.0, n_born=0),
        growth=Growth(
            verdict="flat", reason=because("advice.few_late_figures"), n_workers=4, n_requests=250
        ),
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


def answered(each: LifeRow, n_workers: int, kept: float) -> LifeRow:
    return structs.replace(each, n_workers=n_workers, kept_ratio=kept)


def test_the_configured_life_is_told_though_as_many_fit_as_before():
    seen = loaded(row(25), row(400), row(1000, APACHE.setting), row(None), configured=(APACHE,))
    life = dict(loaded_rows(seen))["life"]
    assert "25 requests 50 workers of 2.00 MiB; 1,000 requests (as configured: " in life
    assert "MaxConnectionsPerChild) 50 workers of 2.00 MiB, and as many of any longer life" in life
    assert "MaxConnectionsPerChild counts connections, taken here as one request each" in life


def test_length_and_number_of_lives_are_told_as_one_answer():
    short = answered(row(400), 60, 0.95)
    seen = loaded(answered(row(25), 90, 0.5), short, answered(row(None), 50, 1.0), configured=())
    assert dict(loaded_rows(seen))["together"] == (
        "60 workers that live for 400 requests each: the most that fit while replacing them "
        "takes at most 5 % of the rate; within 2 % the longer life wins"
    )
    assert loaded_json(seen)["joint_life"]["n_requests"] == 400
    unknown = loaded(row(25), row(None), configured=())
    assert "together" not in dict(loaded_rows(unknown))
    assert loaded_json(unknown)["joint_life"] is None


def test_room_says_how_many_fit_at_the_end_of_the_configured_life():
    seen = loaded(row(1000, APACHE.setting), configured=(APACHE,))
    assert list(room_at_end(seen)) == [
        "50 workers with u at the age where MaxConnectionsPerChild ends it (1,000 connections), "
        "2.00 MiB with the kernel's part"
    ]
    assert list(room_at_end(replace(seen, lives=()))) == [
        "u at the age where MaxConnectionsPerChild ends it (1,000 connections) is unknown, "
        "because its growth is"
    ]


def test_a_worker_that_nothing_ends_and_that_leaks_has_no_bound():
    endless = ConfiguredLife(setting="max_requests", n=None, unit="requests")
    seen = loaded(row(None, "max_requests", each=None), configured=(endless,))
    assert list(room_at_end(seen)) == [
        "u of a worker that nothing ends (max_requests 0) has no bound: it leaks"
    ]
    assert "counts connections" not in dict(loaded_rows(seen))["life"]


def test_what_limited_it_is_told_with_what_says_so_and_what_may_help():
    look = Look(
        seconds=7.0,
        n_samples=140,
        workers=4.0,
        doing={"sleep": 4.0},
        cpu_s=0.2,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.5,
        answers=1000.0,
        clients=9.0,
        client_limit="server",
    )
    seen = replace(loaded(configured=()), look=look, bottleneck=bottleneck(look))
    rows = dict(loaded_rows(seen))
    assert rows["what limited it"].startswith("too few workers; all 4.0 workers were busy and ")
    assert rows["what limited it"].endswith("(seen in 7.00 s of load)")
    assert rows["what may help"] == "more workers, as far as memory allows"
    document = loaded_json(seen)
    assert document["bottleneck"]["limit"] == "too_few_workers"
    assert document["bottleneck"]["evidence"]
    assert document["look"]["n_samples"] == 140


def test_a_load_that_was_over_before_anybody_looked_says_nothing_of_it():
    seen = loaded(configured=())
    assert "what limited it" not in dict(loaded_rows(seen))
    assert loaded_json(seen)["bottleneck"] is None


def test_what_an_answer_took_is_told_at_the_client_and_of_the_cpu():
    bare = loaded(configured=())
    assert "answers" not in dict(loaded_rows(bare))
    took = replace(
        bare,
        latency=Times(p50_s=0.002, p99_s=0.01),
        service_time=Times(p50_s=0.00199, p99_s=0.01),
        seen=replace(bare.seen, cpu_s=4.0),
    )
    told = "latency p50 2.00 ms, p99 10.0 ms; 4.00 ms of the server's CPU time, 0.40 cores"
    assert dict(loaded_rows(took))["answers"] == told
    told_json = loaded_json(took)
    assert told_json["latency_s"] == {"p50": 0.002, "p99": 0.01}
    assert told_json["cpu_s_per_request"] == 0.004


def test_cpu_time_says_whose_it_is_without():
    bare = loaded(configured=())
    seen = replace(bare.seen, cpu_s=4.0, misses_cpu=True)
    places = (Behind(to="127.0.0.1:5432", by="postgres 812"), Behind(to="unix:/run/shop", by=""))
    took = replace(bare, seen=seen, behind=places)
    assert dict(loaded_rows(took))["answers"] == (
        "4.00 ms of the server's CPU time, 0.40 cores, without postgres 812 (127.0.0.1:5432), "
        "what answers at unix:/run/shop, children that nobody waits for"
    )
    assert loaded_json(took)["behind"] == [
        {"to": "127.0.0.1:5432", "by": "postgres 812"},
        {"to": "unix:/run/shop", "by": None},
    ]


def test_what_errors_took_is_said_to_be_in_what_a_right_answer_took():
    bare = loaded(configured=())
    disk = Disk(at_s=9.0, seconds=10.0, moved=Transfers(read_bytes=2 * MIB))
    took = replace(bare, n_errors=1500, seen=replace(bare.seen, cpu_s=4.0, disk=disk))
    rows = dict(loaded_rows(took))
    assert rows["answers"] == (
        "4.00 ms of the server's CPU time for a right answer, 1,500 errors included, 0.40 cores"
    )
    assert rows["disk"].startswith("2.00 MiB read (205 KiB/s, 2.05 KiB a right answer)")
    # As in studies.
    assert loaded_json(took)["cpu_s_per_request"] == 0.004


def test_disk_transfers_and_the_run_queue_are_told_of_the_load():
    bare = loaded(configured=())
    assert not {"disk", "run queue"} & {*dict(loaded_rows(bare))}
    disk = Disk(at_s=9.0, seconds=10.0, moved=Transfers(read_bytes=2 * MIB))
    took = replace(bare, seen=replace(bare.seen, disk=disk, run_queue=3.25, host_cpus=2))
    rows = dict(loaded_rows(took))
    assert rows["disk"] == "2.00 MiB read (205 KiB/s, 2.05 KiB an answer) and 0 B written"
    assert rows["run queue"].startswith("3.2 threads ran or were ready on the machine's 2 CPUs")
    told = loaded_json(took)
    assert told["disk"]["read_bytes_per_request"] == 2 * MIB / 1000
    assert told["run_queue"] == 3.25
    barred = replace(
        disk, moved=None, hidden=because("telemetry.disk", why=because("telemetry.not_visible"))
    )
    took = replace(bare, seen=replace(bare.seen, disk=barred))
    assert dict(loaded_rows(took))["disk"] == "reads and writes not visible without root"


def test_zombies_and_what_came_into_the_error_log_are_told_of_the_load():
    bare = loaded(configured=())
    names = tuple(f"cgi ({pid})" for pid in range(6))
    said = log_lines([b"[24-Nov-2026 10:00:01] WARNING: [pool www] slow\n[x:notice] fine\n"])
    took = replace(bare, logs=("/l/e.log",), log=said, seen=replace(bare.seen, zombies=names))
    rows = dict(loaded_rows(took))
    assert rows["zombies"] == "6 at once at most: cgi (0), cgi (1), cgi (2) and cgi (3) and 2 more"
    assert rows["errors"] == "warning, 1 line: [pool www] slow"
    told = loaded_json(took)
    assert told["zombies"] == [*names]
    assert (told["error_logs"], told["error_log"]["n_lines"]) == (["/l/e.log"], 2)


def test_that_no_error_was_written_is_told_apart_from_not_knowing_it():
    bare = loaded(configured=())
    known = replace(bare, logs=("/l/e.log",))
    said = (bare, known, replace(known, log=log_lines([b"[x:notice] fine\n"])))
    assert [dict(loaded_rows(each))["errors"] for each in said] == [
        "its error log is unknown",
        "/l/e.log cannot be read",
        "no new warning or error in /l/e.log",
    ]


def test_connecting_and_children_that_nobody_waits_for_are_named():
    bare = loaded(configured=())
    took = replace(
        bare,
        latency=Times(p50_s=0.002, p99_s=None),
        service_time=Times(p50_s=0.001, p99_s=None),
        seen=replace(bare.seen, cpu_s=4.0, misses_cpu=True),
    )
    row = dict(loaded_rows(took))["answers"]
    assert row.startswith("latency p50 2.00 ms; from sending, without connecting: p50 1.00 ms")
    assert row.endswith("0.40 cores, without children that nobody waits for")
