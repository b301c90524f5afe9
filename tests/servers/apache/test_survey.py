import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from tests.servers.apache.sample import EVENT, MAIN, MEMBER, changed, files, surveyed, text_of

from httpdyno.errors import AdapterError, HttpdynoError
from httpdyno.model import Member, Survey
from httpdyno.servers.apache import Apache

HOSTS = """Listen 80
Listen 443 https
<VirtualHost *:80>
  ServerName shop.example
  ServerAlias www.shop.example
  ProxyPass /api http://10.0.0.5:8080/api
  ProxyPass /static !
  ProxyPass /app balancer://app
</VirtualHost>
<VirtualHost *:443>
  ServerName https://shop.example:443
  SSLEngine on
  KeepAlive Off
  <FilesMatch "php$">
    SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"
  </FilesMatch>
</VirtualHost>
<VirtualHost 192.0.2.1:80>
  CustomLog /var/log/plain.log "%h %l %u %t \\"%r\\" %>s %b"
</VirtualHost>
"""


def test_listeners_have_the_hosts_that_are_served_there():
    survey = surveyed(files(EVENT + HOSTS))
    assert [(x.address, x.is_tls, x.names) for x in survey.listeners] == [
        ("0.0.0.0:80", False, ("shop.example", "www.shop.example")),
        ("0.0.0.0:443", True, ("shop.example",)),
    ]


@pytest.mark.parametrize(
    ("main", "host", "proxied"),
    [
        ("", "", [False, False]),
        ("RemoteIPProxyProtocol On", "", [True, True]),
        ("", "RemoteIPProxyProtocol On", [False, True]),
        ("RemoteIPProxyProtocol On", "RemoteIPProxyProtocol Off", [True, False]),
        ("RemoteIPProxyProtocol Off", "", [False, False]),
    ],
)
@pytest.mark.parametrize("is_main_last", [False, True])
def test_a_listener_has_the_proxy_protocol_of_its_hosts(main, host, proxied, is_main_last):
    block = f"<VirtualHost *:81>\n{host}\n</VirtualHost>"
    parts = [block, main] if is_main_last else [main, block]
    survey = surveyed(files(EVENT + "\n".join(["Listen 80", "Listen 81", *parts, ""])))
    assert [each.is_proxied for each in survey.listeners] == proxied


def test_hosts_of_the_same_name_are_told_apart_by_their_ports():
    survey = surveyed(files(EVENT + HOSTS))
    assert text_of(survey, "KeepAlive", "shop.example:443") == "Off"
    assert "KeepAlive@shop.example:443" in Apache().knobs(survey)
    assert "KeepAlive@shop.example:80" not in Apache().knobs(survey)


def test_backends_are_addresses_and_sockets():
    survey = surveyed(files(EVENT + HOSTS))
    assert {(x.to, x.protocol) for x in survey.backends} == {
        ("10.0.0.5:8080", "http"),
        ("unix:/run/php.sock", "fastcgi"),
    }


def test_a_log_has_its_format_by_name_where_all_know_it():
    (log,) = surveyed(files(EVENT + HOSTS)).logs
    assert (log.path, log.log_format, log.scope) == ("/var/log/plain.log", "common", "192.0.2.1:80")


def test_the_last_of_several_counts_and_variables_and_conditions_are_followed():
    text = """Define wait 9
<IfModule mpm_event_module>
KeepAliveTimeout 3
</IfModule>
<IfModule !mpm_event_module>
KeepAliveTimeout 4
</IfModule>
<IfDefine wait>
KeepAliveTimeout ${wait}
</IfDefine>
<IfVersion < 2.3>
KeepAliveTimeout 5
</IfVersion>
"""
    survey = surveyed(files(EVENT + text))
    assert [r.text for r in survey.readings if r.name == "KeepAliveTimeout"] == ["9"]
    (origin,) = [r.origin for r in survey.readings if r.name == "KeepAliveTimeout"]
    assert origin is not None
    assert (EVENT + text)[origin.start : origin.end] == "${wait}"


