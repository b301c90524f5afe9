"""What a server may take at most, all of its processes together; the kernel enforces it."""

from httpdyno.model.base import Record
from httpdyno.model.written import Cpu, Duration


class ServerLimits(Record, frozen=True):
    """`limits` of a server: what all of its processes may take together, at most."""

    memory: str = ""
    """A size, such as `512MiB`; `{knob.NAME}` puts a knob in, whose `none` is no limit (not of a
    site's members). A server that runs into it is `infeasible`, whatever it had measured."""
    cpu: Cpu = ""
    """CPU seconds a second: `0.5` is half a core, `2` two whole ones. Knobs as in `memory`."""
    cpu_period_s: Duration = 0.1
    """In which its CPU seconds are given out; who has used them up stands still until the next one
    begins. Windows are lengthened to ten periods; systemd's is 100 ms, too."""

    def __bool__(self) -> bool:
        """Whether there may be any limit."""
        return bool(self.memory or self.cpu)

    @property
    def words(self) -> str:
        """Return it as it is written, for people: `memory 512MiB, cpu 0.5`."""
        texts = {"memory": self.memory, "cpu": self.cpu}
        return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


class LimitValues(Record, frozen=True):
    """Of one configuration, or as the kernel has them."""

    controllers: tuple[str, ...] = ()
    """What the study sets limits of, `memory`, `cpu`: configurations without a limit are in such
    groups, too, so that nothing but the limit sets them apart."""
    memory_bytes: int | None = None
    """None where there is no limit; so is the other one."""
    cpu: float | None = None
    """CPU seconds a second."""
    cpu_period_s: float = 0.1

    def __bool__(self) -> bool:
        """Whether the study sets any."""
        return bool(self.controllers)
