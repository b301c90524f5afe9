"""Access logs: what of them can be sent again, and when."""

import gzip
import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import UsageError
from httpdyno.load.access_log import Recording, _Reader, read_access_log
from httpdyno.model import Replay, RequestSpec

SECOND = 1_000_000_000
TAIL = '"http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def line(  # noqa: PLR0913 - one for each part of a line
    second: int = 0,
    request: str = "GET / HTTP/1.1",
    status: str = "200",
    *,
    who: str = "127.0.0.1 - frank",
    tail: str = f" 2326 {TAIL}",
    fraction: str = "",
) -> str:
    clock = f"13:{55 + second // 60:02}:{second % 60:02}{fraction}"
    return f'{who} [10/Oct/2000:{clock} -0700] "{request}" {status}{tail}\n'


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str) -> Path:
        file = tmp_path / "access.log"
        file.write_text("".join(lines), encoding="utf-8")
        return file

    return write


def read(file: Path, **how: Any) -> Recording:
    return read_access_log(Replay(log=str(file), **how))


def requests(recording: Recording) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in recording.requests]


@pytest.mark.parametrize(
    "text",
    [
        line(tail=" 2326"),  # common
        line(),  # combined
        line(who="example.com:443 ::1 - -"),  # with the virtual host
        line(who="2001:db8::1 - -", tail=" -"),
        line(who="[2001:db8::1] - -"),
        line(who="- - -", tail=" - - -"),
        line(who="127.0.0.1 - Jane [admin] Doe"),
        line(who='127.0.0.1 - a"b'),
        line(tail=f' 2326 "-" "a \\"quoted\\" agent" 0.004 {TAIL}'),
        line(tail="").rstrip("\n"),  # neither bytes nor a line's end
        line().replace("\n", "\r\n"),
        line(fraction=".250"),
    ],
)
def test_a_line_is_read_whatever_surrounds_its_request(log, text):
    seen = read(log(text))
    assert requests(seen) == [("GET", "/")]
    assert (seen.log.n_lines, seen.log.n_malformed, list(seen.offsets_ns)) == (1, 0, [0])


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/a?b=c&d=%20e", "/a?b=c&d=%20e"),
        ("/a b", "/a%20b"),
        ('/q?x=\\"y\\"', "/q?x=%22y%22"),
        ("/\\xc3\\xa4", "/%C3%A4"),
        ("/ä", "/%C3%A4"),
        ("/back\\\\slash\\t", "/back%5Cslash%09"),
        ("/tpl/{n}/{id}", "/tpl/%7Bn%7D/%7Bid%7D"),
        ("/a#part", "/a%23part"),
        ("http://www.example.com/a?b", "/a?b"),
        ("HTTPS://www.example.com", "/"),
        ("http://www.example.com?b", "/?b"),
    ],
)
def test_what_was_asked_for_is_asked_again(log, written, path):
    assert requests(read(log(line(request=f"GET {written} HTTP/1.1")))) == [("GET", path)]


@pytest.mark.parametrize(
    "text",
    [
        line(request="-", status="408"),
        line(request=""),
        line(request="GET"),
        line(request="GET  HTTP/1.1"),
        line(request="GET relative HTTP/1.1"),
        line(request="GET relative?u=http://h/ HTTP/1.1"),
        line(request="\\x16\\x03\\x01\\x02"),
        line(status="20"),
        line().replace("10/Oct", "31/Feb"),
        line().replace("Oct", "Okt"),
        line().replace("13:55", "25:55"),
        line().replace("[10", "10"),
        line().replace('"GET / HTTP/1.1"', '"GET / HTTP/1.1'),
        "nonsense\n",
        '{"time": "2026-01-01", "request": "GET /"}\n',
        "\x00\x01\x02\n",
        "[" * 5000 + "\n",
        '[10/Oct/2000:13:55:36 -0700] "' + "\\" * 5001 + "\n",
    ],
)
def test_a_malformed_line_is_counted_and_told_but_not_fatal(log, text):
    seen = read(log(line(), "\n", text, line(second=1)))
    assert requests(seen) == [("GET", "/")]
    assert len(seen.steps) == 2
    assert (seen.log.n_lines, seen.log.n_malformed, seen.log.first_malformed) == (3, 1, 3)


