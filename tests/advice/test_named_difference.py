"""Figures that a reason rests on are told, moved or not."""

from msgspec import structs
from tests.rows import each_row

from httpdyno.advice.bottleneck import FIGURES, differences, named_figures
from httpdyno.model import Look
from httpdyno.report.shared.bottleneck import difference_text

CORES, BACKEND = "server_cores", "backend_workers"
LOOKED_FOR = "stats"
LOOK = Look(
    seconds=1.0,
    n_samples=20,
    workers=10.0,
    doing={"running": 2.0, "runnable": 8.0},
    cpu_s=1.8,
    cpus=2.0,
    host_cpus=2,
    host_busy=1.9,
    answers=100.0,
    clients=10.0,
    calls={"stat": 1.0, "lstat": 4.0},
)
FULLER = structs.replace(
    LOOK, workers=50.0, cpu_s=1.9, doing={"runnable": 49.0, "backend": 0.1}, clients=50.0
)


@each_row(
    ("name", "text"),
    [
        (CORES, "cores that the server used 1.8 → 1.9 of 2"),
        # Of what each side may have its own.
        (BACKEND, "workers that waited for a backend 0.0 of 10 → 0.1 of 50"),
        (LOOKED_FOR, "file lookups (stat, lstat, access) for an answer 5.0 as before"),
    ],
)
def test_what_did_not_move_is_told_with_what_it_can_be_at_most(name, text):
    assert name not in {each.figure for each in differences(LOOK, FULLER)}
    (found,) = named_figures(LOOK, FULLER, [name])
    assert (found.figure, difference_text(found)) == (name, text)


def test_they_come_in_the_order_that_was_asked_for():
    found = named_figures(LOOK, FULLER, [BACKEND, CORES])
    assert [each.figure for each in found] == [BACKEND, CORES]
    assert {BACKEND, CORES, LOOKED_FOR} <= FIGURES


@each_row(
    ("changes", "names"),
    [
        ({"calls": {}}, [CORES]),
        ({"answers": 0.0}, []),
        # All had ended: what those did that nobody saw is not known, but calls were counted.
        ({"workers": 0.0, "doing": {}}, [LOOKED_FOR]),
    ],
)
def test_what_a_look_does_not_have_is_left_out(changes, names):
    other = structs.replace(FULLER, **changes)
    for pair in ((LOOK, other), (other, LOOK)):
        assert [each.figure for each in named_figures(*pair, [CORES, LOOKED_FOR])] == names


def test_a_machine_whose_cores_are_not_known_has_no_most():
    unknown = structs.replace(LOOK, cpus=0.0)
    (found,) = named_figures(unknown, unknown, [CORES])
    assert difference_text(found) == "cores that the server used 1.8 as before"
    (found,) = named_figures(LOOK, structs.replace(LOOK, cpus=1.5), [CORES])
    assert difference_text(found) == "cores that the server used 1.8 of 2 → 1.8 of 1.5"
