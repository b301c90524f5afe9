import pytest

from httpdyno.servers.command.words import listening_address, option


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("serve", "--port", "80"), "80"),
        (("serve", "--port=80", "-p", "81"), "81"),
        (("serve", "-p81"), "81"),
        (("serve", "-pretty", "--portable=1"), ""),
        (("serve", "--port"), ""),
    ],
)
def test_the_last_of_an_options_spellings_counts(words, found):
    assert option(words, "-p", "--port") == found


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("localhost:8000", "127.0.0.1:8000"),
        (":8000", "0.0.0.0:8000"),
        ("8000", "0.0.0.0:8000"),
        ("[::1]:8000", "[::1]:8000"),
        ("unix:/run/shop.sock", "unix:/run/shop.sock"),
        ("unix:///run/shop.sock", "unix:/run/shop.sock"),
        ("shop", ""),
        ("shop:http", ""),
        ("", ""),
    ],
)
def test_an_address_is_read_as_servers_read_it(text, address):
    assert listening_address(text) == address


def test_no_words_hold_no_option():
    assert option((), "-p", "--port") == ""
