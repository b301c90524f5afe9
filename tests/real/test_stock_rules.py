"""What distributions install has no bad finding: a wrong call costs more than a missing one."""

import pytest
from tests.real.sites.stock import stock_apache, stock_nginx, stock_php

from httpdyno.report.inspect.facts import Surroundings
from httpdyno.report.inspect.page import Server
from httpdyno.servers.apache import Apache
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import inspected
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm

pytestmark = pytest.mark.real_server("nginx", "apache2", "openssl", "rotatelogs", "php-fpm8.2")

ADAPTERS = (Nginx(), Apache(), PhpFpm())
STOCK = {
    "nginx": lambda root: stock_nginx(root).front,
    "apache": lambda root: stock_apache(root).front,
    "mod_perl": lambda root: stock_apache(root, mpm="prefork").front,
    "php-fpm": stock_php,
}
N_CPUS = 4


@pytest.mark.parametrize("name", STOCK)
def test_a_stock_configuration_has_no_bad_finding(name, own_folders):
    root = own_folders / "s"
    root.mkdir()
    seen = inspected(Found(member=STOCK[name](root), open_files_limit="1024"), ADAPTERS)
    assert seen.trouble is None
    assert seen.survey is not None
    found = Server(seen=seen, surroundings=Surroundings(n_cpus=N_CPUS)).findings
    assert [each for each in found if each.severity in {"bad", "doubtful"}] == []
