"""Of the workers that are proposed, those that memory holds; the others are named with numbers."""

from dataclasses import replace

import pytest
from tests.advice.looked_at import gunicorn, httpd, php, pool, proposed
from tests.advice.test_with_findings import finding
from tests.rows import each_row
from tests.servers.apache.sample import EVENT, PREFORK
from tests.servers.php_fpm.sample import FOLDER
from tests.words import words

from httpdyno.advice.proposal import WorkerRoom, chosen, with_findings, within_room

TWO_POOLS = {f"{FOLDER}/pool.d/b.conf": "[b]\nlisten = 9001\npm = static\npm.max_children = 3\n"}
FEW_OF_EVENT = EVENT.replace("150", "25")


def room(n, pool="", unknown=""):
    return WorkerRoom(member="any", pool=pool, n=n, unknown=unknown, n_copies=2)


def held(site, *rooms, findings=()):
    offered = replace(site, rooms={each.pool: each for each in rooms})
    return within_room(offered, with_findings(offered, proposed(offered), findings))


@each_row(
    ("site", "rooms", "knob", "levels", "left_out"),
    [
        pytest.param(site, rooms, knob, levels, left_out, id=what)
        for what, site, rooms, knob, levels, left_out in [
            ("enough", pool(), [room(64)], "pm.max_children", (32, 64), ""),
            ("some", pool(), [room(40)], "pm.max_children", (32, 40), "64"),
            ("few", pool(), [room(20)], "pm.max_children", (20,), "32, 64"),
            ("workers", gunicorn(), [room(6)], "workers", (4, 6), "9"),
            (
                "prefork",
                httpd(PREFORK.replace("150", "5")),
                [room(40)],
                *("MaxRequestWorkers", (40,)),
                "128",
            ),
            # Each process of the event module has 25 threads, and room is for processes.
            ("threads", httpd(FEW_OF_EVENT), [room(4)], "MaxRequestWorkers", (100,), "125"),
            (
                "the room of another pool",
                php(TWO_POOLS),
                [room(7, "b"), room(64, "www")],
                *("pm.max_children@www", (32, 64)),
                "",
            ),
            (
                "its own",
                php(TWO_POOLS),
                [room(7, "b"), room(64, "www")],
                *("pm.max_children@b", (7,)),
                "32, 64",
            ),
            ("nobody looked", pool(), [], "pm.max_children", (32, 64), ""),
        ]
    ],
)
def test_each_number_of_workers_is_cut_to_the_room_of_its_own_pool(
    site, rooms, knob, levels, left_out
):
    each = held(site, *rooms)[knob]
    assert (each.levels, each.blocked) == (levels, None)
    assert words(each.memory).startswith(
        f"{left_out} left out: memory has room for" if left_out else ""
    )
    assert bool(each.memory) == bool(left_out)


def test_where_nothing_more_fits_the_knob_is_listed_with_the_numbers():
    site = pool()
    each = held(site, room(5))["pm.max_children"]
    assert each.levels == (32, 64)
    assert each.blocked == each.memory
    assert words(each.blocked).startswith("32, 64 left out: memory has room for 5 processes")
    assert each in chosen([each], site.knobs).listed


def test_where_memory_cannot_be_told_nothing_is_cut_and_that_is_said():
    each = held(pool(), room(None, unknown="memory not visible without root"))["pm.max_children"]
    assert (each.levels, each.blocked) == ((32, 64), None)
    assert words(each.memory) == "nothing bounds it by memory: memory not visible without root"


def test_what_a_finding_proposes_is_cut_by_the_same_room():
    site = gunicorn()
    assert held(site, room(6), findings=[finding(("workers", 6))])["workers"].levels == (4, 6)
    each = held(site, room(6), findings=[finding(("workers", 12))])["workers"]
    assert (each.levels, each.found_by) == ((4, 6), "some-rule")
    assert words(each.memory).startswith("9, 12 left out: ")


def test_fewer_than_there_are_stay_possible_however_little_fits():
    site = httpd(PREFORK)
    each = held(site, room(10), findings=[finding(("MaxRequestWorkers", 40))])["MaxRequestWorkers"]
    assert (each.start, each.levels, each.blocked, each.memory) == (150, (40,), None, None)
