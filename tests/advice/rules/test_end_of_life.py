"""Workers are as large as at the end of their lives, where load has shown how they grow."""

from typing import Any

from tests.advice.rules.told import apache, evidence, findings, gunicorn, named, php_fpm
from tests.rows import each_row

from httpdyno.advice.curve import Growth, LifeRow
from httpdyno.advice.rules.facts import PoolFacts
from httpdyno.reason import because

MIB = 1 << 20
RULE = "workers-over-memory"
FLAT = Growth(
    verdict="flat", reason=because("advice.few_late_figures"), n_workers=4, n_requests=3000.0
)


def pool(n_workers=10, n_fit=50, *, name="apache2"):
    return PoolFacts(
        n_workers=n_workers,
        names=(name,),
        n_fit=n_fit,
        each_bytes=20 * MIB,
        available_bytes=1024 * MIB,
        limited_by="MemAvailable and what it has",
    )


def row(n, workers, *configured, each_mib=60):
    return LifeRow(
        n_requests=n,
        each_bytes=None if workers is None else each_mib * MIB,
        n_workers=workers,
        configured=configured,
    )


def proposed(facts):
    found = (each for each in findings(facts) if each.name == RULE)
    return [(each.knob, each.value) for finding in found for each in finding.proposes]


AGED: dict[str, Any] = {
    "growth": FLAT,
    "lives": (row(25, 50), row(1000, 3, "of it"), row(None, 12)),
}
ENDLESS: dict[str, Any] = {"growth": FLAT, "lives": (row(25, 50), row(None, 12))}


@each_row(
    ("facts", "knob"),
    [
        (
            apache("MaxRequestWorkers 5\nMaxConnectionsPerChild 1000", pool=pool(), **AGED),
            "MaxRequestWorkers",
        ),
        (
            php_fpm("pm = static\npm.max_requests = 1000", pool=pool(5, name="php-fpm"), **AGED),
            "pm.max_children",
        ),
        (
            gunicorn("workers = 5\nmax_requests = 1000", pool=pool(5, name="python"), **AGED),
            "workers",
        ),
    ],
)
def test_what_fits_is_what_fits_when_they_end(facts, knob):
    assert named(facts, RULE) == [
        "5 processes are allowed, and memory holds 3 at the end of their lives (after 1,000 "
        "requests; as they are now 50): each then has 60.0 MiB with the kernel's part, of "
        "1.00 GiB (MemAvailable and what it has)"
    ]
    assert "4 workers under load" in evidence(facts, RULE)
    assert proposed(facts) == [(knob, 3)]


def test_of_what_nothing_ends_the_grown_size_counts():
    told = named(apache("MaxRequestWorkers 30", pool=pool(), **ENDLESS), RULE)
    assert told[0].startswith(
        "30 processes are allowed, and memory holds 12 at the end of their lives (when they are "
        "grown, since nothing ends them; as they are now 50)"
    )


def test_workers_that_are_larger_already_than_at_their_end_count_as_they_are():
    lives = (row(25, 50, "of it"), row(None, 12))
    text = "MaxRequestWorkers 30\nMaxConnectionsPerChild 25"
    [told] = named(apache(text, pool=pool(n_fit=20), growth=FLAT, lives=lives), RULE)
    assert told.startswith("30 processes are allowed, and memory holds 20: the largest has 20.0")


def test_workers_of_gunicorn_are_told_though_its_configuration_does_not_say_how_many():
    facts = gunicorn("", pool=pool(9, 4, name="python"))
    assert named(facts, RULE)[0].startswith("9 processes are allowed, and memory holds 4: the")
    assert evidence(facts, RULE) == "9 run below its first process"


@each_row(
    "facts",
    [
        apache("MaxRequestWorkers 12", pool=pool(), **ENDLESS),
        # A leak that nothing ends has no size; that is another rule's.
        apache("MaxRequestWorkers 30", pool=pool(), growth=FLAT, lives=(row(None, None),)),
        # What was not read may end them.
        apache("MaxRequestWorkers 30\nInclude ${nowhere}/x.conf", pool=pool(), **ENDLESS),
        # Pools whose lives differ: nobody knows whose workers grow.
        php_fpm(
            "pm = static\npm.max_requests = 9\n[two]\nlisten = 9001\npm = static\n"
            "pm.max_children = 30\npm.max_requests = 1000",
            pool=pool(35, name="php-fpm"),
            lives=(row(9, 50, "a"), row(1000, 16, "b"), row(None, 12)),
        ),
        # Arguments may stand in a variable whose value is not read.
        gunicorn(
            "workers = 5\nmax_requests = 1000",
            pool=pool(5, name="python"),
            environment_names=("GUNICORN_CMD_ARGS",),
            **AGED,
        ),
        gunicorn("workers = 9", pool=pool(9, name="python")),
    ],
)
def test_where_they_fit_or_their_end_is_not_known_it_is_as_they_are_now(facts):
    assert named(facts, RULE) == []
