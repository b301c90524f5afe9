"""What is used of CPUs that a server and who looks at it share."""

import os
import time

from httpdyno.telemetry.profile import profiler
from httpdyno.telemetry.profile.profiler import Shared, SharedCpus, used_s


def test_a_quota_that_both_are_below_is_shared_and_what_all_in_its_group_used_counts(
    tmp_path, monkeypatch
):
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 1000000\n")
    monkeypatch.setattr(profiler, "_groups_shared", lambda _: [(str(tmp_path), 2)])
    monkeypatch.setattr(time, "monotonic", iter([100.0, 102.0, 102.0]).__next__)
    looking = SharedCpus([])
    (tmp_path / "cpu.stat").write_text("usage_usec 1800000\n")
    assert looking.seen() == Shared(cpus=0.5, busy=0.4)
    # Where nobody tells what they used, it is shared all the same.
    (tmp_path / "cpu.stat").unlink()
    assert looking.seen() == Shared(cpus=0.5, busy=0.0)


def test_a_quota_of_the_whole_machine_or_more_is_none(tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text(f"{os.sysconf('SC_NPROCESSORS_ONLN') * 100000} 100000\n")
    monkeypatch.setattr(profiler, "_groups_shared", lambda _: [(str(tmp_path), 2)])
    assert SharedCpus([]).seen() == Shared()


def test_the_first_version_of_groups_tells_it_too(tmp_path):
    (tmp_path / "cpuacct.usage").write_text("1500000000\n")
    assert used_s(str(tmp_path), 1) == 1.5
    assert used_s(str(tmp_path / "none"), 1) is None
