"""Paths of another process's mounts, as they are opened from here."""

import os

from tests.rows import each_row

from httpdyno.servers.link import is_device, led, seen_file


def test_links_lead_within_the_root(tmp_path):
    (tmp_path / "var" / "real").mkdir(parents=True)
    (tmp_path / "log").symlink_to("/var/real")
    (tmp_path / "var" / "up").symlink_to("../var/./real")
    assert led("/log/a", str(tmp_path)) == "/var/real/a"
    assert led("/var/up/a", str(tmp_path)) == "/var/real/a"
    assert led("/", str(tmp_path)) == "/"


def test_a_file_is_seen_where_a_process_has_it_and_what_is_a_link_stays_one(tmp_path):
    (tmp_path / "error.log").symlink_to("/dev/stderr")
    found = seen_file(str(tmp_path / "error.log"), os.getpid())
    assert str(found) == f"/proc/{os.getpid()}/root{tmp_path}/error.log"
    assert found.is_symlink()


@each_row(
    ("path", "expected"),
    [
        ("/dev/stderr", True),
        ("/proc/self/fd/2", True),
        ("/srv/../dev/null", True),
        ("/srv/a", False),
    ],
)
def test_devices_are_told(path, expected):
    assert is_device(path) is expected
