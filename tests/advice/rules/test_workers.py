"""What is said of php-fpm, gunicorn, uvicorn and node, and of pools beside their memory."""

from tests.advice.rules.told import (
    apache,
    evidence,
    findings,
    gunicorn,
    named,
    php_fpm,
    said,
    uvicorn,
)
from tests.rows import each_row

from httpdyno.advice.rules.facts import Facts, Front, PoolFacts
from httpdyno.advice.rules.programs import folders_of
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import Reading, Survey

MIB = 1 << 20
DYNAMIC = (
    "pm = dynamic\npm.start_servers = {}\npm.min_spare_servers = {}\npm.max_spare_servers = {}"
)


def pool(n_workers, n_fit=None, *, names=("php-fpm",), each_mib=60):
    return PoolFacts(
        n_workers=n_workers,
        names=names,
        n_fit=n_fit,
        each_bytes=each_mib * MIB,
        available_bytes=1024 * MIB,
        limited_by="MemAvailable and what it has",
    )


NFS = {"/srv/sessions": "nfs4"}
PHP_FIRES = [
    (
        "php-inverted-spares",
        php_fpm(DYNAMIC.format(2, 3, 1)),
        "`pm.max_spare_servers` 1 is below `pm.min_spare_servers` 3: php-fpm refuses that",
    ),
    (
        "php-inverted-spares",
        php_fpm(DYNAMIC.format(2, 1, 9)),
        "`pm.max_spare_servers` 9 is above `pm.max_children` 5: php-fpm refuses that",
    ),
    (
        "php-inverted-spares",
        php_fpm(DYNAMIC.format(5, 1, 3)),
        "`pm.start_servers` 5 is not between `pm.min_spare_servers` 1 and `pm.max_spare_servers` "
        "3: php-fpm refuses that",
    ),
    (
        "php-unread-spares",
        php_fpm("pm = static\npm.max_spare_servers = 3"),
        "with `pm = static` these count for nothing: pm.max_spare_servers",
    ),
    (
        "php-unread-spares",
        php_fpm("pm = ondemand\npm.start_servers = 3"),
        "with `pm = ondemand` these count for nothing: pm.start_servers",
    ),
    (
        "php-short-lives",
        php_fpm("pm.max_requests = 50"),
        "a child ends after 50 requests, of 5 that may run, and the next one begins with a fork",
    ),
    (
        "opcache-off",
        php_fpm("", "opcache.enable = 0"),
        "each request compiles all of its scripts anew: OPcache is off",
    ),
    (
        "php-debugging",
        php_fpm("php_flag[display_errors] = on"),
        "visitors see the errors of scripts, with paths: `display_errors` is on",
    ),
    (
        "php-debugging",
        php_fpm("", "zend_extension = xdebug.so"),
        "xdebug is loaded: it hooks into each call of a function, and keeps the JIT off",
    ),
    (
        "debug-log",
        php_fpm("[global]\nlog_level = debug"),
        "each request writes lines for debugging into the error log",
    ),
    (
        "workers-over-memory",
        php_fpm("pm = static", pool=pool(5, 3)),
        "5 processes are allowed, and memory holds 3: the largest has 60.0 MiB of its own, of "
        "1.00 GiB (MemAvailable and what it has)",
    ),
    (
        "workers-below-memory",
        php_fpm(
            "pm = static",
            pool=pool(5, 40),
            queues=(ListenQueue(address="unix:/run/php.sock", waiting=7, backlog=511),),
        ),
        "all 5 processes run and connections wait, while memory holds 40",
    ),
    (
        "sessions-on-network",
        apache('php_value session.save_path "2;/srv/sessions"', "php", filesystems=NFS),
        "each request with a session locks, reads and writes a file of nfs4",
    ),
    (
        "sessions-on-network",
        php_fpm("", 'session.save_path = "2;600;/srv/sessions"', filesystems=NFS),
        "each request with a session locks, reads and writes a file of nfs4",
    ),
]
SESSIONS = "session.save_path = /srv/sessions"
PHP_SILENT = [
    ("php-inverted-spares", php_fpm(DYNAMIC.format(2, 1, 3))),
    ("php-inverted-spares", php_fpm("pm = static\npm.min_spare_servers = 9")),
    ("php-unread-spares", php_fpm(DYNAMIC.format(2, 1, 3))),
    ("php-short-lives", php_fpm("pm.max_requests = 500")),
    ("php-short-lives", php_fpm("")),
    ("opcache-off", php_fpm("", "opcache.enable = 1")),
    ("opcache-off", php_fpm("")),
    ("php-debugging", php_fpm("", "display_errors = Off")),
    (
        "php-debugging",
        php_fpm("", "zend_extension = xdebug.so", environment_names=("XDEBUG_MODE",)),
    ),
    # Where a pool's own value counts, that of the server does not.
    ("php-debugging", php_fpm("php_flag[display_errors] = off", "display_errors = On")),
    ("php-debugging", php_fpm("", "zend_extension = xdebug.so\nxdebug.mode = off")),
    ("sessions-on-network", php_fpm("", SESSIONS)),
    (
        "sessions-on-network",
        apache(
            "php_value session.save_path /srv/sessions\nphp_value session.save_handler redis",
            "php",
            filesystems=NFS,
        ),
    ),
    ("sessions-on-network", php_fpm("", SESSIONS, filesystems={"/srv/sessions": "ext4"})),
    (
        "sessions-on-network",
        php_fpm("", f"{SESSIONS}\nsession.save_handler = redis", filesystems=NFS),
    ),
    ("workers-over-memory", php_fpm("pm = static")),
    ("workers-over-memory", php_fpm("pm = static", pool=pool(5))),
    ("workers-over-memory", php_fpm("pm = static", pool=pool(5, 5))),
    # Of what else runs below it nothing is known.
    ("workers-over-memory", php_fpm("pm = static", pool=pool(5, 3, names=("php-fpm", "sh")))),
    ("workers-below-memory", php_fpm("pm = static", pool=pool(5, 40))),
]


