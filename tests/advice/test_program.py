"""Rules for programs of which only the command line is known."""

from msgspec import structs
from tests.rows import each_row
from tests.words import words

from httpdyno.advice.knob import rules
from httpdyno.advice.proposal import Offered, Shape
from httpdyno.model import Burst, Survey
from httpdyno.servers.command.knob import GO, NODE, PHP, knobs_of, readings_of

SHAPE = Shape(n_cpus=4, connections=16)


def proposed(*command, parts=(NODE,), shape=SHAPE, set_already=None):
    readings = readings_of(command, parts=parts, set_already=set_already)
    offered = Offered(
        kind="node",
        survey=Survey(version="any", readings=readings),
        knobs=knobs_of(readings),
        shape=shape,
    )
    return {each.name: each for rule in rules("node") for each in rule(offered)}


@each_row(
    ("option", "levels"),
    [
        ("--workers=1", (4, 8)),
        ("--workers=3", (4, 8)),
        ("--workers=4", None),
        ("--workers=0", None),
        ("--instances=2", (4, 8)),
        ("--threads=1", (4,)),
        ("--threads=2", None),
        ("--retries=1", None),
    ],
)
def test_an_option_for_processes_or_threads_is_known_by_its_name(option, levels):
    name = option[2:].partition("=")[0]
    found = proposed("serve", option, parts=())
    assert {each: found[each].levels for each in found} == ({name: levels} if levels else {})


def test_processes_that_slept_while_requests_waited_are_proposed_to_be_many():
    burst = Burst(
        duration_s=2.0, connections=16, n_answers=9, n_failed=0, unread={"[::]:80": 15}, cpu_s=0.2
    )
    asleep = Shape(n_cpus=4, connections=16, burst=structs.replace(burst, ready_s=0.1))
    computing = Shape(n_cpus=4, connections=16, burst=structs.replace(burst, ready_s=3.0))
    for shape, levels in ((asleep, (8, 16)), (computing, (4, 8))):
        found = proposed("node", "a.js", shape=shape, set_already={"WEB_CONCURRENCY": "1"})
        each = found["WEB_CONCURRENCY"]
        assert (each.levels, each.is_seen) == (levels, shape is asleep)
    # Not set, perhaps nobody heeds it.
    assert "WEB_CONCURRENCY" not in proposed("node", "a.js", shape=asleep)


def test_the_pool_of_node_is_proposed_where_more_clients_come_than_it_has_threads():
    found = proposed("node", "server.js")["UV_THREADPOOL_SIZE"]
    assert (found.start, found.levels) == (4, (16,))
    assert "4 threads, for 16 clients" in words(found.why)
    few = Shape(n_cpus=4, connections=4)
    assert "UV_THREADPOOL_SIZE" not in proposed("node", "server.js", shape=few)
    assert proposed("serve", parts=()) == {}


@each_row(
    ("part", "name", "levels"),
    [
        (NODE, "NODE_ENV", ("production",)),
        (PHP, "PHP_CLI_SERVER_WORKERS", (8, 16)),
        (GO, "GOGC", (400,)),
    ],
)
def test_variables_are_proposed_where_something_hears_them(part, name, levels):
    assert proposed("serve", parts=(part,))[name].levels == levels
    assert name not in proposed("serve", parts=())
