"""What a change of each knob costs a running Apache: each claim, against a graceful restart.

A knob that says `reload` has to be in force after SIGUSR1; one that says `restart` must not be, or
people would be told to restart for nothing. Where it can be seen from outside, it is seen there,
and not only read in the dump of the server.
"""

import http.client
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import pytest
from tests.real.sites.apache import ApacheTree, debian_tree
from tests.real.test_apache_site import SITE, answer, put, running, seat_in, surveyed

from httpdyno.model import Effective, Level, level_text
from httpdyno.report.shared.message import texts
from httpdyno.servers.apache.copy import DUMP, SiteInsight, knob_values, said_values, worker_pids
from httpdyno.servers.network.probe import Patience
from httpdyno.servers.process import ServerProcess

pytestmark = pytest.mark.real_server("apache2", "openssl")

WAIT_S = 10.0
LEVELS: dict[str, Level] = {
    "MaxRequestWorkers": 50,
    "ThreadsPerChild": 50,
    "spare_servers": "wide",
    "AsyncRequestWorkerFactor": 4,
    "MaxConnectionsPerChild": 9999,
    "ListenBacklog": 77,
    "KeepAlive": False,
    "KeepAliveTimeout": 3,
    "MaxKeepAliveRequests": 7,
    "EnableSendfile": True,
    "EnableMMAP": False,
    "htaccess": "inlined",
    "link_checks": "followed",
    "ExtendedStatus": False,
    "HostnameLookups": "Double",
    "LogLevel": "error",
    "BufferedLogs": True,
    "DeflateCompressionLevel": 1,
    "SSLSessionCache": "5242880",
    "SSLSessionCacheTimeout": 60,
}
THREADED = {"ThreadsPerChild"}
EVENT_ONLY = {"AsyncRequestWorkerFactor"}


@dataclass
class Running:
    """A server that runs, and the files that it was started with."""

    tree: ApacheTree
    process: ServerProcess
    insight: SiteInsight

    @property
    def log(self) -> str:
        return (self.tree.root / "var/log/apache2/error.log").read_text()

    def headers(self, path="/big.txt", encoding="gzip"):
        connection = http.client.HTTPConnection("127.0.0.1", self.tree.ports[0], timeout=10)
        # The server tells its limits only to those who ask to keep the connection.
        headers = {"Host": "shop.example", "Accept-Encoding": encoding, "Connection": "keep-alive"}
        connection.request("GET", path, headers=headers)
        said = connection.getresponse()
        body = said.read()
        connection.close()
        return said, body

    def reload(self):
        """Restart gracefully; return what it says meanwhile, once a new generation is up."""
        n_said, old = len(self.log), set(worker_pids(self.process.pid))
        os.kill(self.process.pid, signal.SIGUSR1)
        wait_for(lambda: "resuming normal operations" in self.log[n_said:])
        wait_for(lambda: not old & set(worker_pids(self.process.pid)))
        wait_for(lambda: len(worker_pids(self.process.pid)) > 0)
        return self.log[n_said:]

    def values(self, survey, words, asked):
        """Return each knob's value, as the server says it after a reload."""
        output = (self.tree.root / "seat" / DUMP).read_text()
        said = said_values(survey, output, words)
        values = knob_values(survey, said, SITE.knobs(survey), asked)
        return {**values, "ListenBacklog": in_force(self.insight)["ListenBacklog"]}


def in_force(insight):
    effective = insight.effective()
    assert isinstance(effective, Effective), effective
    return effective.values


def wait_for(is_so):
    patience = Patience(WAIT_S)
    while not is_so():
        assert not patience.is_over, "it did not come"
        sleep(0.01)


def keep_alive(server, field):
    said = server.headers()[0].headers.get("Keep-Alive", "")
    match = re.search(rf"{field}=(\d+)", said)
    return said if match is None else match[1]


def threads(server):
    pid = worker_pids(server.process.pid)[0]
    wait_for(lambda: n_threads(pid) > 2)
    sleep(0.2)
    return str(n_threads(pid) - 2)  # the listener, and the one that waits for signals


def n_threads(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"Threads:\s+(\d+)", status)[0])


def is_buffered(server):
    log = server.tree.root / "var/log/apache2/blog.log"
    n_before = log.stat().st_size
    answer(server.tree.ports[0], "blog.example", "/index.html")
    patience = Patience(0.5)
    while log.stat().st_size == n_before and not patience.is_over:
        sleep(0.01)
    return level_text(log.stat().st_size == n_before)


def overriding(server):
    file = server.tree.root / "srv/shop/.htaccess"
    text = file.read_text()
    file.write_text("nonsense here\n")
    status, _ = answer(server.tree.ports[0], "shop.example")
    file.write_text(text)
    return "found" if status == 500 else "inlined"


