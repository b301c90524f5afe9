"""What the workers of an arm were at the ends of its starts."""

from msgspec import structs
from tests.experiment.test_second_metric import ARMS, start_of

from httpdyno.experiment.decide.evidence import arm_summary
from httpdyno.model import OfWorkers, WorkersSeen

ONE = WorkersSeen(
    program="apache2",
    n=4,
    median_uss_bytes=10,
    largest_uss_bytes=20,
    youngest_s=1.0,
    median_age_s=3.0,
    oldest_s=5.0,
    n_descriptors=OfWorkers(median=9.0, largest=12.0),
    states={"sleeping": 3.0, "running": 1.0},
    n_idle=3.0,
    once_bytes=70,
    kernel_bytes=4,
)
OTHER = structs.replace(
    ONE,
    n=8,
    median_uss_bytes=30,
    largest_uss_bytes=31,
    oldest_s=9.0,
    n_descriptors=OfWorkers(median=11.0, largest=11.0),
    states={"sleeping": 8.0},
    n_idle=0.0,
    once_bytes=60,
    kernel_bytes=5,
)
HELPER = structs.replace(
    ONE, program="helper", n=1, n_descriptors=None, states={"sleeping": 1.0}, n_idle=0.0
)


def left(number, *workers):
    """Return a start whose last windows were left with these."""
    start = start_of(number, 1.0, 1.0)
    last = {window.arm: n for n, window in enumerate(start.windows)}
    windows = [
        structs.replace(window, telemetry=structs.replace(window.telemetry, workers=workers))
        if n == last[window.arm]
        else window
        for n, window in enumerate(start.windows)
    ]
    return structs.replace(start, windows=tuple(windows))


def test_starts_have_their_mean_number_their_median_and_the_largest_of_all():
    found = arm_summary([left(0, ONE, HELPER), left(1, OTHER)], 1, ARMS[1]).workers
    assert found == (
        structs.replace(
            ONE,
            n=6.0,
            median_uss_bytes=20,
            largest_uss_bytes=31,
            oldest_s=9.0,
            n_descriptors=OfWorkers(median=10.0, largest=12.0),
            states={"sleeping": 5.5, "running": 0.5},
            n_idle=1.5,
            once_bytes=70,
            kernel_bytes=5,
        ),
        # It was in one of two starts.
        structs.replace(HELPER, n=0.5, states={"sleeping": 0.5}),
    )


def test_of_starts_that_did_not_keep_them_nothing_is_told():
    assert arm_summary([left(0), left(1)], 0, ARMS[0]).workers == ()
