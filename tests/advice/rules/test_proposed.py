"""What rules would have tried: each proposal is a knob of that very server, and a level of it."""

from tests.advice.rules.told import apache, findings, gunicorn, nginx, php_fpm, uvicorn
from tests.rows import each_row

from httpdyno.advice.curve import Growth, LifeRow
from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.facts import CallFacts, Facts, PoolFacts
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import KnobInfo, Level
from httpdyno.reason import because
from httpdyno.registry import site_adapters
from httpdyno.report.shared.reference import rule_reference
from httpdyno.servers.apache.knob import OWN_KNOBS as APACHE
from httpdyno.servers.gunicorn.knob import KNOBS as GUNICORN
from httpdyno.servers.nginx.catalogue import TUNABLES
from httpdyno.servers.php_fpm.knob import KNOBS as PHP_FPM
from httpdyno.servers.uvicorn.knob import KNOBS as UVICORN

TABLES: dict[str, dict[str, KnobInfo]] = {
    "apache": {name: each.info for name, each in APACHE.items()},
    "gunicorn": dict(GUNICORN),
    "nginx": {name: each.info for name, each in TUNABLES.items()},
    "php-fpm": {name: each.info for name, each in PHP_FPM.items()},
    "uvicorn": dict(UVICORN),
}
"""Kind → the knobs that it has."""
ADAPTERS = {each.name: each for each in site_adapters()}
MIB = 1 << 20
HOST = "<VirtualHost *:443>\nServerName shop.example\nSSLEngine on\n{}\n</VirtualHost>"
OVERRIDDEN = (
    "<Directory /srv>\nAllowOverride All\n</Directory>\n"
    "<VirtualHost *:80>\nServerName a.example\nDocumentRoot /srv/a\n</VirtualHost>\n"
    "<VirtualHost *:81>\nServerName b.example\nDocumentRoot /srv/b\n</VirtualHost>\n"
)
INLINED: list[tuple[str, Level]] = [("htaccess", "inlined")]
ONE_CORE = "worker_processes 1;\nevents {}\nhttp {\n}"
PROXY = "server { listen 80; location / { proxy_pass http://127.0.0.1:8000; } }"
TWO_GZIPS = (
    "gzip on;\ngzip_comp_level 9;\nserver { listen 80; server_name a; gzip_comp_level 8; }\n"
    + PROXY
)
SECOND_POOL = "pm = static\n[two]\nlisten = 9001\npm = static\npm.max_children = 9"
FULL = (ListenQueue(address="0.0.0.0:80", waiting=512, backlog=511),)
WAITING = (ListenQueue(address="0.0.0.0:80", waiting=3, backlog=511),)


def pool(n_workers, n_fit=None, name="apache2"):
    return PoolFacts(n_workers=n_workers, names=(name,), n_fit=n_fit, each_bytes=60 * MIB)


def roomy(name="apache2"):
    return PoolFacts(n_workers=10, names=(name,), each_bytes=5 * MIB, room_bytes=1000 * MIB)


