"""What a real kernel tells of a process that has too little memory for what it reads."""

import subprocess
import sys
import time
from importlib import import_module

import pytest
from tests.conformance.collector import TOLD

from httpdyno.telemetry.account import account_found
from httpdyno.telemetry.collector import pressure_files, server_collectors

memory_group = import_module("benches.memory.group").memory_group

LIMIT_MIB = 24
READER = """
import mmap, os, random, sys
with open(sys.argv[1], "wb") as file:
    for _ in range(48):
        file.write(os.urandom(1 << 20))
    os.fsync(file.fileno())
with open(sys.argv[1], "rb") as file:
    seen = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
seen.madvise(mmap.MADV_RANDOM)
print("done", flush=True)
for _ in sys.stdin:
    for _ in range(4000):
        seen[random.randrange(len(seen))]
    print("done", flush=True)
"""
JOINED = 'echo $$ > {procs}; exec {python} -I -S -c "$0" {file}'
PATIENCE_S = 30.0


@pytest.mark.skipif(not pressure_files([]), reason="this kernel tells no pressure")
def test_what_is_read_again_and_again_for_want_of_memory_is_seen(tmp_path):
    with memory_group() as group:
        if group is None:
            pytest.skip("no memory control group can be made here")
        group.limit(LIMIT_MIB << 20)
        words = JOINED.format(procs=group.procs, python=sys.executable, file=tmp_path / "file")
        with subprocess.Popen(
            ["sh", "-c", words, READER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as reader:
            assert reader.stdout is not None
            assert reader.stdin is not None
            assert reader.stdout.readline() == "done\n"
            collectors = server_collectors(account_found([reader.pid]))
            deadline_s = time.monotonic() + PATIENCE_S
            seen = TOLD
            while not (seen is not TOLD and seen.memory_wait_s and seen.major_faults):
                assert time.monotonic() < deadline_s, seen
                for collector in collectors:
                    collector.open()
                reader.stdin.write("on\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == "done\n"
                for collector in collectors:
                    seen = collector.close(seen, is_last=False)
            reader.stdin.close()
