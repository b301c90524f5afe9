from pathlib import Path

import pytest

from httpdyno.servers.sandbox.overlay import Mounted, covers, top_folders


@pytest.fixture
def top(own_folders):
    folder = own_folders / "top"
    for name in ("a/deep", "b", "disk/httpdyno-0/run-1/0001", "disk/httpdyno-0/run-1/0002"):
        (folder / name).mkdir(parents=True)
    (folder / "file").write_text("")
    (folder / "link").symlink_to("a")
    return str(folder)


PLACE = "/disk/httpdyno-0/run-1/0001"


def covered(top, asked=(), points=(), place="", **others):
    """Return the covers of a folder, paths without it."""
    mounted = {"/": Mounted(point="/", kind="ext4")}
    for point in points:
        path, _, kind = point.partition(":")
        mounted[top + path] = Mounted(point=top + path, kind=kind or "tmpfs")
    asked = [top + each for each in asked]
    own = top + place if place else "/nowhere/httpdyno-0/run-1/0001"
    runs = [str(Path(own).parent.parent)]
    found = covers([top], mounted, (own,), asked=asked, runs=runs, **others)

    def short(paths):
        return sorted(path.removeprefix(top) for path in paths)

    anew = {path.removeprefix(top): short(e.path for e in es) for path, es in found.anew.items()}
    return short(found.over), anew, short(found.shown), short(found.unseen), short(found.doubtful)


@pytest.mark.parametrize(
    ("asked", "points", "expected"),
    [
        ([], [], ([""], {}, [], [], [])),
        (["/a"], [], (["", "/a"], {}, [], [], [])),
        (["/a", "/a/deep", "/b"], [], (["", "/a", "/b"], {}, [], [], [])),
        (["/link", "/a"], [], (["", "/a"], {}, [], [], [])),
        (["/missing", "/file"], [], ([""], {}, [], [], [])),
        # A mount in it has a cover of its own, since the outer one does not show it.
        ([], ["/a", "/a/deep"], (["", "/a", "/a/deep"], {}, [], [], [])),
        # What the kernel shows there leads to processes; a file that is mounted is one.
        ([], ["/a:proc", "/a/deep", "/file"], ([""], {}, ["/file"], ["/a"], [])),
        # On the one there can be no socket; of the other only the kernel knows if it is covered.
        ([], ["/a:vfat", "/b:fuse.sshfs"], (["", "/b"], {}, ["/a"], [], ["/b"])),
    ],
)
def test_all_is_covered_once_and_each_mount_in_it(top, asked, points, expected):
    assert covered(top, asked, points) == expected


def test_where_the_place_is_inside_its_run_is_made_anew(top):
    over, anew, *_ = covered(top, place=PLACE)
    # Other copies are not shown.
    assert (over, anew) == ([""], {"/disk/httpdyno-0": []})


def test_of_a_folder_with_layers_on_disk_and_the_place_in_it_each_folder_is_covered(top):
    over, anew, *_ = covered(top, [""], place=PLACE)
    assert over == ["/a", "/b"]
    assert anew == {"": ["/file", "/link"], "/disk": [], "/disk/httpdyno-0": []}


def test_without_memory_what_is_around_the_place_is_made_anew_too(top):
    over, anew, *_ = covered(top, place=PLACE, memory=f"{top}{PLACE}")
    assert over == ["/a", "/b"]
    assert anew.keys() == {"", "/disk", "/disk/httpdyno-0"}


@pytest.mark.parametrize(("n", "over"), [(63, 64), (64, 2)])
def test_of_many_folders_beside_the_place_none_has_a_layer_of_its_own(top, n, over):
    for number in range(n):
        Path(top, "disk", f"{number}").mkdir()
    found = covered(top, ["/disk"], place=PLACE)
    assert (len(found[0]), "/disk" in found[1]) == (over, over > n)


def test_a_folder_that_keeps_its_names_is_made_anew(top):
    for name in ("one", "two"):
        Path(top, "a", name).write_text("")
    closed = {f"{top}/a": lambda name: name != "two"}
    assert covered(top, closed=closed)[:2] == (["", "/a/deep"], {"/a": ["/a/one"]})


def test_the_place_itself_and_what_the_kernel_shows_are_not_covered(top):
    assert not {"/proc", "/sys", "/dev"} & set(top_folders())
    Path(f"{top}{PLACE}/in").mkdir()
    over, *_ = covered(top, [PLACE, f"{PLACE}/in"], place=PLACE)
    assert over == [""]


def test_a_folder_is_part_of_another_only_where_both_or_neither_are_copied_for_their_user(top):
    def over(*filled):
        paths = [f"{top}{each}" for each in filled]
        return covered(top, ["/a", "/a/deep"], is_filled=paths.__contains__)[0]

    assert over("/a/deep") == ["", "/a", "/a/deep"]
    assert over("/a/deep", "/a") == ["", "/a"]
    assert over("/a") == ["", "/a", "/a/deep"]
    assert over() == ["", "/a"]


def test_what_a_user_may_not_look_into_is_no_matter(top):
    over, _, shown, *_ = covered(top, ["/a"], is_hidden=lambda path: path.endswith("/a"))
    assert (over, shown) == ([""], ["/a"])


def test_where_mounts_cannot_be_left_out_what_is_around_them_is_made_anew(top):
    over, anew, *_ = covered(top, points=["/a/deep"], is_locked=True)
    assert (over, anew) == (["/a/deep", "/b", "/disk"], {"": ["/file", "/link"], "/a": []})