def links(server):
    """Return whether a link of another owner's is followed."""
    link = server.tree.root / "srv/shop/foreign.txt"
    if not link.is_symlink():
        link.symlink_to(server.tree.root / "srv/shop/big.txt")
        os.chown(link, 12345, 12345, follow_symlinks=False)
    status, _ = answer(server.tree.ports[0], "shop.example", "/foreign.txt")
    return "found" if status == 403 else "followed"


SEEN = {
    **({"link_checks": links} if os.geteuid() == 0 else {}),
    "ThreadsPerChild": threads,
    "KeepAlive": lambda server: level_text("Keep-Alive" in server.headers()[0].headers),
    "KeepAliveTimeout": lambda server: keep_alive(server, "timeout"),
    "MaxKeepAliveRequests": lambda server: keep_alive(server, "max"),
    "ExtendedStatus": lambda server: level_text(b"Accesses" in server.headers(STATUS, "")[1]),
    "BufferedLogs": is_buffered,
    "htaccess": overriding,
}
STATUS = "/server-status?auto"


@pytest.fixture(params=["event", "prefork"])
def tree(request, own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    tree = debian_tree(folder, mpm=request.param)
    text = "".join(f"{n * n} words that can be packed {n % 7}\n" for n in range(2000))
    (folder / "srv/shop/big.txt").write_text(text)
    shop = folder / "etc/apache2/sites-available/000-shop.conf"
    options = "AllowOverride All\n        Options SymLinksIfOwnerMatch"
    shop.write_text(shop.read_text().replace("AllowOverride All", options))
    return tree


def levels_of(survey):
    """Return a level for each knob that this server has, and none for others."""
    knobs = {name for name in SITE.knobs(survey) if "@" not in name}
    assert knobs <= set(LEVELS), "each knob's cost has to be shown"
    missing = set(LEVELS) - knobs
    assert missing in (set(), THREADED | EVENT_ONLY)
    found = {name: level for name, level in LEVELS.items() if name in knobs}
    if missing:
        found["MaxRequestWorkers"] = 12
    return found


def test_each_knob_costs_what_it_says(tree):
    survey = surveyed(tree, seat_in(tree.root))
    knobs = SITE.knobs(survey)
    claims, shown = {}, {}
    with running(tree, {}, survey) as (process, insight):
        server = Running(tree, process, insight)
        n_packed = len(server.headers()[1])
        found = in_force(insight)
        for name in SEEN.keys() & found.keys():
            assert SEEN[name](server) == found[name], name
        for name, level in levels_of(survey).items():
            asked = {name: level}
            before = put(tree, SITE.change_set(survey, SITE.read(tree.member), asked))
            values = server.values(survey, server.reload(), asked)
            if name in SEEN:
                values[name] = SEEN[name](server)
            if name == "DeflateCompressionLevel":
                assert len(server.headers()[1]) > n_packed
            for path, content in before.items():
                if Path(path).read_bytes() != content:
                    Path(path).write_bytes(content)
            claims[name] = knobs[name].cost
            took = values[name] == level_text(level)
            assert took or values[name] == found[name], f"{name} is {values[name]}"
            shown[name] = "reload" if took else "restart"
    assert shown == claims
    restarted = {name: LEVELS[name] for name, cost in claims.items() if cost == "restart"}
    with running(tree, restarted, survey) as (_, insight):
        values = in_force(insight)
        asked = {name: level_text(level) for name, level in restarted.items()}
        assert {name: values[name] for name in restarted} == asked


def test_limits_stay_at_a_graceful_restart(tree):
    survey = surveyed(tree, seat_in(tree.root))
    is_event = "ThreadsPerChild" in SITE.knobs(survey)
    asked: dict[str, Level] = {"MaxRequestWorkers": 600 if is_event else 300}
    if is_event:
        asked["ThreadsPerChild"] = 100
    with running(tree, {}, survey) as (process, insight):
        server = Running(tree, process, insight)
        changes = SITE.change_set(survey, SITE.read(tree.member), asked)
        assert all("takes a restart" in note for note in texts(changes.notes) if "Limit" in note)
        put(tree, changes)
        values = server.values(survey, server.reload(), asked)
        # 64 threads are its ThreadLimit, of which 16 processes have 600 and not 1024.
        expected = {"MaxRequestWorkers": "576", "ThreadsPerChild": "64"} if is_event else {}
        expected = expected or {"MaxRequestWorkers": "256"}
        assert {name: values[name] for name in asked} == expected
    with running(tree, {}) as (_, insight):
        values = in_force(insight)
        assert {name: values[name] for name in asked} == {n: str(v) for n, v in asked.items()}
