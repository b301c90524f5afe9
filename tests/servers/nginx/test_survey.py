import pytest
from tests.rows import each_row
from tests.servers.nginx.layouts import (
    CERTBOT,
    DEBIAN,
    H5BP,
    IP_HOSTS,
    LAYOUTS,
    LUA,
    NO_LISTEN,
    ONE_FILE,
    PROXY,
    RHEL,
    SSL_SNIPPET,
    STREAM,
    SYMLINK_FARM,
    WORDPRESS,
)
from tests.servers.nginx.seats import OpenSeat

from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Member, Survey
from httpdyno.report.shared import message
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.nginx import Nginx, server
from httpdyno.servers.nginx.catalogue import IDLE
from httpdyno.servers.nginx.conf import build_of, conf_of, files_of, is_file
from httpdyno.servers.nginx.endpoint import addresses
from httpdyno.servers.nginx.survey import survey_of

NEWEST = build_of("", ("--with-threads", "--with-http_gzip_static_module"))
DEBIAN_12 = build_of(
    "nginx version: nginx/1.22.1",
    (
        *("--prefix=/usr/share/nginx", "--pid-path=/run/nginx.pid", "--with-threads"),
        *("--http-log-path=/var/log/nginx/access.log", "--error-log-path=stderr"),
        "--http-proxy-temp-path=/var/lib/nginx/proxy",
    ),
)


def survey(layout, build=DEBIAN_12, is_root=True):
    return survey_of(conf_of(layout.texts(), build, is_root=is_root))


def listening(layout, **more):
    return [(x.address, x.is_tls, x.names) for x in survey(layout, **more).listeners]


@each_row(
    ("written", "expected"),
    [
        ("80", ["0.0.0.0:80"]),
        ("*:8080", ["0.0.0.0:8080"]),
        ("[::]:443", ["[::]:443"]),
        ("[::1]", ["[::1]:80"]),
        ("192.0.2.1", ["192.0.2.1:80"]),
        ("localhost:81", ["127.0.0.1:81"]),
        ("web.example:81", ["web.example:81"]),
        ("8000-8002", ["0.0.0.0:8000", "0.0.0.0:8001", "0.0.0.0:8002"]),
        ("unix:/run/a.sock", ["unix:/run/a.sock"]),
    ],
)
def test_an_address_is_what_nginx_makes_of_it(written, expected):
    assert list(addresses(written)) == expected


def test_listeners_have_the_names_that_are_served_there_the_default_first():
    assert listening(H5BP) == [
        ("[::]:80", False, ("shop.example", "www.shop.example")),
        ("0.0.0.0:80", False, ("shop.example", "www.shop.example")),
    ]
    assert listening(IP_HOSTS) == [
        ("192.0.2.10:80", False, ("ten.example",)),
        ("192.0.2.10:443", True, ("ten.example",)),
        ("192.0.2.11:80", False, ("eleven.example",)),
        ("unix:/run/nginx-local.sock", False, ()),
        ("[2001:db8::1]:80", False, ()),
    ]
    assert listening(CERTBOT)[:1] == [("[::]:443", True, ("shop.example", "www.shop.example"))]


@pytest.mark.parametrize(("is_root", "port"), [(True, 80), (False, 8000)])
def test_a_server_without_listen_is_at_the_port_of_its_user(is_root, port):
    assert listening(NO_LISTEN, is_root=is_root) == [(f"0.0.0.0:{port}", False, ("plain.example",))]


def test_what_is_not_http_is_named_and_not_a_listener():
    found = survey(STREAM)
    assert [x.address for x in found.listeners] == ["0.0.0.0:80"]
    assert any("`stream` is not HTTP" in message.text(notice.why) for notice in found.notices)


def test_backends_are_found_through_upstreams_each_once():
    assert [(x.to, x.protocol) for x in survey(PROXY).backends] == [
        ("127.0.0.1:8000", "http"),
        ("127.0.0.1:8001", "http"),
        ("unix:/run/api.sock", "http"),
        ("127.0.0.1:9000", "http"),
        ("127.0.0.1:3000", "http"),
    ]
    php = survey(WORDPRESS).backends
    assert [(x.to, x.protocol) for x in php] == [("unix:/run/php/php8.2-fpm.sock", "fastcgi")]
    line = WORDPRESS.texts()[php[0].origin.file].splitlines()[php[0].origin.line - 1]
    assert line.strip() == b"server unix:/run/php/php8.2-fpm.sock;"


