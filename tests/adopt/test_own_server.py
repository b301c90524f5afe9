"""Which server of this machine a member is a copy of, and what is said of it."""

from msgspec import structs
from tests.rows import each_row

from httpdyno.adopt.own_server import served_by
from httpdyno.model import Member
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.process import ProcessFacts

FPM = Member(name="php", kind="php-fpm", main="/etc/php/8.2/fpm/php-fpm.conf")
SHOP = Member(name="shop", kind="gunicorn", command=("gunicorn", "shop.wsgi"))


def runs(member, pid, **more):
    root = ProcessFacts(pid=pid, parent=1, name=member.kind, started_at_s=0.0)
    return Found(member=member, root=root, **more)


OTHER = runs(structs.replace(FPM, main="/srv/fpm.conf"), 20)


@each_row(
    ("member", "servers", "pid"),
    [
        (FPM, [OTHER, runs(structs.replace(FPM, name="fpm"), 30)], 30),
        (SHOP, [OTHER, runs(SHOP, 40)], 40),
        (FPM, [OTHER], None),
        (FPM, [runs(FPM, 30, is_elsewhere=True)], None),
        (FPM, [runs(FPM, 30), runs(FPM, 31)], None),
        (structs.replace(SHOP, command=()), [runs(structs.replace(SHOP, command=()), 40)], None),
    ],
)
def test_a_member_is_of_the_one_server_that_runs_with_its_configuration(member, servers, pid):
    found = served_by(member, servers)
    assert (found.root.pid if found.root else None) == pid
    assert pid is not None or found == Found(member=member)
