"""What a network's files say, for each configuration; and what is no such text."""

import pytest
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import PrivateNetwork, Resolver
from httpdyno.servers.own_network.network import network_texts, own_hosts, services


def texts(knobs=None, hosts=(), **resolver):
    network = PrivateNetwork(hosts=hosts, resolver=Resolver(**resolver) if resolver else None)
    return network_texts(network, knobs or {}, {"site": "shop.example"})


@each_row(
    ("answers", "level", "first"),
    [
        ("at once", "", "answers 0"),
        ("never", "", "answers never"),
        ("50ms", "", "answers 0.05"),
        ("{{ knob.resolver }}", "1.5s", "answers 1.5"),
        ("{knob.resolver}", "never", "answers never"),
        ("{{ 'never' if knob.resolver == 'dead' else 'at once' }}", "dead", "answers never"),
    ],
)
def test_when_it_answers_may_be_a_knobs_to_say(answers, level, first):
    found = texts({"resolver": level}, answers=answers)
    assert found.table.splitlines() == [first]


def test_all_files_are_told_for_diffs_and_what_is_not_there_is_left_out():
    found = texts(
        {"n": 2},
        hosts=("127.0.0.{{ knob.n }} {{ setting.site }}", "{{ '' }}"),
        names={"client.example": ("127.0.0.1", "::1"), "nowhere.example": ()},
    )
    assert found.files() == {
        "network/hosts": "127.0.0.2 shop.example\n",
        "network/resolv.conf": "nameserver 127.0.0.53\noptions timeout:1 attempts:1\n",
        "network/resolver": "answers 0\nclient.example 127.0.0.1 ::1\nnowhere.example\n",
    }
    assert texts().files() == {}


def test_a_machine_knows_its_own_name_and_no_other():
    assert own_hosts(texts(hosts=("::1 six",)), "dyno") == "127.0.1.1 dyno\n::1 six\n"


@each_row(
    ("text", "expected"),
    [
        (
            "passwd: files\nhosts:  files mymachines resolve [!UNAVAIL=return] dns\nnetworks: db\n",
            "passwd: files\nhosts: files dns\nnetworks: db\n",
        ),
        ("passwd: files systemd", "passwd: files systemd\nhosts: files dns\n"),
        ("", "hosts: files dns\n"),
    ],
)
def test_names_are_looked_up_nowhere_else(text, expected):
    assert services(text) == expected


@each_row(
    ("given", "words"),
    [
        ({"answers": "soon"}, "network.resolver.answers` says `soon`; expected `at once`, `never`"),
        ({"answers": "-1s"}, "network.resolver.answers` says `-1s`"),
        ({"answers": "{{ knob.other }}"}, "knob.other"),
        ({"names": {"no name": ("127.0.0.1",)}}, "network.resolver.names` says `no name`"),
        ({"names": {"a.example": ("here",)}}, "network.resolver.names.a.example` says `here`"),
        ({"names": {"a.example": ("fe80::1%lo",)}}, "expected addresses such as"),
        ({"hosts": ("127.0.0.1",)}, r"network.hosts\[0\]` says `127.0.0.1`; expected an address"),
        ({"hosts": ("localhost 127.0.0.1",)}, "an address and its names"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(given, words):
    with pytest.raises(AdapterError, match=words):
        texts(**given)
