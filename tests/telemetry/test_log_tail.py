"""What comes into files after a moment, whatever becomes of them."""

import os

from httpdyno.telemetry.log_tail import LogTail


def forms(found):
    assert found is not None
    return sorted(kind.form for kind in found.kinds)


def test_only_what_came_since_is_told_of_all_logs(tmp_path):
    one, other, late = (tmp_path / name for name in ("one", "other", "late"))
    one.write_text("before\n")
    other.write_text("")
    tail = LogTail([one, other, one, late])
    for path, text in ((one, "since"), (other, "too"), (late, "new")):
        with path.open("a") as log:
            log.write(f"{text}\n")
    found = tail.lines()
    assert forms(found) == ["new", "since", "too"]
    assert found is not None
    assert found.unread_bytes == 0


def test_a_log_that_was_cut_off_is_read_from_its_beginning(tmp_path):
    log = tmp_path / "log"
    log.write_text("a long line before\n")
    tail = LogTail([log])
    log.write_text("fresh\n")
    assert forms(tail.lines()) == ["fresh"]


def test_a_log_that_was_rotated_is_read_from_its_beginning_though_it_has_outgrown_the_old_one(
    tmp_path,
):
    log = tmp_path / "log"
    log.write_text("before\n")
    tail = LogTail([log])
    log.rename(tmp_path / "log.1")
    log.write_text("first of the new one\nsecond\n")
    assert forms(tail.lines()) == ["first of the new one", "second"]


def test_of_one_that_grew_too_much_both_ends_are_read_by_whole_lines(tmp_path):
    log = tmp_path / "log"
    log.touch()
    tail = LogTail([log])
    text = "first of all\n" + "in the middle\n" * 100 + "last of all\n"
    log.write_text(text)
    found = tail.lines(most_bytes=80)
    assert found is not None
    assert forms(found) == ["first of all", "in the middle", "last of all"]
    read_bytes = sum(kind.count * (len(kind.form) + 1) for kind in found.kinds)
    assert found.unread_bytes == len(text) - read_bytes > 1000


def test_what_is_no_file_is_not_waited_for_and_links_are_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("")
    (tmp_path / "link").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe")
    tail = LogTail([tmp_path / "link", tmp_path / "pipe", tmp_path / "none", tmp_path])
    secret.write_text("ERROR: told to nobody\n")
    assert tail.lines() is None


def test_what_was_told_once_is_not_told_again(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    tail = LogTail([log])
    for text in ("first\n", "second\n", ""):
        with log.open("a") as file:
            file.write(text)
        assert forms(tail.next_lines()) == text.split()
    assert forms(tail.lines()) == []
    log.write_text("anew\n")
    assert forms(tail.next_lines()) == ["anew"]
