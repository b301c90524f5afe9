import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.model import Listener, Site
from httpdyno.servers.stack.names import loaded_listener, reached_at

TLS = Listener(address="0.0.0.0:443", is_tls=True)
PLAIN = Listener(address="[::]:80")
PROXIED = Listener(address="[::]:80", is_proxied=True)
OTHER = Listener(address="10.0.0.1:8080")
SOCKET = Listener(address="unix:/run/shop.sock")


@each_row(
    ("asked", "listeners", "expected"),
    [
        ("", (TLS, PLAIN), PLAIN),
        ("", (TLS,), TLS),
        ("", (PROXIED, TLS), TLS),
        ("", (PROXIED,), PROXIED),
        ("443", (PLAIN, TLS), TLS),
        ("10.0.0.1:8080", (PLAIN, OTHER), OTHER),
        ("unix:/run/shop.sock", (PLAIN, SOCKET), SOCKET),
        ("3000", (), Listener(address="127.0.0.1:3000")),
        ("127.0.0.1:3000", (), Listener(address="127.0.0.1:3000")),
        ("unix:/run/own.sock", (), Listener(address="unix:/run/own.sock")),
    ],
)
def test_the_loaded_listener(asked, listeners, expected):
    assert loaded_listener(Site(members=(), listener=asked), listeners) == expected


@pytest.mark.parametrize("asked", ["", "shop.example"])
def test_a_listener_that_is_not_there_is_refused(asked):
    listeners = (PLAIN,) if asked else ()
    with pytest.raises(UsageError, match="listen"):
        loaded_listener(Site(members=(), listener=asked), listeners)


@each_row(
    ("address", "expected"),
    [
        ("0.0.0.0:80", "127.0.0.1:80"),
        ("*:80", "127.0.0.1:80"),
        ("[::]:80", "[::1]:80"),
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("unix:/run/a.sock", "unix:/run/a.sock"),
    ],
)
def test_where_a_client_connects_to(address, expected):
    assert reached_at(address) == expected
