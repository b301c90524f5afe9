"""URLs, addresses, and what may be loaded."""

import socket

import pytest
from tests.rows import each_row

from httpdyno.errors import TargetError, UsageError
from httpdyno.load.target import (
    Target,
    addresses_of,
    check_permitted,
    is_loopback,
    parse_url,
    resolve,
)


@each_row(
    ("text", "host", "port", "path"),
    [
        ("http://localhost:8000/a?b=c", "localhost", 8000, "/a?b=c"),
        ("http://localhost", "localhost", 80, "/"),
        ("localhost:8000", "localhost", 8000, "/"),
        ("127.0.0.1:81/x#part", "127.0.0.1", 81, "/x"),
        ("http://[::1]:8000/", "::1", 8000, "/"),
        ("HTTP://Example.test/ä%20b", "example.test", 80, "/%C3%A4%20b"),
        ("http://h/?q=a|b", "h", 80, "/?q=a%7Cb"),
        ("http://h/{n}?user={user}", "h", 80, "/{n}?user={user}"),
        ("https://h/x", "h", 443, "/x"),
        ("HTTPS://[::1]:8443", "::1", 8443, "/"),
        ("http://h/login?next=http://shop.test/", "h", 80, "/login?next=http://shop.test/"),
        ("h:81/login?next=http://shop.test/", "h", 81, "/login?next=http://shop.test/"),
        ("h/archive/https://shop.test/a", "h", 80, "/archive/https://shop.test/a"),
    ],
)
def test_a_url_is_taken_apart(text, host, port, path):
    target = parse_url(text)
    assert (target.host, target.port, target.path) == (host, port, path)


@each_row(
    ("text", "words"),
    [
        ("ftp://localhost/", "scheme `ftp`"),
        ("ws://localhost/", "scheme `ws`"),
        ("svn+ssh://localhost/?u=http://h/", "scheme `svn+ssh`"),
        ("http:///path", "names no host"),
        ("http://host:0/", "port 0"),
        ("http://host:99999/", "names port 99999"),
        ("http://host:eight/", "names port eight"),
        ("http://[::1/", "is not a URL"),
        ("http://host/a b", "a space or a control character"),
        ("http://host/a\r\nX: y", "a space or a control character"),
        ("http://me:secret@host/", "user name or password"),
        ("", "names no host"),
    ],
)
def test_a_url_that_cannot_be_loaded_is_refused_in_one_sentence(text, words):
    with pytest.raises(UsageError) as caught:
        parse_url(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@each_row(
    ("url", "authority"),
    [
        ("http://localhost/", "localhost"),
        ("http://localhost:8000/", "localhost:8000"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::1]/", "[::1]"),
        ("https://localhost/", "localhost"),
        ("https://localhost:80/", "localhost:80"),
        ("http://localhost:443/", "localhost:443"),
    ],
)
def test_the_host_header_names_the_port_only_where_it_is_not_the_usual_one(url, authority):
    assert parse_url(url).authority == authority
    assert parse_url(parse_url(url).url) == parse_url(url)


def test_localhost_is_ipv4_where_there_are_both(monkeypatch):
    def both(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert addresses_of(Target(host="localhost", port=8000, path="/")) == (
        "127.0.0.1:8000",
        "[::1]:8000",
    )


@pytest.fixture
def named(monkeypatch):
    """Have a name stand for these addresses."""

    def name(*ips: str) -> None:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 0)) for ip in ips]
        known = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *more, **options: (
                found if host == "many.test" else known(host, *more, **options)
            ),
        )

    return name


