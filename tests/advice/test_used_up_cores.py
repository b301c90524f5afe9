"""Cores that are used up, by whom: the server, the load client, or others."""

import pytest
from msgspec import structs
from tests.advice.bottleneck_cases import BEHIND, STARVED
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.model import Look
from httpdyno.model.look import QueueSeen
from httpdyno.report.shared.message import text


def test_cores_that_server_and_client_use_up_together_are_the_limit_and_those_of_others_are_not():
    look = Look(
        seconds=1.0,
        n_samples=14,
        workers=2.0,
        doing={"running": 1.6, "idle": 0.4},
        cpu_s=1.0,
        cpus=2.0,
        host_cpus=2,
        host_busy=2.0,
        answers=1000.0,
        clients=16.0,
        client_cpu_s=0.9,
        client_limit="server",
    )
    assert bottleneck(look).limit == "cpu"
    assert bottleneck(structs.replace(look, client_cpu_s=0.1)).limit == "unknown"


@pytest.mark.parametrize("limit", ["client_cpu", "client_schedule"])
def test_a_client_whose_cores_others_took_is_not_the_limit(limit):
    look = structs.replace(BEHIND, client_limit=limit)
    assert bottleneck(look).limit == "load_generator"
    taken = structs.replace(look, host_busy=2.0, client_cpu_s=0.3, client_lost_ratio=0.7)
    found = bottleneck(taken)
    assert found.limit == "unknown"
    assert found.evidence["others_cores"] == pytest.approx(1.6)
    assert "others took 1.6 of 2 cores" in text(found.reason)
    # They ran beside it, and it lost nothing by them; where that is not known, it may have.
    assert bottleneck(structs.replace(look, host_busy=2.0)).limit == "load_generator"
    unsure = structs.replace(look, host_busy=2.0, client_lost_ratio=None)
    assert bottleneck(unsure).limit == "unknown"
    # A quota took it, and nobody else ran.
    quota = structs.replace(look, host_busy=0.4, client_cpu_s=0.3, client_lost_ratio=0.7)
    assert bottleneck(quota).limit == "load_generator"


def test_a_client_without_open_files_is_the_limit_whatever_others_take():
    look = structs.replace(BEHIND, client_limit="descriptors", host_busy=2.0, client_lost_ratio=0.7)
    assert bottleneck(look).limit == "load_generator"


TWO_OF_EIGHT = structs.replace(
    STARVED, doing={"sleep": 2.8, "running": 1.2}, host_cpus=8, host_busy=2.1, shared_cpus=2.0
)


def test_cores_that_server_and_client_share_are_used_up_by_both_on_a_machine_that_idles():
    # `docker run --cpus 2` or `taskset --cpu-list 0,1`: the other six are nobody's here.
    full = structs.replace(TWO_OF_EIGHT, cpu_s=1.2, client_cpu_s=0.8)
    found = bottleneck(full)
    assert found.limit == "cpu"
    assert "of 2.0 that they share 2.0" in text(found.reason)
    # The same by others who are in there too.
    others = structs.replace(full, cpu_s=0.2, client_cpu_s=0.1, shared_busy=1.9)
    assert bottleneck(others).limit == "unknown"
    # Between used up and left nothing is said, whatever they wait for.
    for doing in (full.doing, {"backend": 3.0, "running": 1.0}, {"lock": 3.0, "running": 1.0}):
        for changes in ({"cpu_s": 1.0, "client_cpu_s": 0.7}, {"shared_busy": 1.7}):
            look = structs.replace(TWO_OF_EIGHT, doing=doing, **changes)
            assert bottleneck(look).limit == "unknown"
    left = structs.replace(TWO_OF_EIGHT, cpu_s=0.3, client_cpu_s=0.1, shared_busy=0.5)
    assert bottleneck(left).limit == "too_few_workers"


KEPT = {"established": 18.0}
SLEEPING = Look(
    seconds=1.0,
    n_samples=14,
    workers=2.0,
    doing={"sleep": 1.9, "running": 0.1},
    queues=(QueueSeen(address="unix:/run/pool", backlog=511, mean=14.0, most=14),),
    cpu_s=0.1,
    cpus=2.0,
    host_cpus=2,
    host_busy=2.0,
    answers=100.0,
    clients=16.0,
    client_cpu_s=0.1,
    client_limit="machine_cpu",
    client_lost_ratio=0.7,
)


@each_row(
    ("changes", "limit"),
    [
        ({}, "too_few_workers"),
        ({"client_limit": "server"}, "too_few_workers"),
        ({"doing": {"lock": 1.9, "running": 0.1}}, "lock"),
        ({"doing": {"client_read": 1.9, "running": 0.1}, "connections": KEPT}, "keep_alive"),
        ({"doing": {"backend": 1.9, "running": 0.1}}, "unknown"),
        ({"doing": {"sleep": 1.5, "running": 0.5}}, "unknown"),
        ({"doing": {"sleep": 1.0, "idle": 1.0}}, "unknown"),
        ({"queues": ()}, "unknown"),
        ({"cpu_s": 1.7}, "unknown"),
    ],
    ids=[
        *("as it was", "client is fine", "at a lock", "held", "at a backend"),
        *("they want cores", "one is free", "nothing waits", "it uses cores itself"),
    ],
)
def test_what_sleeping_workers_wait_for_is_named_though_others_use_up_the_cores(changes, limit):
    found = bottleneck(structs.replace(SLEEPING, **changes))
    assert found.limit == limit
    if limit == "too_few_workers":
        assert "its workers slept and wanted none" in text(found.reason)