@each_row(("name", "facts", "words"), PHP_FIRES)
def test_what_costs_more_than_it_gives_is_told_of_php(name, facts, words):
    assert named(facts, name) == [words]


def test_the_folder_of_mod_phps_sessions_is_asked_for():
    assert folders_of(apache('php_admin_value session.save_path "2;/srv/s"', "php")) == ("/srv/s",)


@each_row(("name", "facts"), PHP_SILENT)
def test_what_is_well_and_what_is_not_known_is_not_told_of_php(name, facts):
    assert named(facts, name) == []


def test_workers_of_apache_are_counted_as_its_limit_cuts_them():
    facts = apache("MaxRequestWorkers 400", pool=pool(10, 200, names=("apache2",)))
    assert named(facts, "workers-over-memory")[0].startswith("256 processes are allowed, and")
    threaded = apache("MaxRequestWorkers 400", mpm="event", pool=pool(3, 16, names=("apache2",)))
    assert named(threaded, "workers-over-memory") == []


FRONT = Front(
    name="nginx",
    idle_s=60.0,
    idle=Reading(name="upstream_keepalive_timeout", scope="127.0.0.1:8000", text="60s"),
)
ARGUMENTS = ("GUNICORN_CMD_ARGS",)
PYTHON_FIRES = [
    (
        "one-sync-worker",
        gunicorn("", pool=pool(1)),
        "one sync worker: one request at a time, and all others wait for it",
    ),
    (
        "one-sync-worker",
        gunicorn("workers = 1"),
        "one sync worker: one request at a time, and all others wait for it",
    ),
    (
        "no-timeout",
        gunicorn("", "--timeout", "0"),
        "a worker that hangs is never given up: `timeout` is 0",
    ),
    (
        "gunicorn-short-lives",
        gunicorn("max_requests = 10\n"),
        "a worker ends after 10 requests, and the next one begins with a fork and mostly with all "
        "imports",
    ),
    (
        "gunicorn-unread-keepalive",
        gunicorn("keepalive = 5"),
        "`keepalive` 5 s counts for nothing: sync workers close each connection after its answer",
    ),
    (
        "gunicorn-unread-keepalive",
        gunicorn("", "--keep-alive", "5", "-k", "gunicorn.workers.sync.SyncWorker"),
        "`keepalive` 5 s counts for nothing: sync workers close each connection after its answer",
    ),
    (
        "gunicorn-unread-keepalive",
        gunicorn("keepalive = 5\nthreads = 8\nworker_connections = 8"),
        "`keepalive` 5 s counts for nothing: `worker_connections` 8 leaves no place for an idle "
        "one beside 8 threads",
    ),
    (
        "gunicorn-closes-first",
        gunicorn("worker_class = 'gthread'", fronts=(FRONT,)),
        "gunicorn closes a connection that is idle for 2 s, and nginx keeps it for 60 s: what "
        "nginx sends at that moment is lost, and a POST gets a 502",
    ),
    (
        "gunicorn-closes-first",
        gunicorn("threads = 4\nkeepalive = 60", fronts=(FRONT,)),
        "gunicorn closes a connection that is idle for 60 s, and nginx keeps it for 60 s: what "
        "nginx sends at that moment is lost, and a POST gets a 502",
    ),
    (
        "no-jitter",
        gunicorn("workers = 4\nmax_requests = 1000\n"),
        "4 workers that began together end together, after 1000 requests each: nothing spreads "
        "their ends",
    ),
    (
        "no-preload",
        gunicorn("workers = 4", pool=pool(4)),
        "4 workers load the application each for itself: the largest has 60.0 MiB of its own",
    ),
    (
        "heartbeat-on-disk",
        gunicorn("", "--worker-tmp-dir", "/var/tmp", filesystems={"/var/tmp": "ext4"}),
        "workers touch their heartbeat on ext4: while that is busy gunicorn takes them for hung",
    ),
    (
        "reloading",
        gunicorn("reload = True"),
        "it watches its source files and restarts when one changes: `--reload`",
    ),
    (
        "reloading",
        uvicorn("--reload"),
        "it watches its source files and restarts when one changes: `--reload`",
    ),
    (
        "debug-log",
        gunicorn("", "--log-level=debug"),
        "each request writes lines for debugging into the error log",
    ),
    (
        "debug-log",
        gunicorn("loglevel = 'debug'"),
        "each request writes lines for debugging into the error log",
    ),
    (
        "debug-log",
        uvicorn("--log-level", "trace"),
        "each request writes lines for debugging into the error log",
    ),
    (
        "python-debugging",
        uvicorn(environment_names=("PATH", "PYTHONASYNCIODEBUG")),
        "`PYTHONASYNCIODEBUG` is set: checks and traces of the interpreter",
    ),
    (
        "clipped-backlog",
        gunicorn("backlog = 9000", somaxconn=4096),
        "9,000 connections are to wait at most, and the kernel gives 4,096",
    ),
]
SHM = {"/dev/shm": "tmpfs"}
PYTHON_SILENT = [
    ("one-sync-worker", gunicorn("")),
    ("one-sync-worker", gunicorn("workers = 3")),
    ("one-sync-worker", gunicorn("workers = 1\nthreads = 4")),
    ("one-sync-worker", gunicorn("workers = 1\nworker_class = 'gevent'")),
    ("one-sync-worker", gunicorn("workers = 1\nworker_class = picked()")),
    # Arguments may stand in a variable whose value is not read.
    ("one-sync-worker", gunicorn("", pool=pool(1), environment_names=ARGUMENTS)),
    ("one-sync-worker", gunicorn("", pool=pool(1), environment_names=None)),
    ("no-timeout", gunicorn("timeout = 30")),
    ("gunicorn-short-lives", gunicorn("max_requests = 1000")),
    ("gunicorn-unread-keepalive", gunicorn("")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 0")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5\nthreads = 2")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5\nworker_class = 'gevent'")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5\nworker_class = picked()")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5\nthreads = picked()")),
    ("gunicorn-unread-keepalive", gunicorn("keepalive = 5", environment_names=ARGUMENTS)),
    ("gunicorn-closes-first", gunicorn("threads = 4")),
    ("gunicorn-closes-first", gunicorn("", fronts=(FRONT,))),
    ("gunicorn-closes-first", gunicorn("threads = 4\nkeepalive = 61", fronts=(FRONT,))),
    ("gunicorn-closes-first", gunicorn("threads = 4\nkeepalive = 0", fronts=(FRONT,))),
    ("gunicorn-closes-first", gunicorn("worker_class = 'tornado'", fronts=(FRONT,))),
    (
        "gunicorn-closes-first",
        gunicorn("threads = 4", fronts=(FRONT,), environment_names=ARGUMENTS),
    ),
    ("no-jitter", gunicorn("workers = 4\nmax_requests = 1000\nmax_requests_jitter = 100")),
    ("no-jitter", gunicorn("max_requests = 1000")),
    ("no-preload", gunicorn("workers = 4\npreload_app = True", pool=pool(4))),
    ("no-preload", gunicorn("workers = 4", pool=pool(4, each_mib=12))),
    ("heartbeat-on-disk", gunicorn("", filesystems={"/tmp": "ext4"})),
    ("heartbeat-on-disk", gunicorn("worker_tmp_dir = '/dev/shm'", filesystems=SHM)),
    ("heartbeat-on-disk", gunicorn("worker_tmp_dir = '/dev/shm'")),
    ("reloading", gunicorn("reload = False")),
    ("reloading", uvicorn("--reload-dir", "x")),
    ("debug-log", gunicorn("loglevel = 'debug'", "--log-level", "info")),
    ("python-debugging", uvicorn(environment_names=("PATH",))),
    ("python-debugging", uvicorn(environment_names=None)),
]


