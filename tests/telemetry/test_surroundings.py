"""What the kernel says around a server, by made-up files."""

import os

from httpdyno.telemetry import kernel
from httpdyno.telemetry.kernel import (
    counters,
    held_bytes,
    host_memory,
    limit_files,
    memory_limit_bytes,
    pressure,
    tcp_extensions,
)

PRESSURE = (
    "some avg10=12.50 avg60=1.00 avg300=0.00 total=2500000\n"
    "full avg10=0.25 avg60=0.00 avg300=0.00 total=1000\n"
)
NETSTAT = (
    "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 20 30\n"
    "IpExt: InNoRoutes InOctets\nIpExt: 5 6\n"
)
MOUNTS = """\
30 24 0:26 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
"""


def test_pressure_is_of_some_and_of_all():
    seen = pressure(PRESSURE)
    assert seen is not None
    assert (seen.some_ratio, seen.full_ratio, seen.some_s) == (0.125, 0.0025, 2.5)
    some = pressure(PRESSURE.splitlines()[0])
    assert some is not None
    assert some.full_ratio is None
    assert pressure("") is None


def test_counters_have_names():
    assert counters("pswpin 12\npswpout 3\n")["pswpin"] == 12
    assert counters("MemAvailable:   23 kB\nHugePages_Total: 0\n")["MemAvailable"] == 23
    seen = tcp_extensions(NETSTAT)
    assert (seen["ListenOverflows"], seen["ListenDrops"]) == (20, 30)
    assert tcp_extensions("") == {}


def test_limits_are_of_the_group_and_those_above():
    groups = "9:name=systemd:/\n4:memory:/web/shop\n0::/system.slice/shop.service\n"
    assert list(limit_files(MOUNTS, groups)) == [
        "/sys/fs/cgroup/unified/system.slice/shop.service/memory.max",
        "/sys/fs/cgroup/unified/system.slice/memory.max",
        "/sys/fs/cgroup/unified/memory.max",
        "/sys/fs/cgroup/memory/web/shop/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/web/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]


def test_a_part_of_the_groups_may_be_mounted():
    mounts = "31 30 0:27 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
    assert list(limit_files(mounts, "0::/docker/a/shop\n")) == [
        "/sys/fs/cgroup/shop/memory.max",
        "/sys/fs/cgroup/memory.max",
    ]
    assert list(limit_files(mounts, "0::/docker/ab\n")) == []


def test_what_others_in_its_group_hold_is_not_left_to_a_server(monkeypatch):
    box = "/sys/fs/cgroup/unified/box"
    texts = {
        "/proc/self/mountinfo": MOUNTS,
        "/proc/7/cgroup": "0::/box/shop\n",
        f"{box}/shop/memory.max": "max\n",
        f"{box}/memory.max": "1000\n",
        # A database is in the same container, and pages of files that may be taken away.
        f"{box}/memory.stat": "anon 500\nfile 900\nshmem 100\n",
    }
    monkeypatch.setattr(kernel, "text_of", lambda path: texts.get(path, ""))
    assert memory_limit_bytes(7, 200) == 1000 - (600 - 200)
    assert memory_limit_bytes(7, 600) == memory_limit_bytes(7, 650) == 1000
    texts[f"{box}/shop/memory.max"] = "500\n"
    assert memory_limit_bytes(7, 600) == 500
    texts[f"{box}/memory.stat"] = "anon 5000\n"
    assert memory_limit_bytes(7, 600) == 0


def test_what_a_group_holds_is_told_in_either_version():
    assert held_bytes("anon 500\nfile 900\nshmem 100\n") == 600
    assert held_bytes("cache 9\nrss 5\nshmem 1\ntotal_rss 50\ntotal_shmem 10\n") == 60
    assert held_bytes("") == 0


def test_this_machine_has_memory():
    seen = host_memory()
    assert seen.available_bytes is not None
    assert 0 < seen.available_bytes < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = memory_limit_bytes(os.getpid(), 0)
    assert limit is None or limit > 0


def test_available_memory_that_is_not_told_is_not_none_of_it(monkeypatch):
    texts = {"/proc/meminfo": "MemTotal: 900 kB\nMemFree: 100 kB\n"}
    monkeypatch.setattr(kernel, "text_of", lambda path: texts.get(path, ""))
    assert host_memory().available_bytes is None
    texts["/proc/meminfo"] += "MemAvailable: 0 kB\n"
    assert host_memory().available_bytes == 0
