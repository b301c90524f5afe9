from tests.rows import each_row

from httpdyno.servers.option_words import (
    listening_address,
    option,
    options,
    with_address,
    with_values,
)


@each_row(
    ("words", "found"),
    [
        (("serve", "--port", "80"), "80"),
        (("serve", "--port=80", "-p", "81"), "81"),
        (("serve", "-p81"), "81"),
        (("serve", "-pretty", "--portable=1"), ""),
        (("serve", "-p127.0.0.1:81"), "127.0.0.1:81"),
        (("serve", "--port"), ""),
    ],
)
def test_the_last_of_an_options_spellings_counts(words, found):
    assert option(words, "-p", "--port") == found


@each_row(
    ("text", "address"),
    [
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("localhost:8000", "127.0.0.1:8000"),
        (":8000", "0.0.0.0:8000"),
        ("8000", "0.0.0.0:8000"),
        ("[::1]:8000", "[::1]:8000"),
        ("unix:/run/shop.sock", "unix:/run/shop.sock"),
        ("unix:///run/shop.sock", "unix:/run/shop.sock"),
        ("unix:///run/shop.sock?umask=0111", "unix:/run/shop.sock"),
        ("tcp://127.0.0.1:8311", "127.0.0.1:8311"),
        ("tcp://:8311", "0.0.0.0:8311"),
        ("tcp://[::1]:8311?backlog=9", "[::1]:8311"),
        ("ssl://0.0.0.0:8443?key=a&cert=b", "0.0.0.0:8443"),
        ("http://*:5000/", "0.0.0.0:5000"),
        ("fd://3", ""),
        ("redis://127.0.0.1:6379", ""),
        ("shop", ""),
        ("shop:http", ""),
        ("", ""),
    ],
)
def test_an_address_is_read_as_servers_read_it(text, address):
    assert listening_address(text) == address


def test_no_words_hold_no_option():
    assert option((), "-p", "--port") == ""


def test_all_uses_of_an_option_are_changed_or_go():
    words = ("serve", "-b", "1", "--bind=2", "-b3", "--port", "4", "-b")
    assert options(words, "-b", "--bind") == ["1", "2", "3", ""]
    assert with_values(words, lambda old: f"{old}0", "-b", "--bind") == [
        *("serve", "-b", "10", "--bind=20", "-b30", "--port", "4", "-b", "0"),
    ]
    gone = with_values(words, lambda old: None if old != "3" else old, "-b", "--bind")
    assert gone == ["serve", "-b3", "--port", "4"]


@each_row(
    ("old", "new"),
    [
        ("127.0.0.1:80", "127.0.0.2:9"),
        ("tcp://0.0.0.0:80", "tcp://127.0.0.2:9"),
        ("ssl://[::]:80?key=a", "ssl://127.0.0.2:9?key=a"),
    ],
)
def test_another_address_is_written_as_the_old_one_was(old, new):
    assert with_address(old, "127.0.0.2:9") == new