@each_row(("name", "facts", "words"), PYTHON_FIRES)
def test_what_costs_more_than_it_gives_is_told_of_python(name, facts, words):
    assert named(facts, name) == [words]


@each_row(("name", "facts"), PYTHON_SILENT)
def test_what_is_well_and_what_is_not_known_is_not_told_of_python(name, facts):
    assert named(facts, name) == []


def test_a_jitter_is_named_with_its_number():
    facts = gunicorn("workers = 4\nmax_requests = 1000\n")
    [found] = [each for each in findings(facts) if each.name == "no-jitter"]
    assert found.do == "set `max_requests_jitter` to a tenth: 100"
    assert found.evidence == (
        "max_requests 1000, /srv/shop/gunicorn.conf.py:2; workers 4, /srv/shop/gunicorn.conf.py:1"
    )


def test_a_longer_time_is_named_beside_who_closes_later():
    facts = gunicorn("threads = 4\nkeepalive = 3", fronts=(FRONT,))
    [found] = [each for each in findings(facts) if each.name == "gunicorn-closes-first"]
    assert found.do == (
        "set `keepalive` to 65, or `keepalive_timeout` of nginx's upstream below 3 s"
    )
    assert found.evidence == (
        "keepalive 3, /srv/shop/gunicorn.conf.py:2; "
        "upstream_keepalive_timeout 60s in 127.0.0.1:8000, compiled in"
    )


