"""Each rule speaks where it has a reason, is silent where it has none, and never talks nonsense."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.advice.looked_at import (
    CATALOGUES,
    USUAL,
    gunicorn,
    httpd,
    layouts,
    nginx,
    nginx_text,
    php,
    pool,
    proposed,
    uvicorn,
)
from tests.rows import each_row
from tests.servers.apache.sample import EVENT, PREFORK
from tests.servers.nginx.layouts import DEBIAN
from tests.servers.php_fpm.sample import FOLDER, OPCACHE, PHP_INI
from tests.words import words

from httpdyno.advice.knob import rules
from httpdyno.advice.proposal import (
    LEAST_PRIOR,
    KnobProposal,
    Shape,
    WorkerRoom,
    chosen,
    within_room,
)
from httpdyno.model import Backend, Burst, Reading, Survey

MODULES = """LoadModule log_config_module m/mod_log_config.so
LoadModule status_module m/mod_status.so
LoadModule deflate_module m/mod_deflate.so
"""
SMALL = Shape(n_cpus=2, connections=2)
FILES = Shape(n_cpus=4, connections=64, static_share=0.9)
NO_FILES = Shape(n_cpus=4, connections=64, static_share=0.0)
SPILLED = Shape(
    n_cpus=4,
    connections=64,
    words=("[warn] an upstream response is buffered to a temporary file /var/lib/x",),
)
BURST = Burst(duration_s=2.0, connections=64, n_answers=100, n_failed=0, cpu_s=0.8, idle_ratio=0.7)
CROWDED = Shape(
    n_cpus=4, connections=64, burst=structs.replace(BURST, waiting={"127.0.0.1:8000": 9})
)
COMPUTES = Shape(n_cpus=4, connections=64, burst=structs.replace(CROWDED.burst or BURST, cpu_s=7.5))
OTHERS = Shape(
    n_cpus=4, connections=64, burst=structs.replace(CROWDED.burst or BURST, idle_ratio=0.1)
)
ASLEEP = Shape(n_cpus=4, connections=64, burst=structs.replace(OTHERS.burst or BURST, ready_s=0.5))
READY = Shape(n_cpus=4, connections=64, burst=structs.replace(OTHERS.burst or BURST, ready_s=17.5))
UNREAD = Shape(
    n_cpus=4,
    connections=64,
    burst=structs.replace(BURST, unread={"127.0.0.1:8000": 40}, cpu_s=0.2),
)
AT_A_SOCKET = Shape(
    n_cpus=4, connections=64, burst=structs.replace(BURST, waiting={"unix:./shop.sock": 9})
)
ELSEWHERE = Shape(n_cpus=4, connections=64, burst=structs.replace(BURST, waiting={"[::]:81": 9}))
OVERFLOWN = Shape(n_cpus=4, connections=64, burst=structs.replace(BURST, overflows=7))
ANEW = Shape(n_cpus=4, connections=64, burst=structs.replace(BURST, n_handshakes_full=100))
TAKEN_UP = Shape(
    n_cpus=4,
    connections=64,
    burst=structs.replace(BURST, n_handshakes_full=64, n_handshakes_resumed=36),
)
HEAVY = WorkerRoom(member="any", n=100, each_bytes=60 << 20)
SESSIONS = "10m/5m"
TLS = "listen 443 ssl;"
PROXIED = "location / { proxy_pass http://127.0.0.1:3000; }"
TO_PHP = "location / { fastcgi_pass unix:/run/php.sock; }"
HTACCESS = f"{EVENT}DocumentRoot /srv\n<Directory /srv>\nAllowOverride All\n</Directory>\n"
SECOND_POOL = {f"{FOLDER}/pool.d/b.conf": "[b]\nlisten = 9001\npm = static\npm.max_children = 3\n"}


def slow_nginx(**more):
    """Return one that has a mistake for each rule."""
    return nginx_text(
        main="worker_processes 1; events { worker_connections 64; }",
        http="sendfile off; gzip on; gzip_comp_level 9; keepalive_timeout 0; keepalive_requests 5;"
        "upstream app { server 127.0.0.1:3000; }",
        server="location / { proxy_pass http://app; }",
        **more,
    )


def heavy(site):
    """Return a site whose largest worker has much of its own."""
    return replace(site, rooms={"": HEAVY})


def looked_at(shape=USUAL):
    """Return sites of all kinds, sound ones and such with many mistakes."""
    loud = f"{MODULES}{EVENT}KeepAlive Off\nHostnameLookups Double\nLogLevel debug\n"
    return {
        **layouts(shape),
        "slow nginx": slow_nginx(shape=shape),
        "php": php(shape=shape),
        "two pools": php(SECOND_POOL, shape),
        "asserts": php({PHP_INI: "zend.assertions = 1\n"}, shape),
        "slow php": pool(
            *("pm = ondemand", "pm.max_children = 1", "pm.max_requests = 1"),
            "php_admin_flag[opcache.enable] = off",
            shape=shape,
        ),
        "event": httpd(MODULES + EVENT, shape=shape),
        "prefork": httpd(PREFORK.replace("150", "5"), shape=shape),
        "loud": httpd(loud + "MaxConnectionsPerChild 5\n", shape=shape),
        "gunicorn": gunicorn(shape=shape),
        "slow gunicorn": gunicorn("--workers", "3", "--max-requests", "9", shape=shape),
        "threads": gunicorn("-k", "gthread", "--threads", "2", "-w", "6", shape=shape),
        "uvicorn": uvicorn(shape=shape),
        "TLS": nginx_text(server=TLS, shape=shape),
        "short queue": nginx_text(server="listen 81 backlog=9;", shape=shape),
        "short queue of Apache": httpd(f"{EVENT}ListenBacklog 9\n", shape=shape),
        "slow uvicorn": uvicorn(
            *("--loop", "asyncio", "--http", "h11", "--limit-max-requests", "9"), shape=shape
        ),
    }


SHAPES = st.builds(
    Shape,
    n_cpus=st.integers(1, 64),
    connections=st.integers(1, 5000),
    static_share=st.none() | st.floats(0, 1),
    is_keep_alive=st.booleans(),
    burst=st.none()
    | st.builds(
        Burst,
        duration_s=st.floats(0, 10),
        connections=st.integers(1, 5000),
        n_answers=st.integers(0, 10**6),
        n_failed=st.integers(0, 10**6),
        n_handshakes_full=st.integers(0, 10**6),
        waiting=st.dictionaries(st.sampled_from(["[::]:80", "127.0.0.1:8000"]), st.integers(1)),
        overflows=st.none() | st.integers(0, 9),
        cpu_s=st.floats(0, 10),
        idle_ratio=st.floats(0, 1),
    ),
)
ROOMS = st.none() | st.builds(
    WorkerRoom, member=st.just("any"), n=st.none() | st.integers(0, 300), unknown=st.just("why")
)
SITES = looked_at()


@pytest.mark.parametrize("name", SITES)
@settings(max_examples=30)
@given(shape=SHAPES, room=ROOMS)
def test_what_is_proposed_can_be_set_and_is_not_in_force_already(name, shape, room):
    site = SITES[name]
    scopes = {each.partition("@")[2] for each in site.knobs}
    rooms = {} if room is None else dict.fromkeys(scopes, room)
    given_shape = replace(site, shape=shape, rooms=rooms)
    for each in within_room(given_shape, proposed(given_shape)).values():
        info = site.knobs[each.name]
        assert each.start == info.default
        assert all(map(info.takes, each.levels)), each
        assert each.levels, each.name
        assert each.start not in each.levels
        assert len(set(each.levels)) == len(each.levels)
        assert {type(level) for level in each.levels} == {type(each.start)}, each.name
        assert each.why


@each_row("kind", CATALOGUES)
def test_rules_name_knobs_that_there_are(kind):
    sites = [site for site in looked_at().values() if site.kind == kind]
    assert [name for site in sites for name in proposed(site)]
    assert set().union(*(site.names for site in sites)) <= CATALOGUES[kind]


@each_row("kind", CATALOGUES)
def test_every_rule_has_something_to_say_of_some_site(kind):
    sites = [*looked_at().values(), nginx_text(server=PROXIED)]
    for shape in (SPILLED, OVERFLOWN, ANEW, CROWDED):
        sites += looked_at(shape).values()
    sites.append(heavy(httpd(PREFORK)))
    inlined = httpd(HTACCESS, {"/srv/.htaccess": "Options -Indexes\n"})
    like = [site for site in (*sites, inlined) if rules(site.kind) is rules(kind)]
    silent = [r.__name__ for r in rules(kind) if not any(list(r(site)) for site in like)]
    assert silent == []


@each_row(
    ("site", "expected"),
    [
        pytest.param(site, expected, id=name)
        for name, site, expected in [
            ("one worker", nginx_text(), {"worker_processes": (4,)}),
            ("many workers", nginx_text("", "worker_processes 16;"), {"worker_processes": (4,)}),
            ("few connections", slow_nginx(), {"worker_connections": (1024,)}),
            ("no sendfile", nginx_text(), {"sendfile": ("on", "on+nopush")}),
            ("dear compression", slow_nginx(), {"gzip_comp_level": (1,)}),
            ("closed by nginx", slow_nginx(), {"keepalive_timeout": (15,)}),
            ("closed early", slow_nginx(), {"keepalive_requests": (1000,)}),
            ("closed to backends", slow_nginx(), {"upstream_keepalive": (16,)}),
            ("open files", nginx_text(shape=FILES), {"open_file_cache": ("10000/60s",)}),
            (
                "spilled",
                nginx_text(server=PROXIED, shape=SPILLED),
                {"proxy_buffers": ("8x16k", "16x32k")},
            ),
            ("few children", pool("pm.max_children = 5"), {"pm.max_children": (32, 64)}),
            ("half is less", pool("pm.max_children = 40"), {"pm.max_children": (64,)}),
            ("two pools", php(SECOND_POOL), {"pm.max_children@b": (32, 64)}),
            ("new children", pool("pm.max_requests = 1"), {"pm.max_requests": (5000,)}),
            ("forked when asked", pool("pm = ondemand"), {"pm": ("static",)}),
            (
                "never compiled",
                pool("php_admin_flag[opcache.enable] = off"),
                {"opcache.enable": (True,)},
            ),
            ("assertions", php({PHP_INI: "zend.assertions = 1\n"}), {"zend.assertions": (-1,)}),
            ("looked at", php(), {"opcache.validate_timestamps": (False,)}),
            (
                "few of Apache",
                httpd(EVENT.replace("150", "25")),
                {"MaxRequestWorkers": (125,)},
            ),
            (
                "new processes",
                httpd(EVENT + "MaxConnectionsPerChild 9\n"),
                {"MaxConnectionsPerChild": (10_000,)},
            ),
            ("kept by much", heavy(httpd(PREFORK)), {"KeepAlive": (False,)}),
            ("closed by Apache", httpd("KeepAlive Off\n"), {"KeepAlive": (True,)}),
            ("loud", httpd(EVENT + "LogLevel debug\n"), {"LogLevel": ("warn",)}),
            ("names", httpd(EVENT + "HostnameLookups On\n"), {"HostnameLookups": ("Off",)}),
            ("lines of log", httpd(MODULES + EVENT), {"BufferedLogs": (True,)}),
            ("level 6", httpd(MODULES + EVENT), {"DeflateCompressionLevel": (1,)}),
            ("one process", gunicorn(), {"workers": (4, 9), "threads": (4,)}),
            ("some processes", gunicorn("-w", "5"), {"workers": (9,)}),
            ("new workers", gunicorn("--max-requests", "9"), {"max_requests": (10_000,)}),
            ("one uvicorn", uvicorn(), {"workers": (4, 9)}),
            ("in Python", uvicorn("--loop", "asyncio"), {"loop": ("uvloop",)}),
            (
                "none taken up",
                nginx_text(server=TLS, shape=ANEW),
                {"ssl_session_cache": (SESSIONS,)},
            ),
            ("full", nginx_text(shape=OVERFLOWN), {"listen_backlog": (4096,)}),
            ("full Apache", httpd(EVENT, shape=OVERFLOWN), {"ListenBacklog": (4096,)}),
            ("full gunicorn", gunicorn(shape=OVERFLOWN), {"backlog": (4096,)}),
            ("waited", gunicorn("-w", "9", shape=CROWDED), {"workers": (32, 64), "threads": (4,)}),
            (
                "waited beside others",
                gunicorn("-w", "9", shape=ASLEEP),
                {"workers": (32, 64), "threads": (4,)},
            ),
            ("read by nobody", uvicorn(shape=UNREAD), {"workers": (32, 64)}),
            (
                "waited at a socket",
                gunicorn("-w", "9", "-b", "unix:/srv/run/shop.sock", shape=AT_A_SOCKET),
                {"workers": (32, 64), "threads": (4,)},
            ),
            ("lines of log", uvicorn(), {"access_log": (False,)}),
            ("slow parser", uvicorn("--http", "h11"), {"http": ("httptools",)}),
        ]
    ],
)
def test_a_mistake_is_seen(site, expected):
    found = {name: each.levels for name, each in proposed(site).items() if name in expected}
    assert found == expected


@each_row(
    ("site", "name"),
    [
        pytest.param(site, name, id=what)
        for what, site, name in [
            ("auto", nginx_text(main="worker_processes auto;", shape=SMALL), "worker_processes"),
            ("enough", nginx_text(shape=SMALL), "worker_connections"),
            ("it sends", nginx_text("sendfile on;"), "sendfile"),
            ("none of its requests is a file", nginx_text(shape=NO_FILES), "sendfile"),
            ("no files", nginx_text(shape=NO_FILES), "open_file_cache"),
            ("cheap", nginx_text("gzip on; gzip_comp_level 2;"), "gzip_comp_level"),
            ("does not compress", nginx_text("gzip_comp_level 9;"), "gzip_comp_level"),
            ("75 s", nginx_text(), "keepalive_timeout"),
            ("nothing spilled", nginx_text(server=PROXIED), "proxy_buffers"),
            ("no backend", nginx_text(), "upstream_keepalive"),
            ("no log", nginx_text("access_log off;"), "access_log_buffer"),
            ("fewer clients", pool(shape=SMALL), "pm.max_children"),
            ("for ever", pool(), "pm.max_requests"),
            ("dynamic", pool(), "pm"),
            ("on", pool(), "opcache.enable"),
            (
                "nothing is kept",
                php({OPCACHE: "zend_extension=opcache.so\nopcache.enable=0\n"}),
                "opcache.validate_timestamps",
            ),
            ("production's", php(), "zend.assertions"),
            ("enough of Apache", httpd(EVENT), "MaxRequestWorkers"),
            ("for ever too", httpd(EVENT), "MaxConnectionsPerChild"),
            ("kept", httpd(EVENT), "KeepAlive"),
            ("kept by threads", heavy(httpd(EVENT)), "KeepAlive"),
            ("kept by little", httpd(PREFORK), "KeepAlive"),
            ("warnings", httpd(EVENT), "LogLevel"),
            ("no names", httpd(EVENT), "HostnameLookups"),
            ("no `.htaccess`", httpd(EVENT), "htaccess"),
            ("as many as help", gunicorn("-w", "9"), "workers"),
            ("not a class of threads", gunicorn("-k", "gevent"), "threads"),
            ("a class of their own", gunicorn("-k", "shop.Worker"), "threads"),
            ("many threads", gunicorn("--threads", "8"), "threads"),
            ("computes", gunicorn("-w", "9", shape=COMPUTES), "workers"),
            ("others have the CPUs", gunicorn("-w", "9", shape=OTHERS), "workers"),
            ("ready, and others had the CPUs", gunicorn("-w", "9", shape=READY), "workers"),
            ("no lines of log", uvicorn("--no-access-log"), "access_log"),
            (
                "waited at another socket",
                gunicorn("-w", "9", "-b", "unix:/srv/run/myshop.sock", shape=AT_A_SOCKET),
                "workers",
            ),
            ("waited elsewhere", gunicorn("-w", "9", shape=ELSEWHERE), "workers"),
            ("kept TLS", nginx_text(server=TLS, shape=TAKEN_UP), "ssl_session_cache"),
            ("nobody tried", nginx_text(server=TLS), "ssl_session_cache"),
            (
                "sessions",
                nginx_text("ssl_session_cache shared:a:1m;", server=TLS, shape=ANEW),
                "ssl_session_cache",
            ),
            ("by itself", uvicorn(), "loop"),
            ("a worker for each core", uvicorn("--workers", "4"), "workers"),
        ]
    ],
)
def test_without_a_reason_a_rule_is_silent(site, name):
    assert name not in proposed(site)


def php_member(*n_children):
    readings = [
        Reading(name="pm.max_children", scope=str(number), text=str(n))
        for number, n in enumerate(n_children)
    ]
    return {"php-fpm": Survey(version="PHP", readings=tuple(readings))}


@each_row(
    ("others", "levels", "blocked"),
    [
        (php_member(20), (5,), ""),
        (php_member(200, 9), (2,), ""),
        (php_member(500), (16,), ""),
        (php_member(3), (16,), "4 workers would each keep one of 3 processes waiting"),
        ({}, (16,), "nobody knows how many processes its backend has"),
    ],
)
def test_kept_connections_never_occupy_all_processes_of_php(others, levels, blocked):
    each = proposed(nginx_text(server=TO_PHP, others=others))["upstream_keepalive"]
    assert (each.levels, words(each.blocked)) == (levels, blocked)


@pytest.mark.parametrize(
    ("flags", "blocked"),
    [((), "gunicorn's sync workers close each connection"), (("--threads", "4"), "")],
)
def test_no_connection_is_kept_to_what_closes_them_all(flags, blocked):
    site = nginx_text(server=PROXIED, others={"gunicorn": gunicorn(*flags).survey})
    assert site.survey.backends == (
        Backend(to="127.0.0.1:3000", protocol="http", origin=site.survey.backends[0].origin),
    )
    assert words(proposed(site)["upstream_keepalive"].blocked) == blocked


def test_htaccess_is_inlined_only_where_that_is_allowed():
    site = httpd(HTACCESS, {"/srv/.htaccess": "Options -Indexes\n"})
    tried = {each.name for each in chosen(proposed(site).values(), site.knobs).tried}
    with_inline = chosen(proposed(site).values(), site.knobs, allowed=["inline"]).tried
    assert "htaccess" not in tried
    assert [each.levels for each in with_inline if each.name == "htaccess"] == [("inlined",)]


def test_of_a_sound_server_nothing_is_tried_but_what_may_be_lost_or_stale():
    sound = nginx(DEBIAN.texts(), Shape(n_cpus=2, connections=16))
    found = chosen(proposed(sound).values(), sound.knobs)
    assert found.tried == ()
    assert {each.name for each in found.listed} == {
        *("open_file_cache", "access_log_buffer", "multi_accept", "listen_backlog")
    }


def test_sending_is_likelier_to_help_where_files_are_sent_and_the_status_is_not():
    found: dict[str, KnobProposal] = proposed(httpd(MODULES + EVENT, shape=FILES))
    assert found["EnableSendfile"].prior > LEAST_PRIOR > found["ExtendedStatus"].prior
    assert proposed(httpd(MODULES + EVENT))["EnableSendfile"].prior < LEAST_PRIOR
