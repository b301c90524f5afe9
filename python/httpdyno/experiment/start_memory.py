"""The memory of the servers of starts that were up together: what they took, and who lacked it."""

from collections.abc import Sequence

from httpdyno.experiment.machine_room import machine_room
from httpdyno.experiment.memory_shortage import blamed, memory_seen
from httpdyno.experiment.side_by_side import ArmSize
from httpdyno.experiment.start_arm import Arm
from httpdyno.experiment.start_limit import memory_limit_bytes
from httpdyno.model import Configuration, WindowRecord


def see_short_memory(
    configurations: Sequence[Configuration],
    starts: Sequence[Sequence[Arm]],
    windows: Sequence[WindowRecord],
) -> None:
    """See those as infeasible that lack memory by their own fault; all of them are still up."""
    if any(arm.running is not None and not arm.is_up for start in starts for arm in start):
        return  # what one that failed holds beside them nobody knows
    labels = [each.label() for each in configurations]
    seen = {
        label: memory_seen([w for w in windows if labels[w.arm] == label])
        for label in dict.fromkeys(labels[window.arm] for window in windows)
    }
    if not any(each.n_short for each in seen.values()):
        return
    limits = {
        each: memory_limit_bytes(
            [
                arm
                for start in starts
                for arm, label in zip(start, labels, strict=True)
                if label == each
            ]
        )
        for each in seen
    }
    for label, why in blamed(seen, machine_room().memory_bytes, limits).items():
        for start in starts:
            for number, arm in enumerate(start):
                if labels[number] == label and arm.is_up:
                    arm.fail("infeasible", why)


def sizes_of(arms: Sequence[Configuration], windows: Sequence[WindowRecord]) -> dict[str, ArmSize]:
    """Return what the servers took, the largest of each configuration."""
    sizes: dict[str, ArmSize] = {}
    for window in windows:
        seen = window.telemetry
        if seen.pss_bytes is not None:
            label = arms[window.arm].label()
            known = sizes.get(label, ArmSize(pss_bytes=0, n_processes=0))
            sizes[label] = ArmSize(
                pss_bytes=max(known.pss_bytes, seen.pss_bytes),
                n_processes=max(known.n_processes, seen.n_processes),
            )
    return sizes
