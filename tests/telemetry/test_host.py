import os
import time

import msgspec
from tests.rows import each_row

import httpdyno
from httpdyno.model import HostFacts
from httpdyno.telemetry.host import cpu_name, host_facts
from httpdyno.telemetry.kernel import cpu_ticks, steal_s

X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R)  Xeon(R) Processor\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"


def test_facts_are_those_of_this_machine():
    facts = host_facts("server 1.2")
    assert facts.httpdyno == httpdyno.__version__
    assert facts.server == "server 1.2"
    assert facts.kernel == f"Linux {os.uname().release}"
    assert facts.cpu
    assert 1 <= facts.n_cpus <= (os.cpu_count() or 1)
    assert facts.memory_bytes > 2**26
    assert {"open_files", "processes"} <= set(facts.limits)
    assert all(load >= 0 for load in facts.load_average)


def test_facts_can_be_stored():
    facts = host_facts()
    assert msgspec.json.decode(msgspec.json.encode(facts), type=HostFacts) == facts


@each_row(("cpuinfo", "name"), [(X86, "Intel(R) Xeon(R) Processor"), (ARM, ""), ("", "")])
def test_the_processors_name_is_found_where_there_is_one(cpuinfo, name):
    assert cpu_name(cpuinfo) == name


def test_stolen_time_never_runs_backwards():
    first, second = steal_s(), steal_s()
    assert 0 <= first <= second


def test_ticks_of_all_cpus_go_on_and_idle_ones_are_among_them():
    idle, total = cpu_ticks()
    assert 0 < idle < total
    deadline_s = time.monotonic() + 20
    while cpu_ticks()[1] == total:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert cpu_ticks()[0] >= idle