@pytest.mark.parametrize("to", ["http://$backend", "$backend/to?u=http://h/"])
def test_a_backend_that_a_variable_names_is_a_notice(to):
    text = f"http {{ server {{ location / {{ proxy_pass {to}; }} }} }}".encode()
    found = survey_of(conf_of({"/n.conf": text}, DEBIAN_12))
    assert found.backends == ()
    assert [message.text(n.why) for n in found.notices] == [
        f"`proxy_pass {to}` is decided at run time"
    ]


def test_logs_have_their_formats_as_they_are_spelled():
    assert [(x.path, x.log_format) for x in survey(RHEL).logs] == [
        (
            "/var/log/nginx/access.log",
            '$remote_addr - $remote_user [$time_local] "$request" '
            '$status $body_bytes_sent "$http_referer"',
        )
    ]
    assert [(x.path, x.scope, x.log_format) for x in survey(SYMLINK_FARM).logs] == [
        ("/var/log/nginx/access.log", "", "combined"),
        ("/var/log/nginx/beta.log", "beta.example", "combined"),
    ]
    assert survey(ONE_FILE).logs == ()


def test_a_log_that_is_no_file_is_told_of_once():
    text = b"""http { access_log /dev/stdout; access_log /dev/null; access_log /srv/a.log;
        server { access_log syslog:server=unix:/dev/log; access_log /dev/stdout; } }"""
    notices = [
        message.text(each.why) for each in survey_of(conf_of({"/n.conf": text}, DEBIAN_12)).notices
    ]
    assert [each for each in notices if "access log" in each] == [
        "an access log goes to /dev/stdout, which no load can be learned from",
        "an access log goes to syslog, which no load can be learned from",
    ]


def test_without_a_log_the_compiled_one_is_written():
    text = {"/n.conf": b'http { log_format j escape=json \'{"a":"$uri"}\'; server { } }'}
    assert [x.path for x in survey_of(conf_of(text, DEBIAN_12)).logs] == [
        "/var/log/nginx/access.log"
    ]
    text = {"/n.conf": text["/n.conf"].replace(b"server", b"access_log a.log j; server")}
    assert [(x.path, x.log_format) for x in survey_of(conf_of(text, DEBIAN_12)).logs] == [
        ("/usr/share/nginx/a.log", 'escape=json {"a":"$uri"}')
    ]


def test_folders_that_it_writes_in_are_those_set_and_those_compiled_in(own_folders):
    main = PROXY.written(own_folders)
    made = own_folders / "var/cache/nginx/pages"
    made.mkdir()
    build = build_of("", (f"--http-scgi-temp-path={own_folders}/srv/scgi", "--prefix=/none"))
    found = survey_of(conf_of(files_of(str(main)).texts, build)).writes
    # What is not there yet is made in the folder around it.
    assert {path.removeprefix(str(own_folders)) for path in found} == {
        *("/run", "/var/log/nginx", "/var/cache/nginx/pages", "/var/cache/nginx", "/srv", "/none")
    }
    assert "/run" in survey(LUA).writes


