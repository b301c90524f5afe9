"""Where a configuration has nginx's own status page."""

from tests.rows import each_row

from httpdyno.servers.network.probe import HttpStatusPage
from httpdyno.servers.nginx.conf import build_of, conf_of
from httpdyno.servers.nginx.endpoint import status_pages

BUILD = build_of("nginx version: nginx/1.22.1", ("--with-http_stub_status_module",))


def pages(server, more=""):
    text = f"events {{}}\nhttp {{ {more} server {{ {server} }} }}\n"
    return status_pages(conf_of({"/etc/nginx/nginx.conf": text.encode()}, BUILD), "/proc/1/ns/net")


@each_row("words", ["/status", "= /status", "^~ /status"])
def test_a_location_for_a_path_can_be_asked(words):
    found = pages(
        f"listen 8080; server_name _ .any shop.example; location {words} {{ stub_status; }}"
    )
    assert found == (
        HttpStatusPage(
            address="127.0.0.1:8080", path="/status", host="shop.example", network="/proc/1/ns/net"
        ),
    )


@each_row(
    "server",
    [
        "listen 80; location / { root /srv; }",
        "listen 80; location ~ ^/status { stub_status; }",
        "listen 443 ssl; location /status { stub_status; }",
        "listen 80; location @named { stub_status; }",
    ],
)
def test_what_has_no_path_or_no_plain_address_is_left_out(server):
    assert pages(server) == ()


def test_it_is_asked_where_its_own_server_listens():
    other = "server { listen 127.0.0.1:81; location = /s { stub_status on; } }"
    [found] = pages("listen 80; location / { root /srv; }", other)
    assert (found.address, found.path, found.host) == ("127.0.0.1:81", "/s", "")
