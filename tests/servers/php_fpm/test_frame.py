from pathlib import Path

from tests.rows import each_row

from httpdyno.servers.php_fpm.copy import Frame


@each_row(
    ("extension", "name"),
    [(".phtml", "in-force.phtml"), ("/../../x", "in-force.php"), ("", "in-force.php")],
)
def test_an_extension_of_theirs_leads_nowhere_else(extension, name):
    frame = Frame(folder=Path("/seat/php-fpm"), sockets=Path("/seat"))
    assert frame.script(extension) == Path("/seat/php-fpm", name)
