"""`benches/sampling` on a few workers: it says what it is to say, and leaves none behind."""

import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "benches" / "sampling"


def test_it_tells_the_share_of_a_core_in_each_way():
    command = [sys.executable, str(BENCH), "--workers", "3", "--samples", "2", "--every", "0.01"]
    seen = subprocess.run([*command, "--shared", "1"], check=True, capture_output=True, text=True)
    lines = seen.stdout.splitlines()
    ways = [line.split("3 workers")[0].strip() for line in lines]
    assert ways == ["all memory", "bounded", "with disk"]
    assert all(re.search(r": \d+\.\d\d% of one core ", line) for line in lines)