def test_methods_that_may_change_something_are_left_out_and_counted(log):
    lines = [line(request=f"{method} / HTTP/1.1") for method in ("GET", "POST", "DELETE", "POST")]
    file = log(*lines, line(request="HEAD / HTTP/1.1"))
    seen = read(file)
    assert requests(seen) == [("GET", "/"), ("HEAD", "/")]
    assert seen.log.left_out == {"POST": 2, "DELETE": 1}
    assert (seen.log.n_lines, seen.log.n_malformed) == (5, 0)
    asked = read(file, methods=("POST",))
    assert requests(asked) == [("POST", "/")]
    assert asked.log.left_out == {"GET": 1, "DELETE": 1, "HEAD": 1}


def test_equal_requests_are_one_with_many_instants(log):
    paths = ["/a", "/b", "/a", "/a", "/b"]
    seen = read(log(*(line(k, f"GET {path} HTTP/1.1") for k, path in enumerate(paths))))
    assert requests(seen) == [("GET", "/a"), ("GET", "/b")]
    assert list(seen.steps) == [0, 1, 0, 0, 1]
    assert list(seen.offsets_ns) == [k * SECOND for k in range(5)]
    assert seen.duration_s == 4


def test_the_requests_of_a_second_are_laid_over_it(log):
    file = log(*(line(0) for _ in range(4)), line(1), line(2), line(2))
    assert read(file).log.is_whole_seconds
    evenly = [each / SECOND for each in read(file).offsets_ns]
    assert evenly == pytest.approx([0, 0.25, 0.5, 0.75, 1.375, 2.125, 2.625])
    burst = [each / SECOND for each in read(file, spread="burst").offsets_ns]
    assert burst == [0, 0, 0, 0, 1, 2, 2]


def test_an_even_spread_has_as_many_instants_as_the_second_had_requests(log):
    file = log(line(0) * 70_001, line(1))
    seen = read(file)
    assert len(seen.offsets_ns) == len(seen.steps) == 70_002
    gaps = [b - a for a, b in itertools.pairwise(seen.offsets_ns)]
    assert max(gaps[:-1]) - min(gaps[:-1]) <= 1
    assert seen.offsets_ns[-2] < SECOND


def test_a_random_spread_is_the_seeds(log):
    replay = Replay(log=str(log(line(0) * 200)), spread="random")
    one, same, other = (read_access_log(replay, seed=seed) for seed in (1, 1, 2))
    assert one.offsets_ns == same.offsets_ns
    assert one.offsets_ns != other.offsets_ns
    assert list(one.offsets_ns) == sorted(one.offsets_ns)
    assert 0 < one.offsets_ns[-1] < SECOND


def test_a_log_with_fractions_of_a_second_is_taken_as_it_is(log):
    seen = read(log(line(0, fraction=".100"), line(0, fraction=".350"), line(1, fraction=".0")))
    assert list(seen.offsets_ns) == [0, 250_000_000, 900_000_000]
    assert not seen.log.is_whole_seconds


def test_lines_that_are_out_of_order_are_sorted_and_equal_ones_stay_as_they_are(log):
    order = [(2, "/c"), (0, "/a"), (1, "/b1"), (1, "/b2"), (0, "/a2")]
    seen = read(log(*(line(second, f"GET {path} HTTP/1.1") for second, path in order)))
    paths = [seen.requests[step].path for step in seen.steps]
    assert paths == ["/a", "/a2", "/b1", "/b2", "/c"]
    assert list(seen.offsets_ns) == sorted(seen.offsets_ns)


def test_time_zones_are_one_time(log):
    later = line(1).replace("-0700", "+0530").replace("13:55:01", "02:25:01").replace("10/", "11/")
    assert list(read(log(line(0), later)).offsets_ns) == [0, SECOND]


@pytest.mark.parametrize(("speed", "last"), [(2.0, 5.0), (0.5, 20.0), (3.0, 10 / 3)])
def test_speed_divides_the_gaps(log, speed, last):
    assert read(log(line(0), line(10)), speed=speed).duration_s == pytest.approx(last)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("200", None), ("304", None), ("404", 404), ("403", 403), ("499", None), ("408", None),
     ("429", None), ("500", None), ("-", None)],
)  # fmt: skip
def test_what_the_log_says_was_refused_must_be_refused_again(log, status, expected):
    [request] = read(log(line(status=status))).requests
    assert request.expect_status == expected


def test_the_same_path_with_two_fates_is_two_requests(log):
    seen = read(log(line(0, status="200"), line(1, status="404"), line(2, status="304")))
    assert [each.expect_status for each in seen.requests] == [None, 404]
    assert list(seen.steps) == [0, 1, 0]


def test_headers_and_the_right_status_can_be_given(log):
    replay = Replay(log=str(log(line(status="404"))))
    headers = (("Host", "example.test"),)
    seen = read_access_log(replay, headers=headers, expect=lambda _: 200)
    assert seen.requests == (RequestSpec(headers=headers, expect_status=200),)


