"""Verdicts on a pool whose database was started with it."""

from typing import Any

import pytest
from msgspec import structs
from tests.rows import each_row

from httpdyno.advice.bottleneck import OtherSize, bottleneck, with_other_sizes
from httpdyno.advice.bottleneck.facts import Facts
from httpdyno.model import Look, RatioInterval
from httpdyno.model.look import CompanionSeen, QueueSeen
from httpdyno.report.shared.message import text

AT = "127.0.0.1:41017"
DB = CompanionSeen(
    name="db", program="postgres", addresses=("0.0.0.0:41017",), cpu_s=0.1, workers=26.0
)


def said(reason):
    assert reason is not None
    return text(reason)


def pool(n_workers: float, **changes: Any) -> Look:
    """Return a look at workers that all wait for the database, and clients that wait for them."""
    look = Look(
        seconds=1.0,
        n_samples=18,
        workers=n_workers,
        doing={"backend": n_workers},
        backends={AT: n_workers},
        cpu_s=0.3,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.5,
        answers=49.0,
        clients=20.0,
        client_limit="server",
        companions=(DB,),
    )
    return structs.replace(look, **changes)


def test_flatness_names_the_database_by_what_it_is():
    few, many = pool(10.0), pool(20.0)
    ratio = RatioInterval(ratio=1.0, low=0.995, high=1.005, confidence=0.95)
    other = OtherSize(change="MaxRequestWorkers 10 → 20", look=many, throughput=ratio)
    found = with_other_sizes(bottleneck(few), few, [other])
    assert found.limit == "backend"
    assert f"waited for PostgreSQL at {AT}" in text(found.reason)
    assert "0.2 by the server, 0.1 by PostgreSQL" in text(found.reason)


@each_row(("program", "name"), [("postgres", "PostgreSQL"), ("sh", "`db`"), ("", "`db`")])
def test_cores_that_a_companion_has_are_the_machines_and_its_name_is_told(program, name):
    used_up = pool(
        20.0,
        doing={"backend": 19.0, "running": 1.0},
        cpu_s=1.8,
        host_busy=1.95,
        client_cpu_s=0.1,
        companions=(structs.replace(DB, cpu_s=1.5, program=program),),
    )
    found = bottleneck(used_up)
    assert found.limit == "cpu"
    assert f"0.3 by the server, 1.5 by {name}, 0.1 by the load client" in text(found.reason)
    assert found.evidence["db_cores"] == pytest.approx(1.5)
    assert said(found.advice).startswith(f"less CPU time for a request in {name} above all")


def test_processes_that_a_database_begins_for_connections_are_no_dying_pool():
    seen = pool(4.0, births=40, deaths=40, clients=20.0)
    assert bottleneck(seen).limit == "spawning"
    theirs = structs.replace(seen, companions=(structs.replace(DB, births=40, deaths=40),))
    assert bottleneck(theirs).limit != "spawning"


def test_of_a_pool_that_dies_its_own_processes_are_told():
    both = pool(4.0, births=46, deaths=45, companions=(structs.replace(DB, births=40, deaths=40),))
    found = bottleneck(both)
    assert found.limit == "spawning"
    assert "at least 6.0 processes came and 5.0 went a second, 0.12 for an answer" in text(
        found.reason
    )
    assert found.evidence["births_per_s"] == 6
    assert found.evidence["births_per_answer"] == pytest.approx(6 / 49)


def test_processes_that_a_database_begins_for_each_answer_are_told_as_its_own():
    seen = pool(4.0, births=40, deaths=40, spawn_cpu_s=0.2)
    assert "CGI" in said(bottleneck(seen).advice)
    theirs = structs.replace(seen, companions=(structs.replace(DB, births=38, deaths=38),))
    found = bottleneck(theirs)
    assert found.limit == "spawning"
    assert "at least 40 processes came (38 of them of PostgreSQL) and 40 went" in text(found.reason)
    assert said(found.advice).startswith("let processes of PostgreSQL live longer")
    assert "CGI" not in said(found.advice)


def test_the_dead_of_a_database_hide_no_dead_that_nobody_asked_for():
    seen = pool(4.0, doing={"backend": 3.0, "zombie": 1.0}, deaths=100, spawn_cpu_s=0.2)
    assert Facts(seen).spawn_cpu_s == pytest.approx(0.2)
    theirs = structs.replace(seen, companions=(structs.replace(DB, deaths=98),))
    assert Facts(theirs).spawn_cpu_s is None


def test_who_only_passes_on_has_no_room_where_connections_wait_behind_it():
    proxy = pool(2.0, doing={"idle": 2.0}, backends={}, client_limit="connections")
    assert bottleneck(proxy).limit == "nothing"
    full = structs.replace(proxy, companions=(structs.replace(DB, waiting=6.0),))
    assert bottleneck(full).limit == "unknown"


def test_a_companions_queue_is_no_queue_of_requests_without_a_worker():
    queue = QueueSeen(address="0.0.0.0:80", backlog=511, mean=0.0, most=0)
    look = pool(4.0, clients=4.0, queues=(queue,), companions=(structs.replace(DB, waiting=9.0),))
    assert Facts(look).unserved == 0.0
    assert bottleneck(look).limit == "backend"