def test_includes_are_read_in_the_order_of_their_names():
    text = "Include conf/*.conf\nIncludeOptional absent/*.conf\nIncludeOptional absent.conf\n"
    survey = surveyed(
        files(
            EVENT + text,
            {
                "/etc/apache2/conf/b.conf": "KeepAliveTimeout 2\n",
                "/etc/apache2/conf/a.conf": "KeepAliveTimeout 1\n",
                "/etc/apache2/conf/.hidden.conf": "KeepAliveTimeout 3\n",
            },
        )
    )
    assert text_of(survey, "KeepAliveTimeout") == "2"


def test_debians_variables_are_those_of_envvars():
    envvars = "export APACHE_LOG_DIR=/var/log/apache2$SUFFIX # here\nexport X=$(id)\n"
    texts = {"/etc/apache2/envvars": envvars}
    survey = surveyed(files(EVENT + "ErrorLog ${APACHE_LOG_DIR}/error.log\n", texts))
    assert text_of(survey, "ErrorLog") == "/var/log/apache2/error.log"
    assert survey.writes == ("/var/log/apache2",)


@pytest.mark.parametrize(
    ("main", "words"),
    [
        ("Include absent.conf\n", "`/etc/apache2/absent.conf`, which line 1 of"),
        ("Include apache2.conf\n", "is included from itself"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(main, words):
    with pytest.raises(AdapterError, match=words):
        Apache().survey(MEMBER, files(main), None)


@each_row(
    ("arguments", "main", "prefix"),
    [
        (["/usr/sbin/apache2", "-k", "start"], MAIN, ""),
        (["httpd", "-DFOREGROUND", "-f", "/srv/a.conf"], "/srv/a.conf", ""),
        (["httpd", "-f", "a.conf"], "/srv/a.conf", ""),
        (["httpd", "-d", "/srv/x", "-f", "a.conf", "-D", "SHOP"], "/srv/x/a.conf", "/srv/x"),
    ],
)
def test_a_process_is_known_by_its_arguments(arguments, main, prefix):
    member = Apache().of_process("/usr/sbin/apache2", arguments, "/srv")
    assert member is not None
    assert (member.main, member.prefix) == (main, prefix)
    assert Apache().of_process("/usr/sbin/nginx", arguments, "/srv") is None


PIECES = st.sampled_from(
    [
        *("\\\n", "\\", '"', "'", "<", ">", "</", "#", "${x}", "\0"),
        *("<VirtualHost *:80>", "</VirtualHost>", "<Directory /srv>", "</Directory>"),
        *("AllowOverride All", "Listen", "Listen 80", "User", "<IfVersion >=", "<IfModule>"),
        *("<IfDefine", "Define x y", "<Macro m $a>", "</Macro>", "Use m 1", "ServerName"),
        *("CustomLog", "LogFormat", "SSLSessionCache shmcb:/x(", "Mutex file:/x", "Include"),
        *(
            "ServerRoot",
            "DocumentRoot",
            "AccessFileName",
            "ProxyPass",
            "SetHandler",
            "MaxClients 9",
        ),
    ]
)


@given(st.lists(st.tuples(PIECES, st.sampled_from([" ", "\n"])).map("".join)).map("".join))
def test_whatever_stands_there_is_read_or_refused_in_words(text):
    member_files = files(text, {"/srv/.htaccess": "Options -Indexes\n"})
    try:
        survey = surveyed(member_files)
        changed(member_files, {"LogLevel": "error"} if Apache().knobs(survey) else {})
    except HttpdynoError:
        return
    assert survey.reading("ServerRoot") is not None


def test_defines_of_the_command_line_count():
    text = EVENT + "<IfDefine SHOP>\nKeepAliveTimeout 1\n</IfDefine>\n"
    command = ("/usr/sbin/apache2", "-D", "SHOP", "-k", "start")
    member = Member(name="front", kind="apache", main=MAIN, command=command)
    survey = Apache().survey(member, files(text), None)
    assert isinstance(survey, Survey)
    assert text_of(survey, "KeepAliveTimeout") == "1"


def test_what_looks_like_a_directive_in_perl_is_none():
    perl = "<Perl>\nuse Apache2::SizeLimit;\ninclude x;\n</Perl>\nKeepAlive Off\n"
    survey = surveyed(files(EVENT + perl))
    assert text_of(survey, "use", "Perl ") == "Apache2::SizeLimit;"
    assert text_of(survey, "include", "Perl ") == "x;"
    assert text_of(survey, "KeepAlive") == "Off"
