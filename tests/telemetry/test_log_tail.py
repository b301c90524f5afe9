"""What comes into files after a moment, whatever becomes of them."""

import os

import pytest

from httpdyno.telemetry.log import LogTail


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


@pytest.fixture
def logs(tmp_path):
    """Give a folder with a log, and one beside it with a file that is nobody else's business."""
    for name in ("logs", "secrets"):
        (tmp_path / name).mkdir()
    (tmp_path / "logs" / "error.log").write_text("before\n")
    (tmp_path / "secrets" / "error.log").write_text("ERROR: told to nobody\n")
    return tmp_path / "logs"


def test_a_link_in_the_place_of_the_logs_folder_is_not_followed(logs):
    tail = LogTail([logs / "error.log"])
    logs.rename(logs.with_name("old"))
    logs.symlink_to(logs.with_name("secrets"))
    assert tail.next_lines() is None
    logs.unlink()
    logs.with_name("secrets").rename(logs)
    assert tail.next_lines() is None
    logs.rename(logs.with_name("secrets"))
    logs.with_name("old").rename(logs)
    with (logs / "error.log").open("a") as log:
        log.write("again\n")
    assert forms(tail.next_lines()) == ["again"]


def test_a_log_in_a_folder_that_a_link_leads_to_is_read_also_when_it_is_rotated(logs):
    link = logs.with_name("link")
    link.symlink_to("logs")
    tail = LogTail([link / "error.log"])
    (link / "error.log").rename(link / "error.log.1")
    (link / "error.log").write_text("after\n")
    assert forms(tail.next_lines()) == ["after"]
    link.unlink()
    link.symlink_to("secrets")
    assert forms(tail.lines()) == []


def test_a_file_that_has_another_name_too_takes_no_logs_place(logs):
    logs.chmod(0o777)
    tail = LogTail([logs / "error.log", logs / "late.log"])
    (logs / "error.log").unlink()
    for name in ("error.log", "late.log"):
        (logs / name).hardlink_to(logs.with_name("secrets") / "error.log")
    assert tail.lines() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_takes_no_logs_place(logs):
    log, new = logs / "error.log", logs / "new"
    os.chown(log, 40_001, 40_001)
    os.chown(logs, 40_001, 40_001)
    tail = LogTail([log])
    for owner, told in ((0, None), (40_002, None), (40_001, ["after"])):
        new.write_text("after\n")
        os.chown(new, owner, owner)
        new.replace(log)
        found = tail.next_lines()
        assert (found and forms(found)) == told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(("mode", "told"), [(0o755, ["after"]), (0o775, None), (0o757, None)])
def test_in_a_folder_of_roots_a_new_log_may_be_another_users(logs, mode, told):
    """As logrotate makes it for nginx, which has its first one from root."""
    logs.chmod(mode)
    tail = LogTail([logs / "error.log"])
    (logs / "error.log").rename(logs / "error.log.1")
    (logs / "error.log").write_text("after\n")
    os.chown(logs / "error.log", 40_001, 40_001)
    found = tail.next_lines()
    assert (found and forms(found)) == told


def test_a_line_that_is_written_in_two_pieces_is_one(tmp_path):
    log = tmp_path / "log"
    log.touch()
    tail = LogTail([log])
    with log.open("a", buffering=1) as file:
        file.write("whole\nfirst half, ")
        file.flush()
        assert forms(tail.next_lines()) == ["whole"]
        file.write("second half\n")
    assert forms(tail.next_lines()) == ["first half, second half"]
    assert forms(tail.next_lines()) == []


def test_a_line_that_nobody_goes_on_with_is_told_at_the_next_look_or_at_the_last(tmp_path):
    log = tmp_path / "log"
    log.touch()
    tail = LogTail([log])
    log.write_text("killed in the mid")
    assert forms(tail.lines()) == ["killed in the mid"]
    for expected in ([], ["killed in the mid"], []):
        assert forms(tail.next_lines()) == expected
    log.write_text("anew")
    for expected in ([], ["anew"]):
        assert forms(tail.next_lines()) == expected


def test_a_log_without_any_line_is_not_read_again_and_again(tmp_path):
    log = tmp_path / "log"
    log.touch()
    tail = LogTail([log])
    read_bytes = 0
    for _ in range(10):
        with log.open("a") as file:
            file.write("x" * 100)
        found = tail.next_lines(most_bytes=80)
        assert found is not None
        read_bytes += found.unread_bytes
    with log.open("a") as file:
        file.write("\nlast\n")
    found = tail.next_lines(most_bytes=80)
    assert found is not None
    assert "last" in forms(found)
    assert read_bytes + found.unread_bytes > 900


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
