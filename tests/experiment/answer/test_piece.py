"""Texts in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiment.answer.reading import Text, differing
from httpdyno.reason import because


@given(st.binary(max_size=200))
def test_the_pieces_are_the_text(whole):
    text = Text(whole)
    assert b"".join(text.pieces) == whole
    assert [text.begin(i) for i in range(len(text.pieces))] == [
        len(b"".join(text.pieces[:i])) for i in range(len(text.pieces))
    ]


@given(st.binary(min_size=1, max_size=60), st.binary(max_size=60))
def test_texts_differ_in_some_piece_or_are_the_same(one, other):
    places = list(differing(Text(one), Text(other)))
    assert bool(places) == (one != other)


def test_times_and_ids_are_a_piece_each_whatever_they_are():
    one = Text(b'<p id="a1">made 1,204 times at 2026-11-25T12:03:04.5+01:00, by /srv/x</p>')
    two = Text(b'<p id="zz9/+">made 7 times at 2027-01-05T01:13:59.123Z, by /srv/x</p>')
    assert len(one.pieces) == len(two.pieces)
    assert len(list(differing(one, two))) == 3


def test_what_may_differ_is_left_out_and_places_are_of_the_whole_text():
    one, two = b"<b>made in 12 ms</b>, or x", b"<b></b>, or y, at last"
    texts = Text(one, [(3, 16)]), Text(two)
    place = next(differing(*texts))
    assert texts[0].shown(place) == "`x`"
    assert texts[0].begin(place) == one.index(b"x")
    assert texts[1].begin(place) == two.index(b"y")
    assert texts[1].shown(99) == because("experiment.its_end")
