"""What `httpdyno watch` shows of a made-up pair of looks."""

import json
from dataclasses import replace

from rich.console import Console
from tests.report.plain import WIDTH, plain_text
from tests.rows import each_row

from httpdyno.host.procfs import ZOMBIE
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import Behind
from httpdyno.reason import because
from httpdyno.report.watch.json import watch_json
from httpdyno.report.watch.line import watch_line
from httpdyno.report.watch.view import LABELS, View
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.telemetry.kernel import HostMemory, Pressure, Sockets
from httpdyno.telemetry.log import log_lines
from httpdyno.telemetry.pool import pool
from httpdyno.telemetry.profile.counters import Disk, Transfers
from httpdyno.telemetry.status import APACHE, Status
from httpdyno.telemetry.watched import ServerSample, Watched, first_look, next_look
from httpdyno.telemetry.worker import Memory, Sample, Worker

ROOT_PID, MIB = 812, 1 << 20
TITLE = "apache 812  /etc/apache2/apache2.conf"
LINES = 24


def worker(pid: int, *, own_mib: float = 5.0, is_seen: bool = True, **more: object) -> Worker:
    own = round(own_mib * MIB)
    memory = Memory(
        rss_bytes=own + 20 * MIB,
        pss_bytes=own + 4 * MIB,
        uss_bytes=own,
        shared_bytes=20 * MIB,
        anonymous_pss_bytes=own + 2 * MIB,
        file_pss_bytes=2 * MIB,
        swap_bytes=0,
    )
    told: dict[str, object] = {
        "pid": pid,
        "parent": 1 if pid == ROOT_PID else ROOT_PID,
        "name": "apache2",
        "state": "sleeping",
        "started_ticks": pid,
        "age_s": 7200.0,
        "user_s": 1.0,
        "system_s": 0.25,
        "minor_faults": 700,
        "major_faults": 1,
        "n_threads": 1,
        "rss_bytes": own + 20 * MIB,
        "voluntary_switches": 100,
        "involuntary_switches": 3,
        "n_descriptors": 9 if is_seen else None,
        "memory": memory if is_seen else None,
        "memory_age_s": 0.0,
        "hidden": ()
        if is_seen
        else (because("telemetry.memory", why=because("telemetry.not_visible")),),
    }
    return Worker(**{**told, **more})  # type: ignore[arg-type]


def look(at_s: float, *workers: Worker, **more: object) -> ServerSample:
    sample = Sample(at_s=at_s, root_pids=(ROOT_PID,), workers=workers)
    pressure = Pressure(some_ratio=0.125, full_ratio=0.0, some_s=2.5)
    told: dict[str, object] = {
        "host": HostMemory(available_bytes=2048 * MIB, swap_ins=3, pressure={"cpu": pressure}),
        "sockets": Sockets(
            queues=(ListenQueue(address="0.0.0.0:80", waiting=2, backlog=511),),
            overflows=1,
            drops=1,
        ),
    }
    return ServerSample(sample=sample, pool=pool(sample), **{**told, **more})  # type: ignore[arg-type]


def host(*, swap_ins: int, some_s: float, some_ratio: float, run_queue: int) -> HostMemory:
    pressure = Pressure(some_ratio=some_ratio, full_ratio=0.0, some_s=some_s)
    return HostMemory(
        available_bytes=2048 * MIB,
        swap_ins=swap_ins,
        pressure={"cpu": pressure},
        run_queue=run_queue,
        n_cpus=2,
    )


def said(n_requests: int, **states: int) -> Status:
    words = {"W": "W answering", "K": "K keep-alive", "i": "_ waiting"}
    return Status(
        server=APACHE,
        of="workers",
        states={words[letter]: n for letter, n in states.items()},
        answering="W answering",
        n_requests=n_requests,
        uptime_s=95,
        remarks=(because("telemetry.places_free", n=4),),
    )