@each_row(
    ("layout", "name", "scope", "text"),
    [
        (DEBIAN, "worker_connections", "", "768"),
        (DEBIAN, "worker_processes", "", "auto"),
        (DEBIAN, "sendfile", "", "on+nopush"),
        (DEBIAN, "keepalive_timeout", "", "75"),
        (DEBIAN, "listen_backlog", "", "511"),
        (CERTBOT, "ssl_session_cache", "", "10m/1440m"),
        (H5BP, "gzip_comp_level", "", "5"),
        (ONE_FILE, "open_file_cache", "two.example ^~ /img/", "100/5s"),
        (ONE_FILE, "listen_backlog", "0.0.0.0:8081", "1024"),
        (ONE_FILE, "listen_reuseport", "0.0.0.0:8081", "on"),
        (SYMLINK_FARM, "access_log_buffer", "", "16k/5s"),
        (SYMLINK_FARM, "keepalive_timeout", "alpha.example", "10s"),
        (SYMLINK_FARM, "output_buffers", "beta.example ~ \\.zip$", "4x64k"),
        (SSL_SNIPPET, "ssl_buffer_size", "", "8k"),
        (PROXY, "upstream_keepalive", "api", "16"),
        (PROXY, "upstream_keepalive", "app", "0"),
        (PROXY, "proxy_buffers", "app.example /api/", "16x8k"),
        (WORDPRESS, "fastcgi_buffers", "blog.example ~ \\.php$", "16x16k"),
        (WORDPRESS, "limit_req", "blog.example = /wp-login.php", "zone=login burst=2"),
    ],
    ids=str,
)
def test_a_reading_is_what_is_in_force_there(layout, name, scope, text):
    reading = survey(layout).reading(name, scope)
    assert reading is not None
    assert reading.text == text
    if reading.origin is not None:
        lines = layout.texts()[reading.origin.file].splitlines()
        assert reading.origin.start < reading.origin.end
        # The first word of its value, or the number in it, stands in the line that it names.
        assert any(
            part in lines[reading.origin.line - 1].decode()
            for part in (text.split()[0].split("/")[0].split("x")[0], "sendfile", "listen")
        )


@each_row(
    ("version", "name", "text"),
    [
        ("nginx/1.18.0", "keepalive_requests", "100"),
        ("nginx/1.19.10", "keepalive_requests", "1000"),
        ("nginx/1.22.1", "upstream_keepalive", "0"),
        ("nginx/1.29.7", "upstream_keepalive", "32"),
    ],
)
def test_defaults_are_those_of_the_version(version, name, text):
    text_of = (
        b"http { upstream a { server 127.0.0.1:1; } server { location / { proxy_pass http://a; }}}"
    )
    found = survey_of(conf_of({"/n.conf": text_of}, build_of(f"nginx version: {version}", ())))
    reading = found.reading(name)
    assert reading is not None
    assert (reading.text, reading.origin) == (text, None)


def test_a_knob_is_there_only_where_it_means_something():
    names = {reading.name for reading in survey(NO_LISTEN).readings}
    assert not names & {"ssl_session_cache", "proxy_buffers", "upstream_keepalive", "gzip_static"}
    assert "aio" in names
    assert "aio" not in {r.name for r in survey(NO_LISTEN, build_of("", ())).readings}
    assert "gzip_static" in {r.name for r in survey(NO_LISTEN, NEWEST).readings}


def test_an_address_is_a_knob_of_its_own_only_where_it_differs():
    names = {n for n in Nginx().knobs(survey(IP_HOSTS)) if n.startswith("listen_backlog")}
    assert names == {"listen_backlog", "listen_backlog@192.0.2.10:443"}
    assert {n for n in Nginx().knobs(survey(DEBIAN)) if "@" in n} == set()


def test_a_value_that_every_host_overrides_is_no_knob():
    server = b"server { server_name %s.example; keepalive_timeout %ds; location / { } }"
    hosts = server % (b"a", 5) + server % (b"b", 6)
    text = b"events { } http { keepalive_timeout 7s; %s }"
    knobs = set(Nginx().knobs(survey_of(conf_of({"/n.conf": text % hosts}, DEBIAN_12))))
    assert {name for name in knobs if "keepalive_timeout" in name} == {
        *("keepalive_timeout@a.example", "keepalive_timeout@b.example")
    }
    more = text % (hosts + b"server { server_name c.example; location / { } }")
    assert "keepalive_timeout" in Nginx().knobs(survey_of(conf_of({"/n.conf": more}, DEBIAN_12)))


def test_values_that_no_level_can_say_are_no_knobs():
    text = b"events { worker_connections many; } http { keepalive_timeout 1x; server { } }"
    found = survey_of(conf_of({"/n.conf": text}, DEBIAN_12))
    assert not {"worker_connections", "keepalive_timeout"} & set(Nginx().knobs(found))
    assert "gzip" in Nginx().knobs(found)


