from pathlib import Path

import pytest

from httpdyno.servers.php_fpm.frame import Frame
from httpdyno.servers.site.own_folder import write_own


def test_what_is_written_for_a_copy_follows_no_link_of_the_copys(tmp_path):
    theirs, file = tmp_path / "passwd", tmp_path / "in-force.php"
    theirs.write_text("theirs")
    file.symlink_to(theirs)
    write_own(file, "ours")
    assert (theirs.read_text(), file.read_text()) == ("theirs", "ours")
    assert not file.is_symlink()
    write_own(file, "again")
    assert file.read_text() == "again"
    with pytest.raises(OSError, match="directory"):
        write_own(tmp_path / "none" / "file", "")


@pytest.mark.parametrize(
    ("extension", "name"),
    [(".phtml", "in-force.phtml"), ("/../../x", "in-force.php"), ("", "in-force.php")],
)
def test_an_extension_of_theirs_leads_nowhere_else(extension, name):
    frame = Frame(folder=Path("/seat/php-fpm"), sockets=Path("/seat"))
    assert frame.script(extension) == Path("/seat/php-fpm", name)
