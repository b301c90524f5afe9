"""Ends of logs whose folders others may change."""

import os

import pytest

from httpdyno.servers.log_file import foreign_log_end


def test_the_end_of_a_log_is_told_and_nothing_of_what_is_none(tmp_path):
    (tmp_path / "log").write_text(f"{'x' * 100_000}last\n")
    (tmp_path / "link").symlink_to("log")
    assert foreign_log_end(tmp_path / "log").endswith("xlast\n")
    assert len(foreign_log_end(tmp_path / "log")) < 100_000
    for path in (tmp_path / "link", tmp_path, tmp_path / "none" / "log"):
        assert foreign_log_end(path) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
def test_nothing_is_told_of_where_anothers_link_leads_to(tmp_path):
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "log").write_text("secret\n")
    (tmp_path / "logs").symlink_to("roots")
    assert foreign_log_end(tmp_path / "logs" / "log") == "secret\n"
    os.chown(tmp_path / "logs", 40_001, 40_001, follow_symlinks=False)
    assert foreign_log_end(tmp_path / "logs" / "log") == ""
