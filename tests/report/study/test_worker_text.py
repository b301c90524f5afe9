"""What a worker is, in the evidence of a study."""

from msgspec import structs
from tests.report.page import shown
from tests.report.plain import plain_text
from tests.report.sample import ladder
from tests.report.sample_figures import with_figures
from tests.report.study.test_limit import SLOW, seen
from tests.rows import each_row

from httpdyno.model import OfWorkers, OwnAccount, WorkersSeen
from httpdyno.report.study.arms import worker_change, worker_text
from httpdyno.report.study.figure import evidence
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

MIB = 2.0**20


def of(median, largest=None):
    return OfWorkers(median=float(median), largest=float(median if largest is None else largest))


WORKERS = WorkersSeen(
    program="apache2",
    n=8.0,
    median_uss_bytes=10 << 20,
    largest_uss_bytes=12 << 20,
    youngest_s=1.0,
    median_age_s=2.0,
    oldest_s=3.0,
    pss_bytes=of(24.1 * MIB, 24.5 * MIB),
    n_descriptors=of(9),
    n_threads=of(1),
    major_faults=of(0),
    states={"sleeping": 8.0},
)
ARM = structs.replace(ladder().steps[0].comparison.a, workers=(WORKERS,))
HELPER = structs.replace(WORKERS, program="perl", n=1.0)


@each_row(
    ("changes", "words"),
    [
        ({}, "a worker: 24.1 MiB PSS, 9 descriptors, 1 thread"),
        (
            {"workers": (structs.replace(WORKERS, pss_bytes=of(2 * MIB, 5 * MIB)), HELPER)},
            "a worker of apache2: 2.00 MiB PSS (the largest 5.00 MiB), 9 descriptors, 1 thread",
        ),
        (
            {
                "workers": (
                    structs.replace(
                        WORKERS,
                        major_faults=of(0, 3),
                        states={"sleeping": 6.5, "disk sleep": 1.5},
                    ),
                ),
                "zombies": {"apache2": 2.0},
            },
            "a worker: 24.1 MiB PSS, 9 descriptors, 1 thread, up to 3 pages read from a disk, "
            "1.5 disk sleep, 2 ended that apache2 did not ask how",
        ),
        (
            {"workers": (structs.replace(WORKERS, n_idle=2.0),)},
            "a worker: 24.1 MiB PSS, 9 descriptors, 1 thread; 2 more used no CPU",
        ),
        # As an earlier version stored it.
        ({"workers": (structs.replace(WORKERS, pss_bytes=None),)}, ""),
        ({"workers": ()}, ""),
    ],
)
def test_a_worker_is_told_by_what_says_something(changes, words):
    assert worker_text(structs.replace(ARM, **changes)) == words


def test_what_its_page_says_of_requests_is_told_with_it():
    account = OwnAccount(server="Apache", of="workers", n_answers=3, states={}, requests=of(1200))
    look = structs.replace(SLOW, own=(account,))
    assert worker_text(ARM, look).endswith("1 thread, 1,200 requests answered")


def test_a_change_tells_what_of_a_worker_is_another():
    more = structs.replace(WORKERS, pss_bytes=of(30.2 * MIB), n_threads=of(4))
    after = structs.replace(ARM, workers=(more,))
    told = "24.1 MiB PSS → 30.2 MiB PSS, 9 descriptors, 1 thread → 4 threads"
    assert worker_change(ARM, after) == told
    assert worker_change(structs.replace(ARM, workers=()), after) == ""
    other = structs.replace(more, program="another")
    assert worker_change(ARM, structs.replace(ARM, workers=(other,))) == ""
    assert worker_change(ARM, structs.replace(ARM, workers=(other, more))) == told


def test_terminal_page_and_json_have_it():
    outcome = seen()
    steps = [
        structs.replace(
            step,
            comparison=structs.replace(
                step.comparison,
                a=structs.replace(
                    with_figures(step.comparison.a, pss_bytes=2.0**25), workers=(WORKERS,)
                ),
                b=structs.replace(
                    with_figures(step.comparison.b, pss_bytes=2.0**25), workers=(WORKERS,)
                ),
            ),
        )
        for step in outcome.steps
    ]
    outcome = structs.replace(outcome, steps=tuple(steps))
    words = "24.1 MiB PSS, 9 descriptors, 1 thread"
    assert f"a worker: {words}" in " ".join(
        plain_text(outcome_text(outcome, is_verbose=True)).split()
    )
    assert f"a worker: {words}" in shown(outcome_html(outcome))
    facts = dict(evidence(outcome)[0]["facts"])
    assert facts["a worker"] == words
    arm = outcome_json(outcome)["steps"][0]["comparison"]["a"]
    assert arm["workers"][0]["n_descriptors"] == {"median": 9.0, "largest": 9.0}
    assert arm["workers"][0]["voluntary_switches"] is None
    assert arm["zombies"] == {}
