"""Connections that heavy processes of prefork keep: by their size, and by what a page says."""

import pytest
from tests.advice.rules.told import apache, evidence, findings, named
from tests.rows import each_row

from httpdyno.advice.rules.facts import KeptWorkers, PoolFacts

MIB = 1 << 20
RULE = "kept-heavy-workers"
HELD = KeptWorkers(n_looks=10, n_workers=40.0, n_kept=16.0, n_idle=4.0)
TAKEN = KeptWorkers(n_looks=10, n_workers=40.0, n_kept=30.0, n_idle=0.2)
FREE = KeptWorkers(n_looks=10, n_workers=40.0, n_kept=1.0, n_idle=20.0)
QUIET = KeptWorkers(n_looks=10, n_workers=40.0, n_kept=0.0, n_idle=40.0)
TLS = "<VirtualHost *:443>\nServerName shop.example\nSSLEngine on\n</VirtualHost>"
HOST = "<VirtualHost *:80>\nServerName shop.example\nKeepAlive On\n</VirtualHost>"


def pool(each_mib=60, names=("apache2",)):
    return PoolFacts(n_workers=40, names=names, each_bytes=each_mib * MIB)


def found(facts):
    return [each for each in findings(facts) if each.name == RULE]


def proposed(facts):
    return [(each.knob, each.value) for finding in found(facts) for each in finding.proposes]


def test_what_a_page_shows_is_told_with_its_numbers():
    facts = apache("KeepAlive On", pool=pool(), kept=HELD)
    [one] = found(facts)
    assert one.what == (
        "40 % of the workers' time goes into kept connections that ask for nothing: 16.0 of 40.0 "
        "workers, each with up to 60.0 MiB of its own"
    )
    assert one.evidence == (
        "server-status, 10 samples: of 40.0 workers 16.0 in K, 4.0 idle; the largest of 40 "
        "workers; KeepAlive On, /etc/apache2/apache2.conf:1"
    )
    assert one.severity == "doubtful"
    assert proposed(facts) == [("KeepAlive", False)]


def test_it_is_bad_where_most_are_held_so_and_none_is_left():
    [one] = found(apache("KeepAlive On", kept=TAKEN))
    assert one.severity == "bad"
    assert one.what.endswith("30.0 of 40.0 workers, and next to none was idle")


@pytest.mark.parametrize("kept", [None, QUIET])
def test_of_heavy_processes_it_is_a_hint_where_nobody_saw_them_held(kept):
    facts = apache("Listen 80", pool=pool(), kept=kept)
    [one] = found(facts)
    assert (one.severity, one.what) == (
        "hint",
        "under prefork each kept connection holds a process for 5 s after its last answer, with up "
        "to 60.0 MiB of its own",
    )
    assert "KeepAlive is On where nothing sets it" in evidence(facts, RULE)
    assert proposed(facts) == [("KeepAlive", False)]


def test_with_tls_it_is_a_proxys_work():
    facts = apache(f"Listen 443\n{TLS}", pool=pool(), kept=HELD)
    [one] = found(facts)
    assert one.do.startswith("put a light proxy in front")
    assert one.proposes == ()


def test_a_host_that_keeps_them_is_named():
    facts = apache(f"Listen 80\nKeepAlive Off\n{HOST}", pool=pool())
    assert proposed(facts) == [("KeepAlive@shop.example", False)]


@each_row(
    "facts",
    [
        apache("KeepAlive Off", pool=pool(), kept=HELD),
        apache("KeepAlive On", mpm="event", pool=pool(), kept=HELD),
        apache("KeepAlive On", pool=pool(each_mib=2)),
        # Of what else runs below it nothing is known.
        apache("KeepAlive On", pool=pool(names=("apache2", "sh"))),
        # They are at work, and hardly one is held.
        apache("KeepAlive On", pool=pool(), kept=FREE),
        # What was not read may turn it off.
        apache("Listen 80\nInclude ${nowhere}/x.conf", pool=pool(), kept=HELD),
    ],
)
def test_where_nobody_is_held_or_it_is_not_known_nothing_is_said(facts):
    assert named(facts, RULE) == []
