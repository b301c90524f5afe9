"""A worker that leaks and lives too long is told where load has proven the leak, and only there."""

from tests.advice.rules.told import apache, evidence, findings, gunicorn, named, php_fpm
from tests.rows import each_row

from httpdyno.advice.curve import Growth
from httpdyno.advice.rules.facts import PoolFacts
from httpdyno.reason import because

KIB, MIB = 1 << 10, 1 << 20
RULE = "long-lives"


def growth(low=900, high=1100, verdict="leak"):
    return Growth(
        verdict=verdict,
        reason=because("advice.few_late_figures"),
        n_workers=4,
        n_requests=3000.0,
        late_bytes=(low + high) / 2,
        late_low_bytes=low,
        late_high_bytes=high,
    )


def pool(name="apache2", room_mib=1000, own_mib=5, n=10):
    return PoolFacts(
        n_workers=n,
        names=(name,),
        n_fit=room_mib // own_mib,
        each_bytes=own_mib * MIB,
        room_bytes=room_mib * MIB,
        kernel_bytes=0,
    )


def leaking(text, **known):
    given = {"growth": growth(), "pool": pool(), **known}
    return apache(text, **given)


def test_workers_that_never_end_are_told_with_the_requests_that_fill_their_room():
    facts = leaking("MaxRequestWorkers 10\nMaxConnectionsPerChild 0")
    # 100 MiB less 5 for each of ten: 95 MiB / 1,100 B and / 900 B.
    assert named(facts, RULE) == [
        "each request leaves 900 B … 1.07 KiB in its worker, which lives for good: 10 workers have "
        "room to grow by 95.0 MiB each, which is taken after 90,000 to 110,000 requests"
    ]
    assert evidence(facts, RULE) == (
        "95 % over 4 workers under load; "
        "MaxConnectionsPerChild 0, /etc/apache2/apache2.conf:2; "
        "MaxRequestWorkers 10, /etc/apache2/apache2.conf:1"
    )
    [found] = [each for each in findings(facts) if each.name == RULE]
    assert found.do == "set `MaxConnectionsPerChild` to 90,000 at most, until the leak is found"
    assert [(each.knob, each.value) for each in found.proposes] == [
        ("MaxConnectionsPerChild", 90_000)
    ]


@each_row(
    ("facts", "life"),
    [
        (leaking("MaxRequestWorkers 10"), "for good"),
        (leaking("MaxRequestWorkers 10\nMaxConnectionsPerChild 200000"), "for 200,000 connections"),
        # 256 workers are compiled in.
        (leaking("Listen 80", pool=pool(room_mib=2560)), "for good"),
        (php_fpm("pm = static", growth=growth(), pool=pool("php-fpm")), "for good"),
        (
            php_fpm("pm.max_requests = 500000", growth=growth(), pool=pool("php-fpm")),
            "for 500,000 requests",
        ),
        (gunicorn("workers = 10", growth=growth(), pool=pool("python")), "for good"),
        (
            gunicorn("max_requests = 900000", growth=growth(), pool=pool("python")),
            "for 900,000 requests",
        ),
    ],
)
def test_a_life_that_is_too_long_is_told_of_each_kind(facts, life):
    [words] = named(facts, RULE)
    assert f"which lives {life}:" in words


@each_row(
    "facts",
    [
        # Its end comes before its room is full, by the lower end of what a request leaves.
        leaking("MaxRequestWorkers 10\nMaxConnectionsPerChild 100000"),
        leaking("MaxRequestWorkers 10", growth=None),
        *(
            leaking("MaxRequestWorkers 10", growth=growth(verdict=verdict))
            for verdict in ("flat", "growing", "cannot_tell")
        ),
        leaking("MaxRequestWorkers 10", pool=None),
        # Its memory may not be seen.
        leaking("MaxRequestWorkers 10", pool=PoolFacts(n_workers=10, names=("apache2",))),
        # They are too many already, which `workers-over-memory` says.
        leaking("MaxRequestWorkers 300\nServerLimit 300"),
        leaking("MaxRequestWorkers 10\nMaxConnectionsPerChild ${N}"),
        # Its size ends it.
        apache(
            "MaxRequestWorkers 10\nPerlCleanupHandler Apache2::SizeLimit",
            "perl",
            growth=growth(),
            pool=pool(),
        ),
        # What was not read may bound it.
        leaking("MaxRequestWorkers 10\nInclude ${nowhere}/x.conf"),
        php_fpm(
            "pm = static\n[two]\nlisten = 9001\npm = static\npm.max_children = 5",
            growth=growth(),
            pool=pool("php-fpm"),
        ),
        gunicorn(
            "workers = 10",
            growth=growth(),
            pool=pool("python"),
            environment_names=("GUNICORN_CMD_ARGS",),
        ),
        gunicorn("max_requests = 1000", growth=growth(), pool=pool("python")),
    ],
)
def test_without_proof_or_with_an_early_end_nothing_is_said(facts):
    assert named(facts, RULE) == []