LEAK = Growth(
    verdict="leak",
    reason=because("advice.few_late_figures"),
    n_workers=4,
    n_requests=3000.0,
    late_low_bytes=999.0,
    late_high_bytes=1001.0,
)
LIVES = (
    LifeRow(n_requests=900, each_bytes=60.0 * MIB, n_workers=3, kept_ratio=0.96),
    LifeRow(n_requests=None, each_bytes=90.0 * MIB, n_workers=2, kept_ratio=1.0),
)
CASES: list[tuple[str, Facts, list[tuple[str, Level]]]] = [
    ("kept-workers", apache("KeepAliveTimeout 60"), [("KeepAliveTimeout", 2)]),
    (
        "kept-heavy-workers",
        apache(
            "Listen 80\n<VirtualHost *:80>\nServerName a\nKeepAlive On\n</VirtualHost>",
            pool=pool(9, 99),
        ),
        [("KeepAlive", False), ("KeepAlive@a", False)],
    ),
    (
        "closed-tls",
        apache("Listen 443\nKeepAlive Off\n" + HOST.format("KeepAlive Off")),
        [("KeepAlive", True), ("KeepAlive@shop.example", True)],
    ),
    (
        "short-lives",
        apache("MaxRequestsPerChild 9\nMaxRequestWorkers 50"),
        [("MaxConnectionsPerChild", 10_000)],
    ),
    ("name-lookups", apache("HostnameLookups Double"), [("HostnameLookups", "Off")]),
    (
        "name-lookups",
        apache("Listen 80\n" + HOST.format("HostnameLookups On")),
        [("HostnameLookups@shop.example", "Off")],
    ),
    # Of two folders the knob is one.
    ("overrides", apache(OVERRIDDEN), INLINED * 2),
    (
        "overrides",
        apache("Listen 80", calls=CallFacts(url="http://127.0.0.1/", htaccess_opens=4)),
        INLINED,
    ),
    ("inverted-spares", apache("MinSpareServers 12"), [("spare_servers", "narrow")]),
    ("inverted-spares", apache("MaxSpareThreads 9", mpm="event"), [("spare_servers", "narrow")]),
    (
        "link-checks",
        apache("DocumentRoot /srv/a\n<Directory /srv>\nOptions Indexes\n</Directory>"),
        [("link_checks", "followed")],
    ),
    ("clipped-workers", apache("MaxRequestWorkers 400"), [("MaxRequestWorkers", 400)]),
    (
        "clipped-workers",
        apache("MaxRequestWorkers 510", mpm="event"),
        [("MaxRequestWorkers", 500)],
    ),
    # Memory does not hold them.
    ("clipped-workers", apache("MaxRequestWorkers 400", pool=pool(9, 300)), []),
    ("start-outside-spares", apache("StartServers 1"), [("spare_servers", "between")]),
    ("full-queue", apache("Listen 80", queues=FULL, somaxconn=8192), [("ListenBacklog", 4096)]),
    (
        "full-queue",
        nginx("server { listen 80; }", queues=FULL, somaxconn=1000),
        [("listen_backlog", 1000)],
    ),
    ("full-queue", php_fpm("", queues=FULL, somaxconn=8192), [("listen.backlog", 4096)]),
    # Whose queue is whose nobody says.
    ("full-queue", php_fpm(SECOND_POOL, queues=FULL, somaxconn=8192), []),
    ("full-queue", gunicorn("", queues=FULL, somaxconn=8192), [("backlog", 4096)]),
    ("full-queue", uvicorn(queues=FULL, somaxconn=8192), [("backlog", 4096)]),
    ("unseen-status", apache("ExtendedStatus On", "status"), [("ExtendedStatus", False)]),
    ("debug-log", apache("LogLevel debug"), [("LogLevel", "warn")]),
    ("debug-log", uvicorn("--log-level", "trace"), [("log_level", "info")]),
    # It is no knob of these.
    ("debug-log", gunicorn("loglevel = 'debug'"), []),
    ("debug-log", php_fpm("[global]\nlog_level = debug"), []),
    (
        "workers-over-memory",
        apache("MaxRequestWorkers 50", pool=pool(9, 12)),
        [("MaxRequestWorkers", 12)],
    ),
    # A process has 25 threads.
    (
        "workers-over-memory",
        apache("MaxRequestWorkers 400", mpm="event", pool=pool(3, 4)),
        [("MaxRequestWorkers", 100)],
    ),
    ("workers-over-memory", apache("MaxRequestWorkers 50", pool=pool(9, 0)), []),
    ("workers-over-memory", php_fpm("pm = static", pool=pool(5, 3)), [("pm.max_children", 3)]),
    (
        "workers-over-memory",
        gunicorn("workers = 9", pool=pool(9, 4, "python")),
        [("workers", 4)],
    ),
    # Who gets how much of it nobody knows.
    ("workers-over-memory", php_fpm(SECOND_POOL, pool=pool(5, 3)), []),
    (
        "workers-below-memory",
        apache("MaxRequestWorkers 50", pool=pool(50, 400), queues=WAITING),
        [("MaxRequestWorkers", 100)],
    ),
    (
        "workers-below-memory",
        php_fpm("pm = static", pool=pool(5, 40), queues=WAITING),
        [("pm.max_children", 10)],
    ),
    (
        "long-lives",
        apache("MaxRequestWorkers 10", pool=roomy(), growth=LEAK),
        [("MaxConnectionsPerChild", 99_000)],
    ),
    (
        "long-lives",
        php_fpm("pm = static", pool=roomy("php-fpm"), growth=LEAK),
        [("pm.max_requests", 200_000)],
    ),
    (
        "long-lives",
        gunicorn("workers = 10", pool=roomy("python"), growth=LEAK),
        [("max_requests", 99_000)],
    ),
    (
        "workers-and-lives",
        apache("MaxRequestWorkers 50", pool=pool(9, 50), lives=LIVES),
        [("MaxRequestWorkers", 3), ("MaxConnectionsPerChild", 900)],
    ),
    (
        "workers-and-lives",
        php_fpm("pm = static\npm.max_requests = 0", pool=pool(5, 50, "php-fpm"), lives=LIVES),
        [("pm.max_children", 3), ("pm.max_requests", 900)],
    ),
    (
        "workers-and-lives",
        gunicorn("workers = 4", pool=pool(4, 50, "python"), lives=LIVES),
        [("workers", 3), ("max_requests", 900)],
    ),
    ("nginx-one-worker", nginx(ONE_CORE, n_cpus=4), [("worker_processes", 4)]),
    (
        "nginx-dear-compression",
        nginx(TWO_GZIPS),
        [("gzip_comp_level", 1), ("gzip_comp_level@a", 1)],
    ),
    ("nginx-no-sendfile", nginx("sendfile off;"), [("sendfile", "on")]),
    ("nginx-closed-upstream", nginx(PROXY), [("upstream_keepalive", 16)]),
    ("nginx-unbuffered-log", nginx("access_log /x.log;"), [("access_log_buffer", "32k/1s")]),
    ("php-short-lives", php_fpm("pm.max_requests = 50"), [("pm.max_requests", 5000)]),
    ("opcache-off", php_fpm("", "opcache.enable = 0"), [("opcache.enable", True)]),
    ("one-sync-worker", gunicorn("workers = 1", n_cpus=2), [("workers", 5), ("threads", 4)]),
    ("one-sync-worker", gunicorn("workers = 1"), [("threads", 4)]),
    ("gunicorn-short-lives", gunicorn("max_requests = 9"), [("max_requests", 10_000)]),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5"), [("threads", 4)]),
    (
        "gunicorn-unread-keepalive",
        gunicorn("keepalive = 5\nthreads = 9\nworker_connections = 9"),
        [],
    ),
    (
        "no-jitter",
        gunicorn("workers = 4\nmax_requests = 1000"),
        [("max_requests_jitter", 100)],
    ),
    ("no-preload", gunicorn("workers = 4", pool=pool(4, name="python")), [("preload_app", True)]),
]


