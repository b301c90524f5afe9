"""How often a connect to an arm found the listen queue full, or was sent again, in words."""

from collections.abc import Sequence

from httpdyno.model import ArmSummary

_OF_ALL = "as the kernel counts for the whole machine"
"""For the network namespace, to be exact, which has other servers and clients too."""


def dropped_text(arm: ArmSummary) -> str:
    """Return `the listen queue was full 312 times, 298 connects were sent again`; empty if none."""
    n_full, n_again = arm.connecting.listen_overflows, arm.connecting.syn_retransmits
    parts = [
        f"the listen queue was full {_times(n_full)}" * bool(n_full),
        f"{n_again:,} connect{'s were' if n_again > 1 else ' was'} sent again" * bool(n_again),
    ]
    return ", ".join(filter(None, parts))


def dropped_line(arms: Sequence[tuple[str, ArmSummary]]) -> str:
    """Return that of all arms, with what it is counted of; empty where there is nothing to tell."""
    told = [f"{name}: {text}" for name, arm in arms if (text := dropped_text(arm))]
    return f"{'; '.join(told)} ({_OF_ALL})" if told else ""


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"
