"""For each level that a rule proposes, its adapter knows what to change."""

import pytest
from tests.advice.looked_at import USUAL, Recorded, httpd, nginx, php, proposed
from tests.servers.apache import sample as apache
from tests.servers.nginx.layouts import LAYOUTS
from tests.servers.php_fpm import sample as php_fpm

from httpdyno.advice.proposal import Shape
from httpdyno.servers.apache import Apache
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.stack.adapter import MemberFiles, ServerAdapter

CROWD = Shape(n_cpus=8, connections=3000, words=("is buffered to a temporary file",))
FEW = apache.PREFORK.replace("150", "5")


@pytest.mark.parametrize("shape", [USUAL, CROWD])
def test_each_level_is_an_edit(shape):
    sites: list[tuple[ServerAdapter, Recorded, MemberFiles]] = [
        *(
            (Nginx(), nginx(each.texts(), shape), MemberFiles(texts=each.texts()))
            for each in LAYOUTS
        ),
        (PhpFpm(), php(shape=shape), php_fpm.files()),
        *((Apache(), httpd(t, shape=shape), apache.files(t)) for t in (apache.EVENT, FEW)),
    ]
    n_levels = 0
    for adapter, site, files in sites:
        for each in proposed(site).values():
            for level in each.levels:
                changes = adapter.change_set(site.survey, files, {each.name: level})
                assert changes.edits or changes.added, f"{each.name}={level}"
                n_levels += 1
    assert n_levels > len(sites)
