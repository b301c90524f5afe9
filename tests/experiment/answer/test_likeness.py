"""What is another answer, and what only differs as two answers of one server do."""

import gzip

import pytest

from httpdyno.experiment.answer.ask import Answer, Question
from httpdyno.experiment.answer.likeness import Likeness
from httpdyno.experiment.answer.reading import readings
from httpdyno.model import RequestSpec

QUESTION = Question(request=RequestSpec(path="/x", expect_status=None))
CODED = Question(request=RequestSpec(path="/x", headers=(("Accept-Encoding", "gzip"),)))


def read(body=b"a page", may_differ=(), question=QUESTION, **changes):
    answer = Answer(question=question, body=body, **{"status": 200, "kind": "text/html", **changes})
    return readings([answer], may_differ)


def likeness(*found):
    known = Likeness()
    for each in found:
        known.learn(each)
    return known


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (read(), ""),
        (read(b"a PAGE"), "GET /x with another body: the first difference is at byte 3: `PAGE` in"),
        (read(b"a"), "byte 2: its end in place of ` page`"),
        (read(b"a page, more"), "byte 7: `, more` in place of its end"),
        (read(b"\n\0" * 40), "byte 1: `" + "·" * 32 + "…` in place of `a page`"),
        (read(status=302), "GET /x with status 302 in place of 200"),
        (read(kind="text/plain"), "another `Content-Type`: `text/plain` in place of `text/html`"),
        (read(location="/login"), "another `Location`: `/login` in place of its end"),
        (read(b"oops", status=500), ""),
        (read(b"other", question=Question(request=RequestSpec(path="/y"))), ""),
    ],
)
def test_what_is_another_answer_is_named(other, words):
    found = likeness(read()).difference(other)
    assert words in found
    assert bool(words) == bool(found)


def test_words_that_differ_between_two_answers_of_one_server_are_not_compared():
    known = likeness(read(b"<p>at 12:03:04</p>"), read(b"<p>at 12:03:05</p>"))
    assert known.difference(read(b"<p>at 23:59:00</p>")) == ""
    assert "byte 2: `b>at" in known.difference(read(b"<b>at 12:03:04</b>"))
    assert known.uncompared() == ()
    assert known.varied() == (
        "GET /x: of 9 words of its body 1 may differ, as in `12:03:04` and `12:03:05`",
    )


@pytest.mark.parametrize("again", [b"one two three four", b"uno dos"])
def test_where_little_or_no_word_stays_nothing_is_compared_and_told(again):
    known = likeness(read(b"one two"), read(again))
    assert known.difference(read(b"whatever")) == ""
    [note] = known.uncompared()
    assert note.startswith("GET /x: its body is another one each time, ")
    assert "GET /x with status 304" in known.difference(read(status=304))


def test_what_may_differ_is_not_compared_and_all_else_is():
    made = r"made in [\d.]+ \w+"
    known = likeness(read(b"made in 12 ms. Hello", [made]))
    assert known.difference(read(b"made in 1.2 s. Hello", [made])) == ""
    assert known.difference(read(b". Hello", [made])) == ""
    assert "`Goodbye`" in known.difference(read(b"made in 1.2 s. Goodbye", [made]))


def test_what_only_this_asking_put_in_is_no_difference():
    known = likeness(read(b"visit 0011223344556677", own=((b"0011223344556677", b"{random}"),)))
    new = ((b"8899aabbccddeeff", b"{random}"),)
    assert known.difference(read(b"visit 8899aabbccddeeff", own=new)) == ""
    assert "`0011223344556677`" in known.difference(read(b"visit 0011223344556677", own=new))


def test_what_changes_under_load_is_only_left_out_then():
    known = likeness(read(b"hits 1 of 9"))
    moved = known.follow(read(b"hits 1 of 9, and more"))
    assert moved == {QUESTION}
    assert known.difference(read(b"hits"), moved) == ""
    assert known.difference(read(b"hits")) != ""


GZIP = gzip.compress(b"a page")


@pytest.mark.parametrize(
    ("coded", "words"),
    [
        ({"coding": "gzip", "vary": "Cookie, accept-encoding"}, ""),
        ({"coding": "gzip", "vary": "*"}, ""),
        ({"coding": "gzip"}, "gzip` and without `Vary: Accept-Encoding`"),
        (
            {"coding": "gzip", "vary": "*", "body": GZIP[:-9]},
            "nobody can read: its gzip is cut",
        ),
        ({"coding": "zstd", "vary": "*", "body": b"?"}, ""),
    ],
)
def test_a_coded_answer_has_the_same_body_and_says_so_to_caches(coded, words):
    known = likeness(read(question=CODED))
    found = known.difference(read(**{"body": GZIP, "question": CODED, **coded}))
    assert words in found
    assert bool(words) == bool(found)


def test_a_fault_that_the_start_has_is_no_difference():
    bare = read(GZIP, question=CODED, coding="gzip")
    assert likeness(bare).difference(bare) == ""


def test_a_client_that_accepts_no_coding_gets_none():
    plain = Question(request=CODED.request, is_plain=True)
    found = likeness(read(question=plain)).difference(
        read(GZIP, question=plain, coding="gzip", vary="*")
    )
    assert found.startswith("GET /x without a coding with `Content-Encoding: gzip`, to a client")
