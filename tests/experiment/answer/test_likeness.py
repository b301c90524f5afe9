"""What is another answer, and what only differs as two answers of one server do."""

import gzip

import pytest
from tests.rows import each_row
from tests.words import words

from httpdyno.experiment.answer.ask import Answer, Question
from httpdyno.experiment.answer.likeness import Likeness
from httpdyno.experiment.answer.reading import readings
from httpdyno.model import RequestSpec
from httpdyno.report.shared.message import texts

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


@each_row(
    ("other", "told"),
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
def test_what_is_another_answer_is_named(other, told):
    found = likeness(read()).difference(other)
    assert told in words(found)
    assert bool(told) == bool(found)


PAGE = b"<p>of 27 Nov 2026, visit 17: ten things, each of them as it was</p>"


@each_row(
    ("other", "told"),
    [
        (PAGE, ""),
        (PAGE.replace(b"27 Nov", b"28 Dec").replace(b"17", b"9,317"), ""),
        (PAGE.replace(b"things", b"errors"), "first difference is at byte 34: `errors, each of"),
        (PAGE.replace(b"17", b"none"), "byte 26: `none: ten things"),
        (PAGE + b"<p>2", "its end"),
        (b"Setup Error", "byte 1: `Setup Error` in place of `<p>of 27 Nov 2026"),
        (b"", "byte 1: its end in place of `<p>of"),
    ],
)
def test_a_later_day_may_have_other_numbers_and_dates_and_nothing_else(other, told):
    found = likeness(read(PAGE)).drift(read(other))
    assert told in words(found)
    assert bool(told) == bool(found)


@each_row(
    ("known", "other", "told"),
    [
        (read(b"v1\n"), read(b"v2\n"), "`v2·` in place of `v1·`"),
        (read(), read(kind="text/html; charset=utf-8"), "another `Content-Type`"),
        (read(location="/users/12/of/late"), read(location="/users/12/of/late"), ""),
        (read(location="/page/1"), read(location="/install/2"), "another `Location`"),
        (read(location="/p?at=12&of=late"), read(location="/p?at=13&of=late"), ""),
    ],
)
def test_what_is_nothing_but_numbers_and_what_kind_it_is_do_not_change_by_themselves(
    known, other, told
):
    found = likeness(known).drift(other)
    assert told in words(found)
    assert bool(told) == bool(found)


@each_row(
    ("n_bytes", "is_loaded", "told"),
    [
        (600, False, ""),
        (9_000, False, ""),
        (199, False, "199 bytes in place of 1,000 to 3,000"),
        (12_001, False, "12,001 bytes in place of"),
        (12_001, True, ""),
        (199, True, "199 bytes"),
    ],
)
def test_of_a_page_that_is_another_one_each_time_its_kind_is_compared(n_bytes, is_loaded, told):
    known = likeness(read(b"ab" * 500), read(b"a " * 1500))
    found = known.drift(read(b"c" * n_bytes), is_loaded=is_loaded)
    assert told in words(found)
    assert bool(told) == bool(found)


def test_what_differs_between_lives_of_one_configuration_is_allowed_later():
    rehearsed = likeness(read(b"life one of all"))
    assert rehearsed.drift(read(b"life two of all"))
    rehearsed.allow_as(likeness(read(b"life two of all"), read(b"life six of all")))
    assert rehearsed.drift(read(b"life two of all")) is None
    assert rehearsed.drift(read(b"life two of ALL"))


def test_words_that_differ_between_two_answers_of_one_server_are_not_compared():
    known = likeness(read(b"<p>at 12:03:04</p>"), read(b"<p>at 12:03:05</p>"))
    assert known.difference(read(b"<p>at 23:59:00</p>")) is None
    assert "byte 2: `b>at" in words(known.difference(read(b"<b>at 12:03:04</b>")))
    assert known.uncompared() == ()
    assert texts(known.varied()) == (
        "GET /x: of 9 words of its body 1 may differ, as in `12:03:04` and `12:03:05`",
    )


@pytest.mark.parametrize("again", [b"one two three four", b"uno dos"])
def test_where_little_or_no_word_stays_nothing_is_compared_and_told(again):
    known = likeness(read(b"one two"), read(again))
    assert known.difference(read(b"whatever")) is None
    [note] = known.uncompared()
    assert words(note).startswith("GET /x: its body is another one each time, ")
    assert "GET /x with status 304" in words(known.difference(read(status=304)))


def test_what_may_differ_is_not_compared_and_all_else_is():
    made = r"made in [\d.]+ \w+"
    known = likeness(read(b"made in 12 ms. Hello", [made]))
    assert known.difference(read(b"made in 1.2 s. Hello", [made])) is None
    assert known.difference(read(b". Hello", [made])) is None
    assert "`Goodbye`" in words(known.difference(read(b"made in 1.2 s. Goodbye", [made])))


def test_what_only_this_asking_put_in_is_no_difference():
    known = likeness(read(b"visit 0011223344556677", own=((b"0011223344556677", b"{random}"),)))
    new = ((b"8899aabbccddeeff", b"{random}"),)
    assert known.difference(read(b"visit 8899aabbccddeeff", own=new)) is None
    assert "`0011223344556677`" in words(known.difference(read(b"visit 0011223344556677", own=new)))


def test_what_changes_under_load_is_only_left_out_then():
    known = likeness(read(b"hits 1 of 9"))
    moved = known.follow(read(b"hits 1 of 9, and more"))
    assert moved == {QUESTION}
    assert known.difference(read(b"hits"), moved) is None
    assert known.difference(read(b"hits")) is not None


GZIP = gzip.compress(b"a page")


@each_row(
    ("coded", "told"),
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
def test_a_coded_answer_has_the_same_body_and_says_so_to_caches(coded, told):
    known = likeness(read(question=CODED))
    found = known.difference(read(**{"body": GZIP, "question": CODED, **coded}))
    assert told in words(found)
    assert bool(told) == bool(found)


def test_a_fault_that_the_start_has_is_no_difference():
    bare = read(GZIP, question=CODED, coding="gzip")
    assert likeness(bare).difference(bare) is None


def test_a_client_that_accepts_no_coding_gets_none():
    plain = Question(request=CODED.request, is_plain=True)
    found = likeness(read(question=plain)).difference(
        read(GZIP, question=plain, coding="gzip", vary="*")
    )
    assert words(found).startswith(
        "GET /x without a coding with `Content-Encoding: gzip`, to a client"
    )
