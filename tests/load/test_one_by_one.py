"""One request after the other, each over a connection of its own."""

import pytest
from tests.real.foreground import free_port

from httpdyno.errors import TargetError
from httpdyno.load.one_by_one import OneByOne
from httpdyno.load.target import parse_url


def test_answers_are_counted_by_status(oracle):
    one_by_one = OneByOne(parse_url(f"{oracle.url}/status/404"))
    one_by_one.ask()
    one_by_one.ask()
    assert dict(one_by_one.answers) == {404: 2}


def test_who_does_not_answer_is_named():
    url = f"http://127.0.0.1:{free_port()}/shop"
    with pytest.raises(TargetError, match=f"`{url}` did not answer: .*refused"):
        OneByOne(parse_url(url)).ask()