def pair() -> Watched:
    """Return a pool of which in a second one died, one was born, and one worked."""
    ids = range(900, 906)
    before = look(
        100.0,
        worker(ROOT_PID, own_mib=1),
        *(worker(pid, own_mib=pid - 890) for pid in ids),
        worker(990),
        status=said(1000, W=2, K=3, i=2),
        host=host(swap_ins=3, some_s=2.5, some_ratio=0.125, run_queue=2),
        disk=Disk(at_s=100.0, seconds=0.0, moved=None),
        log=log_lines([b""]),
    )
    after = look(
        101.0,
        worker(ROOT_PID, own_mib=1),
        worker(900, own_mib=10, user_s=1.5, voluntary_switches=300, state="running"),
        worker(901, own_mib=11, user_s=1.02, state="disk sleep", major_faults=4),
        *(worker(pid, own_mib=pid - 890, memory_age_s=6.0) for pid in ids if pid > 901),
        worker(1001, own_mib=0.5, age_s=0.4, user_s=0.0, system_s=0.01),
        worker(991, state=ZOMBIE, memory=None, user_s=0.0, system_s=0.0),
        status=said(1121, W=4, K=3, i=1),
        host=host(swap_ins=15, some_s=3.0, some_ratio=0.5, run_queue=5),
        disk=Disk(
            at_s=101.0,
            seconds=1.0,
            moved=Transfers(
                read_calls=70, write_calls=30, read_bytes=60 << 10, written_bytes=15 << 10
            ),
        ),
        log=log_lines([b"[core:error] [pid 900] no such file\n[core:notice] resuming\n"]),
        sockets=Sockets(
            queues=(ListenQueue(address="0.0.0.0:80", waiting=511, backlog=511),),
            states={"established": 518, "close-wait": 2},
            overflows=38,
        ),
        states_age_s=6.0,
    )
    return next_look(first_look(before), after)


def view(watched: Watched, **more: object) -> View:
    told = {"title": TITLE, "watched": watched, "every_s": 1.0, "kind": "apache", **more}
    return View(**told)  # type: ignore[arg-type]


def test_a_control_group_of_its_own_tells_the_cpu_time_of_those_too_that_have_ended():
    groups = (look(100.0, worker(ROOT_PID), group_cpu_s=7.0), look(102.0, worker(ROOT_PID)))
    gone = next_look(first_look(groups[0]), groups[1])
    assert gone.cpu_ratio == 0.0
    seen = next_look(first_look(groups[0]), replace(groups[1], group_cpu_s=9.5))
    assert "1.25 cores" in plain_text(view(seen))
    assert watch_json(seen)["pool"]["cpu_ratio"] == 1.25


@each_row(
    ("kind", "words", "is_apaches"),
    [
        ("apache", "Apache replaces ended workers once a second", True),
        ("php-fpm", "php-fpm replaces ended workers at once", False),
        ("gunicorn", "live between two samples", False),
        ("", "live between two samples", False),
    ],
)
def test_a_clock_of_births_is_told_of_servers_that_have_one(kind, words, is_apaches):
    text = " ".join(plain_text(view(pair(), kind=kind)).split())
    assert words in text
    assert ("forks follow its timer" in text) is is_apaches


def test_cpu_time_of_those_that_ended_is_named():
    before = look(100.0, worker(ROOT_PID), worker(900))
    after = look(
        102.0, worker(ROOT_PID, user_s=1.18, reaped_s=1.0), *(worker(n) for n in range(901, 905))
    )
    seen = next_look(first_look(before), after)
    text = " ".join(plain_text(view(seen)).split())
    # 900 had used 1.25 s before that is in no account yet; 1.0 s is less than that.
    assert "of those that ended" not in text
    assert (
        "a fork takes at most 50.0 ms of the parent's CPU time; ended processes had used 1.00 s"
        in text
    )
    kept = look(102.0, worker(ROOT_PID, reaped_s=1.0), worker(900))
    seen = next_look(first_look(before), kept)
    assert "0.50 cores (0.50 of those that ended)" in plain_text(view(seen))
    told = watch_json(seen)["pool"]
    assert (told["cpu_ratio"], told["ended_cpu_ratio"], told["ended_cpu_s"]) == (0.5, 0.5, 1.0)
    assert told["birth_parent_cpu_s"] is None


