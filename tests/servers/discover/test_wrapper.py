import pytest
from tests.rows import each_row

from httpdyno.servers.discover.command_line import unwrapped


@each_row(
    ("command", "inner", "variables"),
    [
        (["gunicorn", "a:b"], "gunicorn a:b", {}),
        (
            ["/usr/bin/env", "A=1", "B=2 3", "gunicorn", "a:b"],
            "gunicorn a:b",
            {"A": "1", "B": "2 3"},
        ),
        (["env", "-u", "X", "nice", "-n", "5", "gunicorn"], "gunicorn", {}),
        (["taskset", "-c", "0,1", "gunicorn", "a:b"], "gunicorn a:b", {}),
        (["chrt", "-f", "5", "gunicorn"], "gunicorn", {}),
        (["/bin/sh", "-c", "exec gunicorn -w 2 a:b"], "gunicorn -w 2 a:b", {}),
        (["bash", "-lc", "A=1 exec gunicorn 'a b'"], "gunicorn a b", {"A": "1"}),
        (["sh", "-c", "cd /srv && exec gunicorn a:b"], "sh -c cd /srv && exec gunicorn a:b", {}),
        (["sh", "-c", "exec gunicorn $OPTS"], "sh -c exec gunicorn $OPTS", {}),
        (["sh", "start.sh"], "sh start.sh", {}),
        ([], "", {}),
    ],
)
def test_a_command_is_freed_of_what_only_starts_it(command, inner, variables):
    found = unwrapped(command, {})
    assert (" ".join(found.command), found.environment) == (inner, variables)


@pytest.mark.parametrize(
    ("command", "variables", "inner"),
    [
        ("apachectl start", {}, "apache2 -d /etc/apache2"),
        ("apache2ctl-shop -k start -D X", {}, "apache2 -d /etc/apache2-shop -D X"),
        ("apachectl start", {"APACHE_CONFDIR": "/etc/shop"}, "apache2 -d /etc/shop"),
        ("apachectlx start", {}, None),
    ],
)
def test_apaches_control_script_stands_for_apache(command, variables, inner, tmp_path):
    found = unwrapped(f"{tmp_path}/{command}".split(), variables)
    assert " ".join(found.command) == f"{tmp_path}/{inner or command}"


def test_where_httpd_stands_beside_the_script_it_is_what_is_started(tmp_path):
    (tmp_path / "httpd").touch()
    found = unwrapped([f"{tmp_path}/apachectl", "-f", "/srv/x.conf", "start"], {})
    assert found.command == (f"{tmp_path}/httpd", "-f", "/srv/x.conf")
