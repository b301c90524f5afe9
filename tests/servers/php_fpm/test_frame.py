from pathlib import Path

import pytest

from httpdyno.servers.php_fpm.copy import Frame


@pytest.mark.parametrize(
    ("extension", "name"),
    [(".phtml", "in-force.phtml"), ("/../../x", "in-force.php"), ("", "in-force.php")],
)
def test_an_extension_of_theirs_leads_nowhere_else(extension, name):
    frame = Frame(folder=Path("/seat/php-fpm"), sockets=Path("/seat"))
    assert frame.script(extension) == Path("/seat/php-fpm", name)
