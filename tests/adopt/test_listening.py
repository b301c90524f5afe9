from tests.rows import each_row

from httpdyno.adopt.discover import named_listener
from httpdyno.model import Listener

TLS = Listener(address="0.0.0.0:443", is_tls=True)
PLAIN = Listener(address="[::]:80")
OTHER = Listener(address="10.0.0.1:8080")
SOCKET = Listener(address="unix:/run/shop.sock")


@each_row(
    ("host", "port", "listeners", "expected"),
    [
        ("", 443, (PLAIN, TLS), TLS.address),
        ("localhost", 443, (PLAIN, TLS), TLS.address),
        ("127.0.0.1", 8080, (PLAIN, Listener(address="*:8080")), "*:8080"),
        ("10.0.0.1", 8080, (PLAIN, Listener(address="10.0.0.2:8080"), OTHER), OTHER.address),
        ("/run/shop.sock", 0, (PLAIN, SOCKET), SOCKET.address),
        ("", 80, (TLS, PLAIN), ""),
        ("", 443, (TLS, Listener(address="[::]:443", is_tls=True)), ""),
        ("", 443, (TLS,), ""),
        ("", 9000, (PLAIN, TLS), ""),
        ("", 9000, (), ""),
    ],
)
def test_the_address_that_names_a_site_is_what_is_loaded(host, port, listeners, expected):
    assert named_listener(listeners, host, port) == expected
