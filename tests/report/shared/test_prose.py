from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from tests.report.plain import WIDTH, plain_text

from httpdyno.report.shared.prose import Prose

WORDS = st.lists(st.sampled_from(["10.0", "ms", "4.59", "…", "5.23", "×", "and", "starts", "b"]))


def test_a_number_goes_to_the_next_line_with_its_unit() -> None:
    line = "x" * (WIDTH - len(" throughput 1.00")) + " throughput 1.00 × (0.97 … 1.04)"
    assert plain_text(Prose(Text(line))).splitlines()[1] == "1.00 × (0.97 … 1.04)"


def test_a_change_stays_in_one_piece() -> None:
    line = "x" * (WIDTH - len(" workers → 1")) + " workers → 4"
    assert "workers → 4, b" in plain_text(Prose(Text(f"{line}, b")))


@given(WORDS)
def test_nothing_is_lost_and_no_line_is_too_wide(words: list[str]) -> None:
    lines = plain_text(Prose(Text(" ".join(words)))).splitlines()
    assert " ".join(lines).split() == words
    assert all(len(line) <= WIDTH for line in lines)


def test_a_word_without_end_is_broken_all_the_same() -> None:
    lines = plain_text(Prose(Text(f"a {'y' * 200} b"))).splitlines()
    assert "".join(lines).replace(" ", "") == f"a{'y' * 200}b"
    assert max(map(len, lines)) <= WIDTH
