"""Each number of `inspect` on a stock Debian Apache, prefork with mod_perl, is the kernel's."""

import json
import os
import shutil
import statistics
import subprocess
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from httpdyno.cli.app import run

stock = import_module("benches.eyes.server")
pytestmark = [
    pytest.mark.real_server("apache2"),
    pytest.mark.skipif(bool(stock.missing()), reason="without Debian's mod_perl"),
]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
WORDS = {"name", "is_parent", "state", "not_seen", "n_requests"}
"""What of a process in JSON is no number of the kernel's."""
SLACK = {
    **dict.fromkeys(("uss_bytes", "shared_bytes", "rss_bytes", "anonymous_pss_bytes"), 4),
    # Of libraries that other programs, which come and go, have too.
    **dict.fromkeys(("pss_bytes", "file_pss_bytes"), 64),
}
"""Pages by which a size may be off what was read right before and right after."""
ROOM_SLACK_BYTES = 256 << 20


def by_kernel(pid: int) -> dict[str, float]:
    """Return all that /proc says of a process, by the names of the JSON; read here anew."""
    folder = Path(f"/proc/{pid}")
    line = (folder / "stat").read_text()
    fields = line[line.rindex(")") + 2 :].split()
    status = dict(each.split(":", 1) for each in (folder / "status").read_text().splitlines())
    rolled = (folder / "smaps_rollup").read_text().splitlines()[1:]
    sizes = {each.split(":")[0]: 1024 * int(each.split()[1]) for each in rolled}
    user_s, system_s = (int(fields[n]) / TICKS_PER_S for n in (11, 12))
    return {
        "pid": pid,
        "parent": int(fields[1]),
        "minor_faults": int(fields[7]),
        "major_faults": int(fields[9]),
        "user_s": user_s,
        "system_s": system_s,
        "cpu_s": user_s + system_s,
        "n_threads": int(fields[17]),
        "age_s": time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / TICKS_PER_S,
        "pss_bytes": sizes["Pss"],
        "uss_bytes": sizes["Private_Clean"] + sizes["Private_Dirty"],
        "shared_bytes": sizes["Shared_Clean"] + sizes["Shared_Dirty"],
        "rss_bytes": sizes["Rss"],
        "anonymous_pss_bytes": sizes["Pss_Anon"] + sizes["Pss_Shmem"],
        "file_pss_bytes": sizes["Pss_File"],
        "swap_bytes": sizes["SwapPss"],
        "page_table_bytes": 1024 * int(status["VmPTE"].split()[0]),
        "voluntary_switches": int(status["voluntary_ctxt_switches"]),
        "involuntary_switches": int(status["nonvoluntary_ctxt_switches"]),
        "n_descriptors": len([*(folder / "fd").iterdir()]),
    }


def test_each_number_of_a_process_is_that_of_proc_and_each_of_the_pool_follows(capsys):
    with stock.apache() as server:
        assert run(["inspect", f"pid:{server.pid}", "--json", "-"]) == 0  # all is warm then
        pids = [each["pid"] for each in json.loads(capsys.readouterr().out)["workers"]]
        before, free_before = {pid: by_kernel(pid) for pid in pids}, available_bytes()
        assert run(["inspect", f"pid:{server.pid}", "--json", "-"]) == 0
        after, free_after = {pid: by_kernel(pid) for pid in pids}, available_bytes()
        listening = listened_at(server.port)
    document = json.loads(capsys.readouterr().out)
    workers, pool = document["workers"], document["pool"]
    assert [each["pid"] for each in workers] == pids
    assert len(pids) == 1 + stock.STOCK_WORKERS
    for told in workers:
        first, last = before[told["pid"]], after[told["pid"]]
        assert set(told) == {*first, *WORDS}
        # What mod_perl makes of it: the name by which it was started, cut at 15 characters.
        assert told["name"] in {"apache2", "/usr/sbin/apach"}
        assert told["is_parent"] is (told["pid"] == server.pid)
        for name, low in first.items():
            slack = SLACK.get(name, 0) * PAGE_BYTES + (0.01 if name == "age_s" else 0.0)
            ends = sorted((low, last[name]))
            if name == "n_descriptors":
                ends[1] += 1  # no list has the one that accept() sets aside
            assert ends[0] - slack <= told[name] <= ends[1] + slack, (name, told["pid"])
    sums_follow(pool, workers)
    bound_follows(pool, workers, (free_before, free_after))
    [queue] = pool["sockets"]["queues"]
    assert queue["address"] == f"127.0.0.1:{server.port}"
    assert listening in (None, (queue["waiting"], queue["backlog"]))


def sums_follow(pool: dict[str, Any], workers: list[dict[str, Any]]) -> None:
    parents = [each for each in workers if each["is_parent"]]
    children = [each for each in workers if not each["is_parent"]]
    for name in ("pss_bytes", "uss_bytes", "rss_bytes", "file_pss_bytes", "swap_bytes"):
        assert pool[name] == sum(each[name] for each in workers), name
    own = [each["uss_bytes"] for each in children]
    assert pool["shared_bytes"] == pool["pss_bytes"] - pool["uss_bytes"]
    assert pool["parent_pss_bytes"] == sum(each["pss_bytes"] for each in parents)
    assert pool["largest_uss_bytes"] == max(own)
    assert pool["median_uss_bytes"] == pytest.approx(statistics.median(own), abs=1)
    assert pool["largest_rss_bytes"] == max(each["rss_bytes"] for each in children)
    assert pool["n_workers"] == len(children)
    assert sum(pool["states"].values()) == len(workers)
    assert (pool["n_hidden"], pool["zombies"]) == (0, [])


def bound_follows(
    pool: dict[str, Any], workers: list[dict[str, Any]], free_bytes: tuple[int, int]
) -> None:
    """Work out (T − P) / u and the formulas beside it from the numbers of the processes."""
    bound = pool["bound"]
    children = [each for each in workers if not each["is_parent"]]
    largest = max(children, key=lambda each: (each["uss_bytes"], each["rss_bytes"]))
    room = bound["available_bytes"] - bound["reserve_bytes"]
    own, kernel = largest["uss_bytes"], bound["kernel_bytes"]
    once = pool["pss_bytes"] - sum(each["uss_bytes"] for each in children)
    assert (bound["once_bytes"], bound["each_bytes"]) == (once, own)
    assert kernel > largest["page_table_bytes"]
    assert bound["n"] == (room - once - kernel) // (own + kernel)
    assert bound["n_by_parent"] == (room - pool["parent_pss_bytes"]) // own
    assert bound["n_by_rss"] == room // pool["largest_rss_bytes"]
    assert bound["n_by_child"] == (room - largest["rss_bytes"]) // own
    assert bound["n_by_shared"] == (room - largest["shared_bytes"]) // own
    if bound["limited_by"].startswith("MemAvailable"):
        held = pool["pss_bytes"] - pool["file_pss_bytes"]
        low, high = sorted(free_bytes)
        assert low - ROOM_SLACK_BYTES <= bound["available_bytes"] - held <= high + ROOM_SLACK_BYTES


def available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(1024 * int(each.split()[1]) for each in lines if each.startswith("MemAvailable"))


def listened_at(port: int) -> tuple[int, int] | None:
    """Return how many wait at a port and how many may, as `ss` says it; None without that."""
    program = shutil.which("ss")
    if program is None:
        return None
    said = subprocess.run(
        [program, "-Hltn", f"sport = :{port}"], capture_output=True, text=True, check=True
    ).stdout.split()
    return int(said[1]), int(said[2])
