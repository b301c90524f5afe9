"""What may be worth trying in nginx."""

from collections.abc import Iterator

from httpdyno.advice.proposal import KnobProposal, Offered


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a worker process for each core where there are fewer or far more.

    A worker is one thread that uses one core at most; more than there are cores switch.
    """
    found, n_cpus = offered.found("worker_processes"), offered.shape.n_cpus
    if found is None or str(found) in {"auto", str(n_cpus)}:
        return
    yield KnobProposal(
        name="worker_processes",
        start=found,
        levels=("auto",) if isinstance(found, str) else (n_cpus,),
        why=f"{found} worker processes on {n_cpus} cores: each uses one core at most",
        prior=0.8,
    )


RULES = (workers,)
"""All rules of this kind."""
