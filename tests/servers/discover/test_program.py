import pytest
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.discover.program import as_command, plain_member, said_version

FPM = "/etc/php/8.2/fpm/php-fpm.conf"


@each_row(
    ("program", "arguments", "kind", "main"),
    [
        ("/usr/sbin/nginx", ["nginx: master process /usr/sbin/nginx -g daemon on;"], "nginx", ""),
        ("/usr/sbin/nginx", ["nginx: master process nginx -c a.conf"], "nginx", "/srv/a.conf"),
        ("/usr/sbin/nginx", ["nginx", "-c", "/n.conf"], "nginx", "/n.conf"),
        ("/usr/sbin/nginx", ["nginx: worker process"], "", ""),
        ("", ["nginx: master process /usr/sbin/nginx"], "nginx", ""),
        ("/usr/sbin/apache2", ["/usr/sbin/apache2", "-k", "start"], "apache", ""),
        ("/usr/sbin/httpd", ["httpd", "-f", "/h.conf"], "apache", "/h.conf"),
        ("/usr/sbin/php-fpm8.2", [f"php-fpm: master process ({FPM})"], "php-fpm", FPM),
        ("/usr/sbin/php-fpm8.2", ["php-fpm8.2", "--fpm-config=/p.conf"], "php-fpm", "/p.conf"),
        ("/usr/sbin/php-fpm8.2", ["php-fpm: pool www"], "", ""),
        ("/usr/bin/python3.11", ["/v/bin/python", "/v/bin/gunicorn", "shop:app"], "gunicorn", ""),
        ("/usr/bin/python3", ["python3", "-m", "gunicorn", "-cg.py"], "gunicorn", "/srv/g.py"),
        ("/usr/bin/python3", ["gunicorn: master [shop:app]"], "gunicorn", ""),
        ("/usr/bin/python3", ["gunicorn: worker [shop:app]"], "", ""),
        ("/usr/bin/python3", ["python3", "-u", "/v/bin/uvicorn", "shop:app"], "uvicorn", ""),
        ("/usr/bin/python3", ["python3", "-m", "http.server"], "", ""),
        ("/usr/bin/python3", ["python3", "-m"], "", ""),
        ("/usr/bin/python3", ["python3"], "", ""),
        ("/usr/bin/ruby3.1", ["puma 6.4.2 (tcp://0.0.0.0:9292) [shop]"], "puma", ""),
        ("/usr/bin/ruby3.1", ["ruby", "/usr/bin/puma", "-C", "p.rb"], "puma", "/srv/p.rb"),
        ("/usr/bin/ruby3.1", ["puma: cluster worker 0: 12 [shop]"], "", ""),
        ("/usr/bin/node", ["node", "server.js"], "node", ""),
        ("/usr/bin/node", ["node", "/usr/bin/npm", "start"], "", ""),
        ("/usr/bin/node", ["PM2 v5.3.0: God Daemon (/x)"], "", ""),
        ("/usr/sbin/haproxy", ["haproxy", "-Ws", "-f", "/h.cfg"], "haproxy", "/h.cfg"),
        ("/usr/bin/caddy", ["caddy", "run", "--config", "Caddyfile"], "caddy", "/srv/Caddyfile"),
        ("/v/bin/gunicorn", ["/v/bin/gunicorn", "shop:app"], "gunicorn", ""),
        ("/usr/bin/sshd", ["sshd: /usr/sbin/sshd -D"], "", ""),
        ("", [""], "", ""),
        ("", [], "", ""),
    ],
)
def test_servers_are_known_by_their_programs(program, arguments, kind, main):
    member = plain_member(program, arguments, "/srv")
    assert (member.kind, member.main) == (kind, main) if member else kind == ""


def test_puma_says_its_version():
    assert said_version(["puma 6.4.2 (tcp://0.0.0.0:9292) [shop]"]) == "6.4.2"
    assert said_version(["node"]) == ""


def test_a_kind_that_nobody_can_copy_is_the_command_that_it_is():
    words = ("haproxy", "-f", "h.cfg")
    member = plain_member("/usr/sbin/haproxy", words, "/srv")
    assert member is not None
    found = as_command(member)
    assert (found.name, found.kind, found.main, found.command, found.folder) == (
        *("haproxy", "command", "", words, "/srv"),
    )


@pytest.mark.parametrize("words", [(), ("puma 6.0.2 (tcp://127.0.0.1:9292) [shop]",)])
def test_of_one_that_wrote_over_its_command_line_it_must_be_said(words):
    member = Member(name="puma", kind="puma", command=words)
    with pytest.raises(AdapterError, match="how puma is started is not known"):
        as_command(member)