def test_whose_cpu_time_is_not_in_the_figure_is_said():
    careless = worker(900, name="cgid", ignores_children=True)
    before, after = (look(at_s, worker(ROOT_PID), careless) for at_s in (1.0, 2.0))
    others = (
        Behind(to="unix:/run/php.sock", by="php-fpm 99"),
        Behind(to="127.0.0.1:9", by=""),
    )
    seen = next_look(first_look(before), after)
    text = " ".join(plain_text(view(seen, behind=others)).split())
    assert (
        "; without php-fpm 99 (unix:/run/php.sock), what answers at 127.0.0.1:9, "
        "children of cgid (900)" in text
    )
    assert watch_json(seen, others)["behind"] == [
        {"to": "unix:/run/php.sock", "by": "php-fpm 99"},
        {"to": "127.0.0.1:9", "by": None},
    ]
    alone = replace(seen, now=replace(seen.now, group_cpu_s=1.0))
    assert "without" not in plain_text(view(alone))


def test_who_is_below_no_parent_is_named_whether_it_is_counted_or_not():
    gone = worker(900, name="agent", parent=1)
    counted = first_look(look(1.0, worker(ROOT_PID), worker(901), gone))
    text = " ".join(plain_text(view(counted)).split())
    assert "detached agent (900) is no longer below the parent; counted in all figures" in text
    assert watch_json(counted)["pool"]["detached_pids"] == [900]
    beside = [ProcessFacts(pid=pid, parent=1, name="agent", started_at_s=0.0) for pid in (900, 902)]
    missed = first_look(look(1.0, worker(ROOT_PID), worker(901)))
    text = " ".join(plain_text(view(missed, beside=beside)).split())
    said = "agent (900), agent (902) of its unit are not below the parent; not counted"
    assert f"detached {said} CPU – cores" in text
    assert "without agent (900), agent (902)" in text
    assert [each["pid"] for each in watch_json(missed, (), beside)["beside"]] == [900, 902]
    assert "detached" not in plain_text(view(missed))


def test_of_several_parents_each_has_its_workers():
    family = (worker(ROOT_PID), worker(900), worker(50, parent=1, name="sh"))
    several = replace(look(1.0).sample, root_pids=(ROOT_PID, 50), workers=family)
    seen = first_look(replace(look(1.0), sample=several, pool=pool(several)))
    text = " ".join(plain_text(view(seen)).split())
    assert f"1 worker below 2 parents (apache2 {ROOT_PID} 1, sh 50 0), " in text


def test_a_view_of_80_columns(golden):
    text = plain_text(view(pair(), n_lines=LINES, keys="q quits"))
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= WIDTH
    golden("report/watch.txt", text)


def test_what_answers_take_of_workers_is_told_where_the_server_says_it():
    told = [replace(said(n, W=0), states={}, answer_s=0.05, counts_itself=False) for n in (7, 37)]
    looks = [
        look(at_s, worker(ROOT_PID), status=each)
        for at_s, each in zip((1.0, 3.0), told, strict=True)
    ]
    line = watch_line(next_look(first_look(looks[0]), looks[1]), 1.0)
    assert "15/s requests; an answer takes a worker 50.0 ms, 0.75 workers at work" in line


def test_how_long_an_answer_holds_a_worker_is_told_with_what_was_seen():
    seen = None
    for k in range(4):
        now = look(100.0 + k, worker(ROOT_PID), status=said(101 * k, W=4, K=5))
        seen = next_look(seen, now) if seen else first_look(now)
    assert seen is not None
    told = "an answer takes 30.0 ms of a worker (mean of 4 samples, 12 seen at answers)"
    assert told in watch_line(seen, 1.0)
    assert told in " ".join(plain_text(view(seen)).split())
    status = watch_json(seen)["status"]
    assert (status["answer_s"], status["answers_seen"]) == (0.03, 12)
    assert watch_json(pair())["status"]["answer_s"] is None


def test_a_view_without_a_terminal_has_all_it_can(golden):
    golden("report/watch_once.txt", plain_text(view(pair())))