@each_row("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_knobs_have_what_was_found_as_their_default_and_say_their_cost(layout):
    for name, info in Nginx().knobs(survey(layout)).items():
        assert info.name == name
        assert info.default is not None
        assert info.takes(info.default)
        assert info.cost == "reload"
        assert info.source.startswith("nginx.org/")
        assert info.effect in {"pure", "memory"} or info.risk or info.effect == "visible"


def test_a_byte_order_mark_is_told():
    found = survey_of(conf_of({"/n.conf": b"\xef\xbb\xbfhttp { }"}, DEBIAN_12))
    assert "byte order mark" in message.text(found.notices[0].why)


def test_keys_that_may_not_be_read_are_told(own_folders, monkeypatch):
    main = SSL_SNIPPET.written(own_folders)
    real = type(main).stat

    def stat(path, **more):
        if "private" in path.parts:
            raise PermissionError(13, "Permission denied")
        return real(path, **more)

    monkeypatch.setattr(type(main), "stat", stat)
    files = Nginx().read(Member(name="nginx", kind="nginx", main=str(main)))
    assert files.unreadable == (f"{own_folders}/etc/ssl/private/site.key",)


def test_the_compiled_log_is_written_though_one_server_has_its_own(own_folders):
    member = Nginx().at(str(WORDPRESS.written(own_folders)))
    assert member is not None
    survey = Nginx().survey(member, Nginx().read(member), None)
    assert isinstance(survey, Survey)
    assert "/var/log/nginx" in survey.writes


def test_a_file_whose_name_begins_like_a_switch_is_one():
    assert is_file("online.crt")
    assert is_file("off-peak.log")
    assert not any(map(is_file, ("on", "off", "stderr", "", "syslog:server=a")))


class SayingSeat(OpenSeat):
    """A seat in which each program says the same and refuses."""

    def run(self, *_, **__):
        words = 'nginx: [warn] the "user" directive\nnginx: [emerg] unknown directive "x"\n'
        return ProgramOutput(exit_code=1, output="", errors=words)


def test_what_nginx_only_warns_of_is_not_why_it_does_not_start(own_folders, monkeypatch):
    monkeypatch.setattr(server, "program_of", lambda _: "/usr/sbin/nginx")
    file = own_folders / "nginx.conf"
    file.write_text("events { }\nhttp { }\n")
    member = Member(name="nginx", kind="nginx", main=str(file))
    seat = SayingSeat(folder=own_folders, ports={}, is_root=False, kind="cell")
    refused = Nginx().survey(member, Nginx().read(member), seat)
    assert isinstance(refused, NotRunning)
    assert text(refused.detail) == 'nginx: [emerg] unknown directive "x"'


REUSED = "location / {{ proxy_pass http://app; proxy_http_version 1.1; {} }}"
EMPTY = 'proxy_set_header Connection "";'


@each_row(
    ("upstream", "location", "version", "found"),
    [
        ("keepalive 4;", REUSED.format(EMPTY), "1.22.1", "60s"),
        ("keepalive 4; keepalive_timeout 5s;", REUSED.format(EMPTY), "1.22.1", "5s"),
        ("keepalive 4;", REUSED.format(EMPTY), "1.14.0", None),
        ("keepalive 4;", REUSED.format(""), "1.22.1", None),
        (
            "keepalive 4;",
            REUSED.format("proxy_set_header Connection $connection_upgrade;"),
            "1.22.1",
            None,
        ),
        ("keepalive 4;", "location / { proxy_pass http://app; }", "1.22.1", None),
        ("", REUSED.format(EMPTY), "1.22.1", None),
        ("", "location / { proxy_pass http://app; }", "1.29.7", "60s"),
        ("keepalive 4;", "location / { fastcgi_pass app; }", "1.22.1", None),
    ],
)
def test_how_long_idle_connections_to_a_backend_are_kept_is_told_where_some_are(
    upstream, location, version, found
):
    text = (
        "events {}\nhttp {\n"
        f"upstream app {{ server 127.0.0.1:8000; server backend.example; {upstream} }}\n"
        f"server {{ listen 80; {location} }}\n}}\n"
    )
    conf = conf_of({"/n.conf": text.encode()}, build_of(f"nginx version: nginx/{version}", ()))
    readings = [each for each in survey_of(conf).readings if each.name == IDLE]
    expected = [] if found is None else [("127.0.0.1:8000", found), ("backend.example:80", found)]
    assert [(each.scope, each.text) for each in readings] == expected
    assert all((each.origin is not None) is ("timeout" in upstream) for each in readings)
