"""A listen queue that is full is told where the kernel would give a longer one."""

from tests.advice.rules.told import apache, evidence, gunicorn, named, php_fpm
from tests.rows import each_row

from httpdyno.host.sock_diag import ListenQueue

RULE = "full-queue"


def queued(waiting, backlog=511):
    return (ListenQueue(address="0.0.0.0:80", waiting=waiting, backlog=backlog),)


def test_connections_beyond_it_are_dropped_though_the_kernel_gives_more():
    facts = apache("Listen 80", queues=queued(512), somaxconn=4096)
    assert named(facts, RULE) == [
        "512 connections wait where 511 may, and those that come besides are dropped; the kernel "
        "gives 4,096"
    ]
    assert evidence(facts, RULE) == "512 of 511 waiting at 0.0.0.0:80; net.core.somaxconn 4,096"


@each_row(
    "facts",
    [
        apache("Listen 80", queues=queued(510), somaxconn=4096),
        # The kernel gives no more.
        apache("ListenBacklog 4096", queues=queued(513, 512), somaxconn=512),
        apache("Listen 80", queues=queued(512), somaxconn=None),
        gunicorn("", queues=(), somaxconn=4096),
        php_fpm("", queues=queued(0, 0), somaxconn=4096),
    ],
)
def test_a_queue_with_room_or_as_long_as_it_can_be_is_not_told(facts):
    assert named(facts, RULE) == []
