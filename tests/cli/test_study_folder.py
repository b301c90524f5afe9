from pathlib import Path

import pytest

from httpdyno.cli.adopt import adopted_folder
from httpdyno.cli.study_folder import study_folder
from httpdyno.model import Member, Site


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("shop.example", "shop.example"),
        ("/etc/x/../y", "etc-x-..-y"),
        ("..", "site"),
        (".ssh", "ssh"),
        ("*.shop.example", "shop.example"),
        ("a/.", "a-."),
        ("größe\n\0x", "größe-x"),
        ("", "site"),
        ("x" * 300, "x" * 100),
    ],
)
def test_a_study_lies_in_one_plain_folder_here(name, folder):
    assert study_folder(name) == Path(folder)


def test_a_configuration_chooses_no_place_for_a_study():
    member = Member(name="nginx", kind="nginx")
    site = Site(members=(member,), host="/etc/x/../y")
    assert adopted_folder(None, site) == Path("etc-x-..-y")
    assert adopted_folder("/srv/mine", site) == Path("/srv/mine")
