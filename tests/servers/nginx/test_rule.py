"""What a value needs besides, and what cannot be."""

import pytest
from tests.rows import each_row
from tests.servers.nginx.layouts import DEBIAN, H5BP, NO_LISTEN, PROXY, Layout

from httpdyno.errors import AdapterError
from httpdyno.model import Member, Reading, Survey
from httpdyno.report.shared import message
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files

NGINX = Nginx()
ZONES = Layout(
    name="zones",
    main="/n.conf",
    files={
        "/n.conf": """events { }
http {
    server {
        listen 443 ssl;
        server_name a.example;
        ssl_session_cache shared:SSL:1m;
        location / { }
    }
    server {
        listen 443 ssl;
        server_name b.example;
        ssl_session_cache builtin shared:SSL:1m;
        ssl_session_timeout 1h;
        location / { }
    }
    server {
        listen 443 ssl;
        server_name c.example;
        ssl_session_cache shared:other:1m;
        location / { }
    }
}
"""
    },
)


def changes(layout, values, somaxconn="4096"):
    files = MemberFiles(texts=layout.texts())
    member = Member(name="nginx", kind="nginx", main=layout.main, unit="nginx.service")
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    kernel = Reading(name="net.core.somaxconn", scope="", text=somaxconn)
    others = tuple(r for r in survey.readings if r.name != kernel.name)
    survey = Survey(version=survey.version, readings=(*others, kernel), modules=survey.modules)
    found = NGINX.change_set(survey, files, values)
    return found, {**files.texts, **edited_files(files.texts, found.edits)}


def test_connections_take_their_open_files_with_them():
    found, texts = changes(DEBIAN, {"worker_connections": 4096})
    assert (
        b"include /etc/nginx/modules-enabled/*.conf;\nworker_rlimit_nofile 8256;\n"
        in (texts[DEBIAN.main])
    )
    assert message.texts(found.notes) == (
        "`worker_rlimit_nofile 8256`: each connection takes up to two open files",
    )
    found, texts = changes(H5BP, {"worker_connections": 16_384})
    assert b"\nworker_rlimit_nofile 32832;\n" in texts[H5BP.main]


@pytest.mark.parametrize("connections", [800, 900])
def test_a_limit_that_is_enough_stays(connections):
    found, _ = changes(DEBIAN, {"worker_connections": connections})
    assert len(found.edits) == 1
    assert found.notes == ()


def test_an_asked_limit_below_the_connections_is_refused():
    with pytest.raises(AdapterError, match="4000 is less than `worker_connections` 8000"):
        changes(H5BP, {"worker_rlimit_nofile": 4000})
    with pytest.raises(AdapterError, match="9000 is less than `worker_connections` 10000"):
        changes(H5BP, {"worker_rlimit_nofile": 9000, "worker_connections": 10_000})
    found, _ = changes(H5BP, {"worker_rlimit_nofile": 20_000, "worker_connections": 10_000})
    assert len(found.edits) == 2


@each_row(
    ("backlog", "somaxconn", "sysctls"),
    [
        (4096, "4096", {}),
        (8192, "4096", {"net.core.somaxconn": "8192"}),
        (512, "128", {"net.core.somaxconn": "512"}),
        # As it was found, the kernel cuts it: a copy of that is cut, too.
        (511, "128", {}),
    ],
)
def test_a_backlog_beyond_the_kernels_limit_takes_that_with_it(backlog, somaxconn, sysctls):
    found, _ = changes(DEBIAN, {"listen_backlog": backlog}, somaxconn)
    assert found.sysctls == sysctls
    assert any("net.core.somaxconn" in note for note in message.texts(found.notes)) is bool(sysctls)


def test_a_shared_zone_has_one_size_wherever_it_is_named():
    found, texts = changes(ZONES, {"ssl_session_cache@a.example": "20m/5m"})
    text = texts["/n.conf"].decode()
    assert text.count("shared:SSL:20m") == 2
    assert "builtin shared:SSL:20m" in text
    assert "shared:other:1m" in text
    assert "a shared zone has the same size wherever it is named" in message.texts(found.notes)


ONE_OF_TWO = Layout(
    name="one of two",
    main="/n.conf",
    files={
        "/n.conf": """events { }
http {
    server { server_name a.example; listen 80; }
    server { server_name b.example; listen 80; gzip on; }
}
"""
    },
)


def test_a_level_of_a_compression_whose_only_place_is_asked_off_is_refused():
    words = "`gzip_comp_level` means nothing where `gzip@b.example` is off"
    with pytest.raises(AdapterError, match=words):
        changes(ONE_OF_TWO, {"gzip@b.example": False, "gzip_comp_level": 3})
    both = {"gzip@b.example": False, "gzip": True, "gzip_comp_level": 3}
    found, texts = changes(ONE_OF_TWO, both)
    assert "gzip_comp_level 3;" in texts["/n.conf"].decode(), found


def test_a_level_of_a_compression_that_is_asked_off_is_refused():
    with pytest.raises(AdapterError, match="`gzip_comp_level` means nothing where `gzip` is off"):
        changes(H5BP, {"gzip": False, "gzip_comp_level": 3})


@each_row(
    ("layout", "name", "level", "why"),
    [
        (DEBIAN, "worker_procesess", 2, "nginx has no knob `worker_procesess`"),
        (DEBIAN, "worker_processes", 0, "expected at least 1"),
        (DEBIAN, "worker_processes", "auto", "expected a whole number"),
        (DEBIAN, "sendfile", "yes", "expected one of off, on"),
        (DEBIAN, "open_file_cache", "many", "expected `off`, or files and time"),
        (DEBIAN, "aio", "on", "expected `off`, `threads`"),
        (DEBIAN, "keepalive_timeout@none.example", 5, "cannot be set in `none.example`"),
        (DEBIAN, "access_log_buffer", "32k", "`none`, or size and time"),
        (DEBIAN, "access_log_buffer@*:80", "32k/1s", "has no scope"),
        (DEBIAN, "listen_backlog@0.0.0.0:81", 5, "nothing listens at `0.0.0.0:81`"),
        (DEBIAN, "upstream_keepalive", 5, "is of one upstream: there is none"),
        (PROXY, "upstream_keepalive", 5, "is of one upstream: `upstream_keepalive@app`"),
        (PROXY, "upstream_keepalive@sockets", 5, "needs an empty `Connection` header"),
        (PROXY, "proxy_buffers@app.example /api/", "2x1k", "all but one have to hold"),
        (PROXY, "ssl_buffer_size@app.example /api/", 4096, "cannot be set in a location"),
        (NO_LISTEN, "output_buffers", "0x32k", "expected a number and a size"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_the_rule(layout, name, level, why):
    with pytest.raises(AdapterError) as caught:
        changes(layout, {name: level})
    assert why in str(caught.value)


def test_sizes_of_buffers_that_depend_on_each_other_are_kept_right():
    found, texts = changes(PROXY, {"proxy_buffers@app.example /api/": "8x32k"})
    # Theirs was 16k, less than one buffer.
    assert b"proxy_busy_buffers_size 64k;" in texts[PROXY.main]
    assert len(found.edits) == 3
