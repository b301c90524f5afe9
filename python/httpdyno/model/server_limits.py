"""What a server may take at most, all of its processes together; the kernel enforces it."""

from httpdyno.model.base import Record


class ServerLimits(Record, frozen=True):
    """As a study says it: texts that knobs may be in."""

    memory: str = ""
    """A size such as `512MiB`, or a template of one; empty, or a template of `none`: no limit."""
    cpu: str = ""
    """CPU seconds a second, such as `0.5` or `2`, or a template of that; likewise."""
    cpu_period_s: float = 0.1
    """In which its CPU seconds are given out and counted."""

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
