from tests.rows import each_row

from httpdyno.servers.command.program import in_foreground


@each_row(
    ("command", "stays"),
    [
        ("gunicorn --daemon -w 2 shop:app", "gunicorn -w 2 shop:app"),
        ("/v/bin/python /v/bin/gunicorn -D shop:app", "/v/bin/python /v/bin/gunicorn shop:app"),
        ("unicorn -D config.ru", "unicorn config.ru"),
        ("puma -d -b tcp://127.0.0.1:80", "puma -b tcp://127.0.0.1:80"),
        ("lighttpd -f /etc/x.conf", "lighttpd -D -f /etc/x.conf"),
        ("lighttpd -D -f /etc/x.conf", "lighttpd -D -f /etc/x.conf"),
        ("uwsgi --http :80 --daemonize /var/log/x --ini a", "uwsgi --http :80 --ini a"),
        ("uwsgi --daemonize=/var/log/x --ini a", "uwsgi --ini a"),
        ("caddy start --config x", "caddy run --config x"),
        ("node server.js -D --daemon", "node server.js -D --daemon"),
        ("shopd -d", "shopd -d"),
        ("", ""),
    ],
)
def test_a_program_that_is_known_stays(command, stays):
    assert in_foreground(command.split()) == stays.split()
