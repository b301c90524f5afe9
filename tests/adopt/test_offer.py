import pytest
from tests.rows import each_row

from httpdyno.adopt.study_text import offered
from httpdyno.errors import UsageError
from httpdyno.experiment.answer.ask import accepted
from httpdyno.model import RequestSpec

TAKES = (("Accept-Encoding", accepted()),)


def offer(*paths, file=None, headers=()):
    return offered(
        paths=paths,
        url_file=file,
        ready_path="/up",
        connections=None,
        is_tls=False,
        headers=headers,
    )


def test_paths_and_the_lines_of_a_file_are_asked_for(tmp_path):
    file = tmp_path / "urls.txt"
    file.write_text("# what clients want\n/a?b=c\n\nHEAD /d\n")
    assert offer("/", file=file).requests == (
        RequestSpec(path="/", headers=TAKES, expect_status=None),
        RequestSpec(path="/a?b=c", headers=TAKES, expect_status=None),
        RequestSpec(path="/d", method="HEAD", headers=TAKES, expect_status=None),
    )


@each_row(
    ("given", "sent"),
    [
        ((), TAKES),
        ((("X-Shop", "1"),), (*TAKES, ("X-Shop", "1"))),
        ((("accept-encoding", "zstd"),), (("accept-encoding", "zstd"),)),
        ((("Accept-Encoding", ""),), ()),
    ],
)
def test_compressed_answers_are_taken_as_by_browsers_unless_a_header_says_else(given, sent):
    assert [each.headers for each in offer("/", headers=given).requests] == [sent]
    assert offer(headers=given).requests[0].headers == sent


def test_a_header_that_cannot_be_sent_is_refused():
    with pytest.raises(UsageError, match="not a header's name"):
        offer("/", headers=[("a b", "c")])


def test_without_any_the_ready_path_is_a_guess():
    found = offer()
    assert found.is_guess
    assert [each.path for each in found.requests] == ["/up"]
    assert not offer("/").is_guess


@each_row("line", ["POST /cart", "DELETE /cart/1", "/cart POST a=1"])
def test_what_may_change_something_is_refused(line):
    with pytest.raises(UsageError, match="may change something"):
        offer(line)


@each_row("line", ["http://shop.example/", "cart", ""])
def test_what_is_no_path_is_refused(line):
    with pytest.raises(UsageError):
        offer(line)
