"""How many workers there are and how long they live is proposed as one pair."""

from tests.advice.rules.told import apache, findings, gunicorn, php_fpm
from tests.rows import each_row

from httpdyno.advice.curve import Growth, LifeRow
from httpdyno.advice.rules.facts import PoolFacts
from httpdyno.reason import because

MIB = 1 << 20
RULE = "workers-and-lives"
GROWTH = Growth(
    verdict="leak", reason=because("advice.few_late_figures"), n_workers=4, n_requests=3000.0
)


def row(n, workers, kept, *configured, each_mib=10):
    return LifeRow(
        n_requests=n,
        each_bytes=None if workers is None else each_mib * MIB,
        n_workers=workers,
        kept_ratio=kept,
        configured=configured,
    )


def aged(configured, name="apache2", n_workers=10):
    lives = (
        row(100, 40, 0.5, each_mib=5),
        row(1000, 20, 0.95, each_mib=10),
        row(10_000, 8, 0.99, each_mib=25),
        row(None, None, 1.0),
    )
    marked = tuple(
        each if each.n_requests != configured else row(
            each.n_requests, each.n_workers, each.kept_ratio, "as set",
            each_mib=(each.each_bytes or 0) // MIB,
        )
        for each in lives
    )  # fmt: skip
    pool = PoolFacts(n_workers=n_workers, names=(name,), n_fit=50, each_bytes=5 * MIB)
    return {"lives": marked, "growth": GROWTH, "pool": pool}


def found(facts):
    return [each for each in findings(facts) if each.name == RULE]


def proposed(facts):
    return [(each.knob, each.value) for finding in found(facts) for each in finding.proposes]


def test_workers_that_outgrow_memory_are_fewer_and_shorter_lived_together():
    facts = apache("MaxRequestWorkers 30\nMaxConnectionsPerChild 10000", **aged(10_000))
    [one] = found(facts)
    assert one.what == (
        "30 workers that live for 10,000 requests are 25.0 MiB each at the end, of which memory "
        "holds 8, and replacing them takes 1 % of the rate; of 20 that live for 1,000 requests all "
        "fit, 10.0 MiB each at the end, and replacing them takes 5 % of the rate"
    )
    assert one.do == "set `MaxRequestWorkers` to 20 and `MaxConnectionsPerChild` to 1,000 together"
    assert proposed(facts) == [("MaxRequestWorkers", 20), ("MaxConnectionsPerChild", 1000)]


def test_of_threads_a_process_has_as_many_as_it_has():
    text = "MaxRequestWorkers 750\nServerLimit 30\nMaxConnectionsPerChild 10000"
    facts = apache(text, mpm="event", **aged(10_000))
    assert proposed(facts) == [("MaxRequestWorkers", 500), ("MaxConnectionsPerChild", 1000)]


@each_row(
    ("facts", "pair"),
    [
        # Memory would hold 20: only its births are too dear.
        (php_fpm("pm = static\npm.max_requests = 100", **aged(100, "php-fpm", 5)), []),
        # All fit, and of longer-lived ones fewer.
        (
            apache("MaxRequestWorkers 30\nMaxConnectionsPerChild 100", **aged(100)),
            [("MaxRequestWorkers", 20), ("MaxConnectionsPerChild", 1000)],
        ),
        # No more are proposed than there may be.
        (
            apache("MaxRequestWorkers 10\nMaxConnectionsPerChild 10000", **aged(10_000)),
            [("MaxConnectionsPerChild", 1000)],
        ),
        # For good they leak without an end.
        (
            gunicorn("workers = 25", **aged(None, "python", 25)),
            [("workers", 20), ("max_requests", 1000)],
        ),
        (
            php_fpm("pm = static", **aged(10_000, "php-fpm", 5)),
            [],
        ),
        (
            apache("MaxRequestWorkers 8\nMaxConnectionsPerChild 10000", **aged(10_000)),
            [],
        ),
    ],
)
def test_only_what_has_to_change_is_proposed(facts, pair):
    assert proposed(facts) == pair


def test_without_a_cost_of_births_there_is_no_pair():
    known = aged(10_000)
    known["lives"] = tuple(
        LifeRow(n_requests=each.n_requests, each_bytes=each.each_bytes, n_workers=each.n_workers)
        for each in known["lives"]
    )
    assert found(apache("MaxRequestWorkers 30\nMaxConnectionsPerChild 10000", **known)) == []
