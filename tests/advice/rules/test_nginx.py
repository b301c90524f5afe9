"""What is said of an nginx."""

import pytest
from tests.advice.rules.told import evidence, named, nginx
from tests.rows import each_row

WHOLE = (
    "worker_processes {};\nworker_rlimit_nofile {};\n"
    "events {{ worker_connections {}; }}\nhttp {{\n}}"
)
LISTEN = "server {{ listen 80{}; }}"
PROXY = "server {{ listen 80; location / {{ proxy_pass {}; }} }}"

FIRES = [
    (
        "nginx-one-worker",
        "worker_processes 1;\nevents {}\nhttp {\n}",
        {"n_cpus": 4},
        "one worker, and 4 CPUs that it may run on: it computes on one of them",
    ),
    (
        "nginx-one-worker",
        "events {}\nhttp {\n}",
        {"n_cpus": 2},
        "one worker, and 2 CPUs that it may run on: it computes on one of them",
    ),
    (
        "nginx-open-files",
        WHOLE.format(2, 1024, 4096),
        {"open_files_limit": 65_536},
        "`worker_connections` 4,096 needs as many open files, and a worker may have 1,024: "
        "beyond, connections are refused",
    ),
    (
        "nginx-open-files",
        "events { worker_connections 4096; }\nhttp {\n}",
        {"open_files_limit": 1024},
        "`worker_connections` 4,096 needs as many open files, and a worker may have 1,024: "
        "beyond, connections are refused",
    ),
    (
        "nginx-dear-compression",
        "gzip on;\ngzip_comp_level 9;",
        {},
        "answers are compressed at level 9: more CPU than level 6 takes, for hardly fewer bytes",
    ),
    (
        "nginx-compressed-twice",
        "gzip on;\ngzip_types text/css image/jpeg;",
        {},
        "compressed again, though they are compressed: image/jpeg",
    ),
    (
        "nginx-compressed-twice",
        "server { listen 80; gzip on; gzip_types *; }",
        {},
        "compressed again, though they are compressed: all types",
    ),
    (
        "nginx-no-vary",
        "gzip on;",
        {},
        "answers are compressed and do not say `Vary: Accept-Encoding`",
    ),
    (
        "nginx-no-sendfile",
        "sendfile off;",
        {},
        "files are copied through nginx's memory: `sendfile` is off",
    ),
    (
        "nginx-closed-upstream",
        PROXY.format("http://127.0.0.1:8000"),
        {},
        "each request opens a connection to 127.0.0.1:8000 and closes it",
    ),
    (
        "nginx-unbuffered-log",
        "access_log /var/log/nginx/access.log;",
        {},
        "each request writes its line of the access log by a system call of its own",
    ),
    (
        "clipped-backlog",
        LISTEN.format(" backlog=8192"),
        {"somaxconn": 4096},
        "8,192 connections are to wait at most, and the kernel gives 4,096",
    ),
]
SILENT = [
    ("nginx-one-worker", "worker_processes 1;\nevents {}\nhttp {\n}", {}),
    ("nginx-one-worker", "worker_processes 1;\nevents {}\nhttp {\n}", {"n_cpus": 1}),
    ("nginx-one-worker", "worker_processes auto;\nevents {}\nhttp {\n}", {"n_cpus": 4}),
    ("nginx-open-files", WHOLE.format(2, 8192, 4096), {"open_files_limit": 1024}),
    ("nginx-open-files", "events { worker_connections 4096; }\nhttp {\n}", {}),
    ("nginx-dear-compression", "gzip on;\ngzip_comp_level 6;", {}),
    ("nginx-dear-compression", "gzip_comp_level 9;", {}),
    ("nginx-compressed-twice", "gzip on;\ngzip_types text/css image/svg+xml application/pdf;", {}),
    ("nginx-compressed-twice", "gzip off;\ngzip_types image/jpeg;", {}),
    ("nginx-no-vary", "gzip on;\ngzip_vary on;", {}),
    ("nginx-no-vary", "gzip off;", {}),
    ("nginx-no-sendfile", "sendfile on;", {}),
    ("nginx-no-sendfile", "", {}),
    (
        "nginx-closed-upstream",
        "server { listen 80; location / { fastcgi_pass unix:/run/php.sock; } }",
        {},
    ),
    (
        "nginx-closed-upstream",
        "upstream a { server 127.0.0.1:8000; keepalive 8; }\nproxy_http_version 1.1;\n"
        'proxy_set_header Connection "";\n' + PROXY.format("http://a"),
        {},
    ),
    ("nginx-unbuffered-log", "access_log /var/log/nginx/access.log combined buffer=32k;", {}),
    ("nginx-unbuffered-log", "access_log off;", {}),
    ("clipped-backlog", LISTEN.format(" backlog=8192"), {"somaxconn": None}),
    ("clipped-backlog", LISTEN.format(" backlog=4096"), {"somaxconn": 4096}),
    # Nobody asked for what is compiled in.
    ("clipped-backlog", LISTEN.format(""), {"somaxconn": 128}),
]


@each_row(("name", "text", "known", "words"), FIRES)
def test_what_costs_more_than_it_gives_is_told(name, text, known, words):
    assert named(nginx(text, **known), name) == [words]


@each_row(("name", "text", "known"), SILENT)
def test_what_is_well_and_what_is_not_known_is_not(name, text, known):
    assert named(nginx(text, **known), name) == []


def test_where_the_limit_comes_from_is_said():
    facts = nginx(WHOLE.format(2, 1024, 4096))
    assert evidence(facts, "nginx-open-files") == (
        "worker_connections 4096, /etc/nginx/nginx.conf:3; "
        "open files 1,024, /etc/nginx/nginx.conf:2"
    )


@pytest.mark.parametrize("build", [(), ("--with-debug",)])
def test_lines_for_debugging_are_told_where_it_was_built_to_write_them(build):
    words = ["each request writes lines for debugging into the error log"]
    facts = nginx("error_log /var/log/nginx/error.log debug;", *build)
    assert named(facts, "debug-log") == (words if build else [])
    assert named(nginx("error_log /var/log/debug warn;", *build), "debug-log") == []
