"""What a folder lies on is told as the kernel lists its mounts."""

import os

from tests.rows import each_row

from httpdyno.telemetry.host import filesystem, filesystems, parsed_mounts

MOUNTS = parsed_mounts(
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "22 21 0:20 / /run rw,nosuid - tmpfs tmpfs rw\n"
    "23 21 0:40 /x /srv/my\\040shop rw master:2 shared:7 - nfs4 nas:/x rw\n"
    "24 21 0:41 / /run rw - ramfs none rw\n"
    "cut off"
)


@each_row(
    ("folder", "kind"),
    [
        ("/var/lib/php/sessions", "ext4"),
        ("/run/php", "ramfs"),
        ("/runner", "ext4"),
        ("/srv/my shop/data/../sessions", "nfs4"),
        ("/", "ext4"),
    ],
)
def test_the_deepest_mount_counts_and_the_last_of_one_place(folder, kind):
    assert filesystem(folder, MOUNTS) == kind


def test_this_process_sees_its_own():
    assert set(filesystems(["/proc", "/"])) == {"/proc", "/"}
    assert filesystems(["/proc"], os.getpid()) == {"/proc": "proc"}


def test_where_nothing_is_told_nothing_is_said():
    assert filesystems(["/"], 4_194_304) == {}