def test_of_several_addresses_the_first_that_takes_a_connection_is_taken(named):
    with socket.create_server(("127.0.0.3", 0)) as listener:
        port = listener.getsockname()[1]
        many = Target(host="many.test", port=port, path="/")
        for ips, taken in (
            (("127.0.0.3",), "127.0.0.3"),
            (("127.0.0.2", "127.0.0.3"), "127.0.0.3"),
            (("127.0.0.3", "127.0.0.2", "127.0.0.3"), "127.0.0.3"),
            (("127.0.0.4", "127.0.0.2"), "127.0.0.4"),
            # Nobody said that this one may be loaded.
            (("192.0.2.1", "127.0.0.2", "127.0.0.3"), "127.0.0.3"),
            (("192.0.2.1",), "192.0.2.1"),
        ):
            named(*ips)
            assert resolve(many) == f"{taken}:{port}", ips
            assert addresses_of(many) == tuple(f"{ip}:{port}" for ip in dict.fromkeys(ips))


def test_an_ipv6_address_is_written_in_brackets():
    address = resolve(Target(host="::1", port=8000, path="/"))
    assert address == "[::1]:8000"
    assert is_loopback(address)


@each_row(
    ("host", "address"),
    [("0.0.0.0", "127.0.0.1:8000"), ("0", "127.0.0.1:8000"), ("::", "[::1]:8000")],
)
def test_the_address_of_all_interfaces_is_this_machine(host, address):
    target = Target(host=host, port=8000, path="/")
    assert resolve(target) == address
    check_permitted(target, address, allowed_host=None)
    assert target.authority.startswith((host, f"[{host}]"))


@pytest.fixture
def unix_socket(own_folders):
    path = own_folders / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        yield path


def test_a_unix_socket_is_this_machine(unix_socket):
    target = Target(host="shop.test", port=80, path="/", unix_path=str(unix_socket))
    address = resolve(target)
    assert address == f"unix:{unix_socket}"
    assert is_loopback(address)
    check_permitted(target, address, allowed_host=None)


def test_what_is_no_unix_socket_is_named(own_folders):
    (own_folders / "file").write_text("")
    for name, words in (
        ("none", "cannot be used: no such file or directory"),
        ("file", "is not a socket"),
        ("x" * 300, "file name too long"),
    ):
        path = str(own_folders / name)
        with pytest.raises(UsageError, match=words) as caught:
            resolve(Target(host="h", port=80, path="/", unix_path=path))
        assert f"`{path}`" in str(caught.value)


def test_a_unix_path_that_the_kernel_cannot_take_is_named(own_folders, monkeypatch):
    deep = own_folders / ("d" * 90)
    deep.mkdir()
    monkeypatch.chdir(deep)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(UsageError, match="longer than 107 bytes"):
            resolve(Target(host="h", port=80, path="/", unix_path=str(deep / "s")))


@each_row("host", ["no-such-host.invalid", "a..b", "x" * 70 + ".test"])
def test_a_host_without_an_address_is_named(host):
    with pytest.raises(TargetError, match="cannot be resolved") as caught:
        resolve(Target(host=host, port=80, path="/"))
    assert f"`{host}`" in str(caught.value)


@each_row("ip", ["127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.1.1"])
def test_this_machine_and_private_networks_need_no_permission(ip):
    check_permitted(Target(host="h", port=80, path="/"), f"{ip}:80", allowed_host=None)


@each_row(
    "address",
    ["[::1]:80", "[fd00::1]:80", "[fe80::1]:80", "[fe80::1%eth0]:80", "[::ffff:127.0.0.1]:80"],
)
def test_so_it_is_in_ipv6(address):
    check_permitted(Target(host="h", port=80, path="/"), address, allowed_host=None)


@each_row(
    "address",
    [
        "93.184.215.14:80",
        "172.32.0.1:80",
        "100.64.0.1:80",
        "[2001:db8::1]:80",
        "[::ffff:8.8.8.8]:80",
    ],
)
def test_any_other_address_needs_its_host_named(address):
    target = Target(host="shop.test", port=80, path="/")
    with pytest.raises(UsageError, match=r"`shop\.test` \(.*\) is neither this machine") as caught:
        check_permitted(target, address, allowed_host=None)
    assert "--yes-i-may-load shop.test" in caught.value.hint
    with pytest.raises(UsageError):
        check_permitted(target, address, allowed_host="other.test")
    check_permitted(target, address, allowed_host="Shop.test")