@each_row(
    ("names", "command", "is_running", "n"),
    [
        (("PATH", "HOME"), ("node", "a.js"), True, 1),
        (("PATH", "NODE_ENV"), ("node", "a.js"), True, 0),
        (("PATH", "HOME"), ("env", "NODE_ENV=production", "node", "a.js"), True, 0),
        (("PATH", "HOME"), ("node", "a.js"), False, 0),
        (None, ("node", "a.js"), True, 0),
        ((), ("node", "a.js"), True, 0),
    ],
)
def test_node_without_its_variable_is_told_where_its_environment_is_seen(
    names, command, is_running, n
):
    facts = Facts(
        kind="node",
        survey=Survey(version=""),
        command=command,
        environment_names=names,
        pool=pool(0) if is_running else None,
    )
    assert len(said(facts)) == n


def test_what_a_socket_was_given_stands_beside_what_was_asked():
    queue = ListenQueue(address="0.0.0.0:8000", waiting=0, backlog=4096)
    facts = gunicorn("backlog = 9000", somaxconn=4096, queues=(queue,))
    assert evidence(facts, "clipped-backlog") == (
        "backlog 9000, /srv/shop/gunicorn.conf.py:1; net.core.somaxconn 4,096; "
        "4,096 at 0.0.0.0:8000 now"
    )
