"""The bench of containment: what counts as a miss, and that what is outside sees what comes."""

import socket
from importlib import import_module

import pytest

bench = import_module("benches.contained.__main__")
outside = import_module("benches.contained.outside")
Row, told = bench.Row, bench.told


@pytest.mark.parametrize(
    ("by_hand", "in_copy", "is_named", "exit_code"),
    [
        ("2 files", "", True, 0),
        ("", "", True, 1),
        ("2 files", "1 files", True, 1),
        ("2 files", "", False, 1),
        ("2 files", "", None, 0),
    ],
)
def test_a_control_unseen_a_leak_and_silence_are_misses(
    by_hand, in_copy, is_named, exit_code, capsys
):
    copies = {"cell": {"writes": Row(seen=in_copy, is_named=is_named)}}
    assert told({"writes": Row(seen=by_hand)}, copies) == exit_code
    assert capsys.readouterr().out.splitlines()[-1] == f"{exit_code} misses"


@pytest.mark.parametrize(("is_named", "exit_code"), [(True, 0), (False, 1)])
def test_what_goes_out_as_doctor_says_is_shown_and_has_to_be_named(is_named, exit_code, capsys):
    copies = {"wall": {"asks": Row(seen="3 × 9 B", is_named=is_named, is_open=True)}}
    assert told({"asks": Row(seen="2 × 6 B")}, copies) == exit_code
    _, row, n_open, last = capsys.readouterr().out.splitlines()
    assert "~ 3 × 9 B: goes out, as doctor says" in row
    assert n_open.startswith("1 go out")
    assert last == f"{exit_code} misses"


def test_what_comes_is_counted_and_what_was_before_is_not(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "before").write_text("x")
    address = str(tmp_path / "s")
    listener = outside.Listener(socket.AF_UNIX, socket.SOCK_STREAM, address)
    try:
        seen_by = outside.Outside({"writes": str(place)}, {"talks": listener})
        assert seen_by.seen() == {"writes": "", "talks": ""}
        (place / "file").write_text("x")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            connection.sendall(b"hello")
    finally:
        listener.close()
    assert seen_by.seen() == {"writes": "1 files", "talks": "1 × 5 B"}
