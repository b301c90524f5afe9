"""Where a study is measured: on servers under load, or by a program that repeats its bodies."""

from httpdyno.experiment.fragment_bench import FragmentBench
from httpdyno.experiment.server_bench import ServerBench
from httpdyno.model import Study
from httpdyno.servers.fragments import FragmentTarget
from httpdyno.servers.stack.stack import Stack


def bench_of(adapter: Stack, study: Study, *, seed: int) -> ServerBench | FragmentBench:
    """Return the bench of a study; to be used as a context manager.

    Args:
        adapter: Of its server, or its program.
        study: What is measured.
        seed: Of all that is drawn.
    """
    if isinstance(adapter, FragmentTarget):
        return FragmentBench(target=adapter, study=study, seed=seed)
    return ServerBench(adapter=adapter, study=study, seed=seed)
