import tomllib

from hypothesis import given
from hypothesis import strategies as st

from httpdyno.adopt.study_text import comment, toml_lines, toml_value

# TOML has no surrogates, as no text in UTF-8 has.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)


@given(PLAIN | st.lists(PLAIN, max_size=4))
def test_a_reader_of_toml_finds_the_value(value):
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value


def test_what_says_nothing_is_left_out():
    assert toml_lines({"a": "", "b": (), "c": False, "d": 0, "e": "x"}) == [
        "c = false",
        "d = 0",
        'e = "x"',
    ]


@given(TEXTS)
def test_comments_are_nothing_to_a_reader_of_toml(text):
    printable = "".join(each for each in text if each.isprintable() or each in " \n")
    assert tomllib.loads("\n".join([*comment(printable), "x = 1"])) == {"x": 1}


def test_comments_are_broken_between_words():
    assert comment("one two three four", width=10) == ["# one two", "# three", "# four"]
