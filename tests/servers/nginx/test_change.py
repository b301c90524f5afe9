"""Every knob in every layout: what is asked is in force, and nothing else was touched."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row
from tests.servers.nginx.layouts import (
    CERTBOT,
    CRLF,
    DEBIAN,
    H5BP,
    LAYOUTS,
    NO_LISTEN,
    ONE_FILE,
    PROXY,
    SSL_SNIPPET,
    SYMLINK_FARM,
    TIGHT,
    WORDPRESS,
    Layout,
)
from tests.servers.nginx.levels import LEVELS, levels_of

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.report.shared.message import texts
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.nginx.text import level_of
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files, unified_diff

NGINX = Nginx()


class Studied:
    """A layout as it is at home, surveyed without running anything but `nginx -V`."""

    def __init__(self, layout, program="/usr/sbin/nginx"):
        self.member = Member(name="nginx", kind="nginx", main=layout.main, unit="nginx.service")
        self.files = MemberFiles(texts=layout.texts())
        self.survey = self.surveyed(self.files)
        self.knobs = NGINX.knobs(self.survey)

    def surveyed(self, files):
        return NGINX.survey(self.member, files, None)

    def changed(self, **values):
        return self.with_values(values)

    def with_values(self, values):
        changes = NGINX.change_set(self.survey, self.files, values)
        texts = {**self.files.texts, **edited_files(self.files.texts, changes.edits)}
        return changes, texts

    def diff(self, **values):
        _, texts = self.with_values(values)
        lines = unified_diff(self.files.texts, texts).splitlines()
        return [x for x in lines if x[:1] in "+-" and not x.startswith(("+++", "---"))]


STUDIED = {layout.name: Studied(layout) for layout in LAYOUTS}


def studied(layout: Layout) -> Studied:
    return STUDIED[layout.name]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_level_of_each_knob_comes_into_force_and_nothing_else_moves(layout):
    found = studied(layout)
    n_changes = 0
    for name, info in found.knobs.items():
        for level in levels_of(name, info.default):
            changes, texts = found.with_values({name: level})
            again = found.surveyed(MemberFiles(texts=texts))
            bare, _, scope = name.partition("@")
            reading = again.reading(bare, scope)
            assert reading is not None, name
            assert level_of(info, reading.text) == level, name
            if level == info.default:
                assert changes.edits == (), name
                continue
            n_changes += 1
            # Every other setting is what it was, but where one line is in force for both.
            edited = {(e.file, e.start) for e in changes.edits}
            for other in found.survey.readings:
                now = again.reading(other.name, other.scope)
                is_same_line = other.origin is not None and any(
                    file == other.origin.file and other.origin.start <= at <= other.origin.end
                    for file, at in edited
                )
                if other.name != bare and not is_same_line and now is not None:
                    assert now.text == other.text, (name, other.name)
    assert n_changes > 10


@each_row("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_change_can_be_taken_back_by_its_bytes(layout):
    found = studied(layout)
    for name, info in found.knobs.items():
        for level in levels_of(name, info.default)[-1:]:
            changes, texts = found.with_values({name: level})
            for edit in changes.edits:
                before, after = found.files.texts[edit.file], texts[edit.file]
                of_file = [e for e in changes.edits if e.file == edit.file]
                grown = sum(len(e.text) - (e.end - e.start) for e in of_file)
                assert len(after) == len(before) + grown
                first = min(e.start for e in of_file)
                last = max(e.end for e in of_file)
                assert after[:first] == before[:first]
                assert after[last + grown :] == before[last:]


@settings(max_examples=60)
@given(data=st.data())
def test_several_values_at_once_are_all_in_force(data):
    found = data.draw(st.sampled_from([studied(x) for x in LAYOUTS]))
    names = data.draw(st.lists(st.sampled_from(sorted(found.knobs)), max_size=5, unique=True))
    # One line cannot be two values, and a rule refuses what contradicts itself.
    by_bare = {name.partition("@")[0]: name for name in names}
    values = {
        name: data.draw(st.sampled_from(levels_of(name, found.knobs[name].default)))
        for name in by_bare.values()
    }
    try:
        _, texts = found.with_values(values)
    except AdapterError:
        return
    again = found.surveyed(MemberFiles(texts=texts))
    for name, level in values.items():
        bare, _, scope = name.partition("@")
        reading = again.reading(bare, scope)
        assert reading is not None
        assert level_of(found.knobs[name], reading.text) == level, values


def test_every_knob_has_levels_to_try_and_some_layout_has_it():
    bare = {name.partition("@")[0] for found in STUDIED.values() for name in found.knobs}
    assert bare == set(LEVELS)


@each_row(
    ("layout", "values", "expected"),
    [
        (
            DEBIAN,
            {"worker_connections": 900},
            ["-\tworker_connections 768;", "+\tworker_connections 900;"],
        ),
        (DEBIAN, {"multi_accept": True}, ["+\tmulti_accept on;"]),
        (DEBIAN, {"keepalive_timeout": 15}, ["+\tkeepalive_timeout 15;"]),
        (
            DEBIAN,
            {"open_file_cache": "1000/20s"},
            ["+\topen_file_cache max=1000 inactive=20s;"],
        ),
        (
            DEBIAN,
            {"access_log_buffer": "32k/1s"},
            [
                "-\taccess_log /var/log/nginx/access.log;",
                "+\taccess_log /var/log/nginx/access.log combined buffer=32k flush=1s;",
            ],
        ),
        (DEBIAN, {"sendfile": "on"}, ["-\ttcp_nopush on;", "+\ttcp_nopush off;"]),
        (
            DEBIAN,
            {"listen_backlog@[::]:80": 1024},
            [
                "-\tlisten [::]:80 default_server;",
                "+\tlisten [::]:80 default_server backlog=1024;",
            ],
        ),
        (
            CERTBOT,
            {"ssl_session_cache": "50m/1h"},
            [
                "-ssl_session_cache shared:le_nginx_SSL:10m;",
                "-ssl_session_timeout 1440m;",
                "+ssl_session_cache shared:le_nginx_SSL:50m;",
                "+ssl_session_timeout 1h;",
            ],
        ),
        (H5BP, {"gzip_comp_level": 2}, ["-gzip_comp_level 5;", "+gzip_comp_level 2;"]),
        (H5BP, {"keepalive_timeout": 5}, ["-  keepalive_timeout 20s;", "+  keepalive_timeout 5s;"]),
        (
            ONE_FILE,
            {"keepalive_timeout": 65},
            ["-  keepalive_timeout 15 10;", "+  keepalive_timeout 65 10;"],
        ),
        (
            SYMLINK_FARM,
            {"access_log_buffer": "none"},
            [
                "-    access_log /var/log/nginx/access.log combined buffer=16k flush=5s;",
                "+    access_log /var/log/nginx/access.log combined;",
            ],
        ),
        (
            SYMLINK_FARM,
            {"keepalive_timeout@beta.example /download/": 5},
            ["-        keepalive_timeout 120s;", "+        keepalive_timeout 5s;"],
        ),
        (
            SSL_SNIPPET,
            {"ssl_buffer_size": 4096},
            ["-ssl_buffer_size     8k;", "+ssl_buffer_size     4k;"],
        ),
        (NO_LISTEN, {"listen_backlog": 1024}, AdapterError),
        (
            PROXY,
            {"upstream_keepalive@app": 32},
            [
                "+        keepalive 32;",
                "+            proxy_http_version 1.1;",
                '+            proxy_set_header Connection "";',
            ],
        ),
        (
            PROXY,
            {"upstream_keepalive@api": 64},
            ["-        keepalive 16;", "+        keepalive 64;"],
        ),
        (PROXY, {"upstream_keepalive@api": 0}, ["-        keepalive 16;"]),
        (
            WORDPRESS,
            {"upstream_keepalive": 8},
            [
                "+        keepalive 8;",
                "+            fastcgi_keep_conn on;",
                "+            fastcgi_keep_conn on;",
            ],
        ),
        (CRLF, {"keepalive_timeout": 5}, None),
        (CRLF, {"worker_rlimit_nofile": 5}, AdapterError),
        (TIGHT, {"worker_connections": 600}, None),
    ],
    ids=str,
)
def test_the_lines_that_change_are_the_fewest(layout, values, expected):
    found = studied(layout)
    if expected is AdapterError:
        with pytest.raises(AdapterError):
            found.with_values(values)
    elif expected is not None:
        assert found.diff(**values) == expected


def test_a_new_line_ends_as_the_file_does_and_stands_behind_comments():
    _, texts = studied(CRLF).with_values({"gzip": True, "multi_accept": True})
    text = texts[CRLF.main]
    assert b"# seconds; not more\r\n    gzip on;\r\n    server {" in text
    assert b"worker_connections 1024;\r\n    multi_accept on;\r\n}" in text
    assert b"\n" not in text.replace(b"\r\n", b"")


def test_without_lines_a_directive_is_put_between_the_others():
    _, texts = studied(TIGHT).with_values({"worker_connections": 600, "keepalive_timeout": 5})
    text = texts[TIGHT.main].decode()
    assert text.startswith("events{ worker_connections 600; }error_log")
    assert "http{access_log off; keepalive_timeout 5;server{" in text


def test_a_line_that_several_servers_include_says_so():
    changes, _ = studied(SSL_SNIPPET).with_values({"ssl_buffer_size": 4096})
    assert texts(changes.notes) == (
        "`ssl_buffer_size` changes in all 2 places that include `/etc/nginx/snippets/ssl.conf`",
    )
