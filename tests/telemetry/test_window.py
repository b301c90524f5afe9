from msgspec import structs

from httpdyno.model import Telemetry
from httpdyno.telemetry.collector import WindowTelemetry


class Told:
    """A collector that notes what it is asked, and tells one figure."""

    def __init__(self, **figures):
        self.figures, self.asked = figures, []

    def open(self):
        self.asked.append("open")

    def close(self, seen, *, is_last):
        self.asked.append("last" if is_last else "close")
        return structs.replace(seen, **self.figures)


def watched(collectors, arms):
    telemetry = WindowTelemetry(collectors, arms)
    for window in range(len(arms)):
        telemetry.on_edge(window, True)
        telemetry.on_edge(window, False)
    return [telemetry.of(window) for window in range(len(arms))]


def test_a_window_has_what_all_collectors_of_its_arms_server_tell():
    arms = [[Told(cpu_s=0.5), Told(steal_s=0.1)], [Told(cpu_s=0.25), Told(n_processes=3)]]
    assert watched(arms, [1, 0]) == [
        Telemetry(cpu_s=0.25, n_processes=3),
        Telemetry(cpu_s=0.5, steal_s=0.1),
    ]


def test_only_the_arm_that_is_loaded_is_read_and_knows_its_last_window():
    one, other = Told(), Told()
    watched([[one], [other]], [0, 1, 1, 0])
    assert one.asked == ["open", "close", "open", "last"]
    assert other.asked == ["open", "close", "open", "last"]


def test_a_server_that_nobody_reads_has_no_figures():
    assert watched([[]], [0]) == [Telemetry(cpu_s=0.0)]
