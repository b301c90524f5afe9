from httpdyno.telemetry.process_tree import ProcessTree, TreeReading
from httpdyno.telemetry.window import WindowTelemetry


class ToldTree(ProcessTree):
    """A tree that says what it is told to."""

    def __init__(self, *cpu_s):
        super().__init__(1)
        self.readings = [TreeReading(cpu_s=each, n_processes=3) for each in cpu_s]

    def read(self):
        return self.readings.pop(0)

    def pss_bytes(self):
        return 4096


def test_a_window_has_what_its_arms_server_used_between_its_edges():
    telemetry = WindowTelemetry([ToldTree(1.0, 1.5), ToldTree(9.0, 9.25)], [0, 1])
    for window in (0, 1):
        telemetry.on_edge(window, True)
        telemetry.on_edge(window, False)
    assert [telemetry.of(window).cpu_s for window in (0, 1)] == [0.5, 0.25]
    assert telemetry.of(0).n_processes == 3


def test_memory_is_read_only_where_it_was_asked_for():
    telemetry = WindowTelemetry([ToldTree(0.0, 0.0, 0.0, 0.0)], [0, 0], pss_windows={1})
    for window in (0, 1):
        telemetry.on_edge(window, True)
        telemetry.on_edge(window, False)
    assert telemetry.of(0).pss_bytes is None
    assert telemetry.of(1).pss_bytes == 4096


def test_reaped_time_cut_to_ticks_never_makes_a_window_negative():
    telemetry = WindowTelemetry([ToldTree(1.0, 0.99)], [0])
    telemetry.on_edge(0, True)
    telemetry.on_edge(0, False)
    assert telemetry.of(0).cpu_s == 0.0
    assert telemetry.of(0).steal_s >= 0.0
