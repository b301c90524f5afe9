from pathlib import Path

import pytest

from httpdyno.servers.cell.cover import covers
from httpdyno.servers.cell.host import Mounted


@pytest.fixture
def top(own_folders):
    folder = own_folders / "top"
    for name in ("a/deep", "b", "runs/run-1/0001", "runs/run-1/0002"):
        (folder / name).mkdir(parents=True)
    (folder / "file").write_text("")
    (folder / "link").symlink_to("a")
    return str(folder)


def covered(top, writes, *points, place="/nowhere"):
    """Return what is covered, without the folder that all is in."""
    mounted = {"/": Mounted(point="/", kind="ext4")}
    for point in points:
        path, _, kind = point.partition(":")
        mounted[top + path] = Mounted(point=top + path, kind=kind or "tmpfs")
    own = (top + place,)
    found = covers([top + each for each in writes], mounted, own)

    def short(paths):
        return sorted(path.removeprefix(top) for path in paths)

    anew = {path.removeprefix(top): short(e.path for e in es) for path, es in found.anew.items()}
    return short(found.over), anew, short(found.shown)


@pytest.mark.parametrize(
    ("writes", "points", "over", "shown"),
    [
        (["/a"], [], ["/a"], []),
        (["/a", "/a/deep", "/b"], [], ["/a", "/b"], []),
        (["/link", "/a"], [], ["/a"], []),
        (["/missing", "/file"], [], [], []),
        # A mount in it has a cover of its own, since the outer one does not show it.
        (["/a"], ["/a/deep"], ["/a", "/a/deep"], []),
        # A file that is mounted, and what the kernel shows, cannot be covered.
        (["/a"], ["/a/deep:cgroup2", "/file"], ["/a"], ["/a/deep"]),
    ],
)
def test_a_folder_that_is_written_is_covered_once_and_mounts_in_it_too(
    top, writes, points, over, shown
):
    assert covered(top, writes, *points) == (over, {}, shown)


def test_where_the_place_is_inside_the_folders_beside_it_are_covered(top):
    over, anew, shown = covered(top, [""], place="/runs/run-1/0001")
    assert over == ["/a", "/b"]
    # Other copies are not shown.
    assert anew == {"": ["/file", "/link"], "/runs": [], "/runs/run-1": []}
    assert shown == []


@pytest.mark.parametrize(("n", "n_written", "n_shown"), [(64, 64, 0), (65, 0, 65), (641, 0, 0)])
def test_of_many_folders_beside_the_place_none_can_be_written(top, n, n_written, n_shown):
    for number in range(n):
        Path(top, "many", f"{number}").mkdir(parents=True)
    over, anew, shown = covered(top, ["/many"], place="/many/runs/run-1/0001")
    assert (len(over), len(shown)) == (n_written, n_shown)
    assert "/many" in anew


def test_the_place_itself_and_what_the_kernel_shows_are_not_covered(top):
    place = "/runs/run-1/0001"
    Path(f"{top}{place}/in").mkdir()
    assert covered(top, [place, f"{place}/in"], place=place) == ([], {}, [])
    assert covers(["/proc", "/sys/kernel", "/dev/shm"], {}, ()).over == set()


def test_a_folder_that_is_copied_for_its_user_is_no_part_of_one_that_is_not(top):
    mounted = {"/": Mounted(point="/", kind="ext4")}
    inner = f"{top}/a/deep"

    def found(*filled):
        writes = [f"{top}/a", inner]
        return covers(writes, mounted, ("/nowhere",), is_filled=filled.__contains__).over

    assert found(inner) == {f"{top}/a", inner}
    assert found(inner, f"{top}/a") == {f"{top}/a"}
    assert found() == {f"{top}/a"}


def test_what_is_shown_in_a_covered_folder_is_not_covered(top):
    mounted = {"/": Mounted(point="/", kind="ext4")}
    own = (f"{top}/runs/run-1/0001",)
    found = covers([top], mounted, own, with_beside=False)
    assert found.shown == {f"{top}/a", f"{top}/b"}
    assert found.owner(f"{top}/a/file") == ""
    assert found.owner(f"{top}/file") == top