def test_a_view_of_what_may_not_be_seen(golden):
    barred = (worker(ROOT_PID, is_seen=False), worker(900, is_seen=False))
    hidden = Sockets(hidden=(because("telemetry.queues", why=because("telemetry.not_visible")),))
    seen = next_look(
        first_look(look(100.0, *barred, sockets=hidden)),
        look(101.0, *barred, sockets=hidden, no_status=because("servers.timed_out")),
    )
    golden("report/watch_barred.txt", plain_text(view(seen, n_lines=LINES)))


def test_a_first_look_claims_no_rates(golden):
    golden("report/watch_first.txt", plain_text(view(first_look(look(100.0, worker(ROOT_PID))))))


def test_a_line_of_a_log(golden):
    golden("report/watch_line.txt", f"{watch_line(pair(), 1.0)}\n")
    assert watch_line(pair(), 0.5).startswith("1.0 s  ")


def test_json_has_all_figures(golden):
    text = json.dumps(watch_json(pair()), indent=2, allow_nan=False)
    golden("report/watch.json", f"{text}\n")


def test_memory_that_is_still_to_be_read_is_no_sum():
    unread = worker(900, memory=None, memory_age_s=None)
    text = plain_text(view(first_look(look(100.0, worker(ROOT_PID), unread))))
    assert "memory of 1 of 2 processes not read yet" in " ".join(text.split())


def test_workers_that_outlive_their_parent_are_said_to():
    seen = next_look(
        first_look(look(100.0, worker(ROOT_PID), worker(900))), look(101.0, worker(900))
    )
    assert "the parent has ended" in plain_text(view(seen))
    assert "has ended" not in plain_text(view(pair()))


def test_overflows_that_are_not_told_are_not_zero():
    unknown = look(100.0, worker(ROOT_PID), sockets=Sockets())
    later = look(101.0, worker(ROOT_PID), sockets=Sockets(overflows=7))
    seen = first_look(unknown)
    assert seen.overflows is None
    assert "overflow" not in plain_text(view(seen))
    assert next_look(seen, later).overflows is None


def test_every_height_is_kept():
    for n_lines in range(18, 40):
        shown = plain_text(view(pair(), n_lines=n_lines)).splitlines()
        assert len(shown) <= n_lines
    assert any(
        line.startswith("4 more") for line in plain_text(view(pair(), n_lines=24)).splitlines()
    )


def test_what_a_server_calls_itself_cannot_steer_the_terminal():
    odd = worker(900, name="a\x1b[2J\nb", state=ZOMBIE)
    odd_too = replace(odd, pid=901, state="sleeping")
    seen = next_look(
        first_look(look(100.0, worker(ROOT_PID))), look(101.0, worker(ROOT_PID), odd, odd_too)
    )
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(view(seen, title="sh -c\nt\x1b]0;x\x07"))
    text = capture.get()
    assert "\x1b" not in text + watch_line(seen, 1.0)
    assert "sh -c t\\u001b" in text
    assert "zombies    a\\u001b[2J b (900)" in text
    assert "\n" not in watch_line(seen, 1.0)


def test_shares_are_of_all_looks_and_without_the_one_that_answers():
    # W: 1 and 3, K: 3 and 3, waiting: 2 and 1.
    assert pair().state_ratios == {
        "W answering": 4 / 13,
        "K keep-alive": 6 / 13,
        "_ waiting": 3 / 13,
    }
    assert pair().requests_per_s == 120.0


def test_the_server_that_began_anew_has_no_rate():
    watched = pair()
    again = replace(watched.now, sample=replace(watched.now.sample, at_s=102.0))
    assert next_look(watched, replace(again, status=said(5, W=1))).requests_per_s is None
    assert next_look(watched, replace(again, status=None)).requests_per_s is None


def test_every_label_is_shown_somewhere():
    shown = plain_text(view(pair())) + plain_text(
        view(next_look(first_look(look(1.0, worker(ROOT_PID))), look(2.0, worker(900))))
    )
    told = look(1.0, worker(ROOT_PID), worker(900, parent=1))
    shown += plain_text(view(first_look(told)))
    heads = {line.split(None, 1)[0] for line in shown.splitlines() if line.strip()}
    assert {*LABELS} <= heads