def proposed(name, facts):
    found = (each for each in findings(facts) if each.name == name)
    return [(each.knob, each.value) for finding in found for each in finding.proposes]


@each_row(("name", "facts", "expected"), CASES)
def test_what_is_worth_a_try_has_its_value(name, facts, expected):
    assert name in {each.name for each in findings(facts)}
    assert proposed(name, facts) == expected


@each_row(("name", "facts", "expected"), [each for each in CASES if each[2]])
def test_it_can_be_set_there_and_is_not_in_force(name, facts, expected):
    declared = next(each for each in all_rules() if each.name == name).proposes
    here = ADAPTERS[facts.kind].knobs(facts.survey)
    for knob, value in expected:
        bare = knob.partition("@")[0]
        assert bare in {
            each.knob for each in declared if facts.kind in (each.kinds or [facts.kind])
        }
        # Whether there are files to be inlined a text alone does not say.
        info = TABLES[facts.kind][bare] if bare == "htaccess" else here[knob]
        assert info.takes(value)
        assert info.default != value


@each_row("rule", [each for each in all_rules() if each.proposes], ids=lambda r: r.name)
def test_what_is_declared_is_a_knob_of_each_kind_and_proposed_in_some_case(rule):
    for each in rule.proposes:
        for kind in each.kinds or rule.kinds:
            assert each.knob in TABLES[kind]
            assert kind in rule.kinds
            cases = (
                found for name, facts, found in CASES if (name, facts.kind) == (rule.name, kind)
            )
            assert each.knob in {knob.partition("@")[0] for found in cases for knob, _ in found}


@each_row(
    ("name", "knob"),
    [
        ("full-queue", "ListenBacklog"),
        ("gunicorn-short-lives", "max_requests"),
        ("kept-workers", "KeepAliveTimeout"),
        ("nginx-closed-upstream", "upstream_keepalive"),
        ("nginx-dear-compression", "gzip_comp_level"),
        ("nginx-unbuffered-log", "access_log_buffer"),
        ("one-sync-worker", "threads"),
        ("php-short-lives", "pm.max_requests"),
        ("short-lives", "MaxConnectionsPerChild"),
    ],
)
def test_a_value_that_its_function_has_stands_in_its_words(name, knob):
    [rule] = [each for each in all_rules() if each.name == name]
    [words] = [each.value for each in rule.proposes if each.knob == knob]
    found = [value for of, _, tried in CASES if of == name for key, value in tried if key == knob]
    assert any((f"{each:,}" if isinstance(each, int) else str(each)) in words for each in found)


def test_the_page_tells_what_is_tried_of_which_kind():
    page = rule_reference()
    assert "**Tries.** `KeepAliveTimeout`: 2 s.\n" in page
    assert (
        "`MaxRequestWorkers` (apache): as many as memory holds; `pm.max_children` (php-fpm)" in page
    )
    assert page.count("**Tries.**") == sum(1 for r in all_rules() if r.proposes)