def test_a_gzipped_log_is_read_as_it_is(tmp_path):
    file = tmp_path / "access.log.2.gz"
    file.write_bytes(gzip.compress((line(0) + line(1)).encode()))
    assert len(read(file).steps) == 2


@pytest.mark.parametrize(
    ("content", "words", "hint"),
    [
        (b"", "is empty", ""),
        (b"\n\n", "is empty", ""),
        (b"nonsense\nmore\n", "line 1 is `nonsense`", "such as"),
        (b"x" * 500, "line 1 is `" + "x" * 60 + "…`", "such as"),
        (b"\x00" * 3_000_000, "holds no line in common or combined log format", "such as"),
        (
            (
                line(request="POST / HTTP/1.1") * 28 + line(request="DELETE /x HTTP/1.1") * 2
            ).encode(),
            "holds no GET or HEAD, but 28 POST, 2 DELETE",
            "`--replay-methods POST` sends them",
        ),
        (gzip.compress(line().encode())[:-9], "cannot be read", ""),
        (b"\x1f\x8bxxx", "cannot be read", ""),
    ],
)
def test_a_log_without_a_usable_line_says_why(tmp_path, content, words, hint):
    file = tmp_path / "access.log"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(file)
    assert f"`{file}`" in str(caught.value)
    assert words in str(caught.value)
    assert hint in caught.value.hint


def test_a_log_that_is_not_there_or_a_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: no such file or directory"):
        read(tmp_path / "none.log")
    with pytest.raises(UsageError, match="cannot be read: it is a folder"):
        read(tmp_path)


def test_blocks_do_not_tear_lines(log):
    dice = random.Random(5)
    texts = [
        line(k // 50 % 60, f"GET /{'x' * dice.randrange(300)}/{k} HTTP/1.1") for k in range(3000)
    ]
    odd = [each if k % 97 else "odd\n" for k, each in enumerate(texts)]
    seen = read(log(*odd))
    n_odd = len(range(0, 3000, 97))
    assert (seen.log.n_lines, seen.log.n_malformed, seen.log.first_malformed) == (3000, n_odd, 1)
    assert len(seen.steps) == len(seen.requests) == 3000 - n_odd


def test_reading_takes_time_in_proportion_to_the_lines(log):
    text = "".join(line(k % 60, f"GET /item/{k % 500} HTTP/1.1") for k in range(20_000))

    def cost_s(times: int) -> float:
        file = log(text * times)
        began_s = process_time()
        assert len(read(file).steps) == 20_000 * times
        return process_time() - began_s

    cost_s(1)
    # Ten times the lines, plus the first reading of each request; not a hundred times.
    assert cost_s(10) < 40 * max(cost_s(1), 0.01)


PIECES = st.sampled_from(
    [line().encode(), b"\n", b"\r\n", b'"', b"\\", b"\\x", b"[10/Oct/2000:13:55:36 -0700] ", b"GET",
     b" HTTP/1.1", b'" 200 ', b"\x00", b"\xff", b" ", b"-"]
)  # fmt: skip


@given(st.lists(PIECES | st.binary(max_size=20), max_size=40))
def test_nothing_that_is_in_a_log_stops_it_and_every_line_is_accounted_for(pieces):
    reader = _Reader({b"GET"}, (), lambda _: None)
    content = b"".join(pieces)
    reader.read([content + b"\n"])
    n_lines = sum(1 for each in content.split(b"\n") if each and not each.isspace())
    assert reader.n_lines == n_lines
    assert reader.n_malformed + sum(reader.left_out.values()) + len(reader.steps) == n_lines
    assert all(request.path.isascii() for request in reader.requests)


def dated(day, *, zone="-0700"):
    return f'::1 - - [{day}:13:55:36 {zone}] "GET / HTTP/1.1" 200 1\n'


@pytest.mark.parametrize(
    ("lines", "speed"),
    [
        ((dated("01/Jan/0001", zone="+2359"), dated("10/Oct/2000")), 1.0),
        ((line(0), line(9)), 1e-300),
    ],
)
def test_a_log_that_no_replay_could_last_is_refused(log, lines, speed):
    with pytest.raises(UsageError, match="no replay lasts that long"):
        read_access_log(Replay(log=str(log(*lines)), speed=speed))


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log")
    with pytest.raises(UsageError, match="cannot be read: it is a FIFO"):
        read_access_log(Replay(log=str(tmp_path / "log")))
