"""The figures of a look that verdicts rest on, each by a name with its unit; pure."""

from collections.abc import Iterator
from functools import cached_property

from httpdyno.model import AnswerTime, Look
from httpdyno.model.look import CompanionSeen
from httpdyno.reason import Reason, because


class Facts:
    """A look, as the tests ask it. Rates are per second of the look."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def at(self, *doing: str) -> float:
        """Return the mean number of workers that were at one of these."""
        return sum(self.look.doing.get(name, 0.0) for name in doing)

    @cached_property
    def workers(self) -> float:
        """Workers that live."""
        return self.look.workers - self.at("zombie")

    @property
    def has_workers(self) -> bool:
        """Whether any was there: those that ended are not, until others take their places."""
        return self.workers >= HARDLY_ANY

    @property
    def none_there(self) -> Reason:
        """Why no worker was there, of a look at which none was."""
        if n := self.at("zombie"):
            return because("advice.all_ended", n=n)
        return because("advice.none_answers")

    @cached_property
    def busy(self) -> float:
        """Workers that were at anything but waiting for work."""
        return self.workers - self.at("idle")

    @cached_property
    def are_all_busy(self) -> bool:
        """Whether hardly ever one was free."""
        return self.busy >= _ALL_BUSY * self.workers

    @cached_property
    def are_all_known_busy(self) -> bool:
        """Whether that is so of those alone of whom it is known what they are at."""
        return self.busy - self.at("other") >= _ALL_BUSY * self.workers

    @cached_property
    def waiting(self) -> float:
        """Connections in the listen queues, mean."""
        return sum(queue.mean for queue in self.look.queues)

    @cached_property
    def unserved(self) -> float:
        """Requests under way that no worker was at: they wait somewhere."""
        return max(self.waiting, self.look.clients - self.busy)

    @cached_property
    def kept(self) -> float:
        """Connections without a request: so many say nothing, at the least.

        One that sends slowly has a request under way, and one that is closed after its answer, and
        read from until its client closes it too, is established no more. Without counts of
        connections it is told by the requests: those in no queue may each have a worker that reads.
        """
        look = self.look
        if look.connections:
            return max(0.0, look.connections.get("established", 0.0) - look.clients)
        return max(0.0, self.at("client_read") - max(0.0, look.clients - self.waiting))

    @cached_property
    def untaken(self) -> float:
        """Workers that read from a client that has not taken its answer, at the least.

        Who lingers over a close reads until its client closes too. Of a connection that a server
        has closed the kernel says whether the client took all: then it waits no more for that to
        be acknowledged (fin-wait-1), only for the client's own end (fin-wait-2). Each of those that
        read has one connection, so at most as many as there are others may be at these; those that
        write have some of them.
        """
        by_state = self.look.connections
        open_ones = by_state.get("established", 0.0) - self.waiting
        accepted = max(0.0, open_ones - self.at("client_write"))
        others = accepted + sum(by_state.get(state, 0.0) for state in ("fin-wait-2", "close-wait"))
        sure = self.at("client_read") - others
        return max(0.0, min(by_state.get("fin-wait-1", 0.0), sure))

    @property
    def closing(self) -> float:
        """Connections that the server closed and the client did not yet; 0 for hardly any."""
        n = sum(self.look.connections.get(each, 0.0) for each in ("fin-wait-1", "fin-wait-2"))
        return n if n >= _SOME else 0.0

    @cached_property
    def serving(self) -> float:
        """Workers that were at a request, in place of waiting for one or for a silent client."""
        return self.busy - self.at("client_read")

    @cached_property
    def answer_time(self) -> AnswerTime | None:
        """What an answer takes of a worker, and at the client, by Little's law.

        None where too little was seen, or a request may be in service without a worker at it, as in
        an event loop, or with several, as behind a proxy or CGI.
        """
        look = self.look
        has_several = (
            self.serving > _ONE_EACH * look.clients
            or self.per_answer(self.own_births) >= _BIRTHS_PER_ANSWER
        )
        is_seen = self.serving * look.n_samples >= _SIGHTINGS and look.answers > 0
        if not is_seen or has_several or not self._has_each_a_worker:
            return None
        per_s = self.per_s(look.answers)
        worker_s = min(self.serving, look.clients) / per_s
        return AnswerTime(
            worker_s=worker_s, client_s=look.clients / per_s, split=self._split(worker_s)
        )

    def _split(self, worker_s: float) -> dict[str, float]:
        """Return for how long its worker was at each; empty where too few were seen."""
        at = {
            name: n
            for name, n in self.look.doing.items()
            if n > 0 and name not in {"idle", "client_read", "zombie"}
        }
        n_at = sum(at.values())
        if n_at * self.look.n_samples < _SPLIT_SIGHTINGS:
            return {}
        return {name: worker_s * n / n_at for name, n in at.items()}

    @property
    def _has_each_a_worker(self) -> bool:
        """Whether a request in service has a worker for itself, by all that can be seen."""
        look = self.look
        if self.serving >= _NEARLY * look.clients:
            return True
        if not self.are_all_busy:
            # Those under way without a worker may be in a loop that waits for them in one place.
            return False
        if look.connections:
            accepted = look.connections.get("established", 0.0) - self.waiting
            if accepted <= _ONE_EACH * self.workers + 1:
                return True
        # An event loop runs or waits for any event, and for nothing else.
        return self.serving - self.at("running") >= _BLOCKED * self.serving

    @cached_property
    def cpu_cores(self) -> float:
        """Cores that those used who answer."""
        return max(0.0, self.site_cores - sum(map(self.companion_cores, self.look.companions)))

    @cached_property
    def site_cores(self) -> float:
        """Cores that the server used with its companions, which have theirs from the same ones."""
        return self.look.cpu_s / self.look.seconds

    def companion_cores(self, companion: CompanionSeen) -> float:
        """Return the cores that one of those used who answer none of the load."""
        return companion.cpu_s / self.look.seconds

    @property
    def own_births(self) -> int:
        """Processes that came to those who answer."""
        return self.look.births - sum(each.births for each in self.look.companions)

    @property
    def own_deaths(self) -> int:
        """Processes of those who answer that went."""
        return self.look.deaths - sum(each.deaths for each in self.look.companions)

    @cached_property
    def spawn_cpu_s(self) -> float | None:
        """CPU time of processes that began and ended meanwhile; None where it is not known.

        What they used is in no account before their parent asks how they ended. Apache's does so
        once a second, so that a short look has all of it or none. By Little's law the dead that are
        seen, over those that go, are for what part of a look each of them waits.
        """
        unasked = self.at("zombie")
        is_late = unasked >= _SOME_DEAD and unasked > _MOST_UNASKED * self.own_deaths
        return None if is_late else self.look.spawn_cpu_s

    @cached_property
    def waiting_behind(self) -> float:
        """Connections in the listen queues of companions, mean."""
        return sum(each.waiting for each in self.look.companions)

    @cached_property
    def client_cores(self) -> float:
        """Cores that the load client used, on the same machine."""
        return self.look.client_cpu_s / self.look.seconds

    @cached_property
    def others_cores(self) -> float:
        """Cores that neither the server with its companions nor the load client used."""
        return max(0.0, self.look.host_busy - self.site_cores - self.client_cores)

    @cached_property
    def is_cpu_full(self) -> bool:
        """Whether what it may use was used up, by it or by all who use it too."""
        return any(used >= _FULL * cores > 0 for used, cores in self._used)

    @cached_property
    def has_cpu_left(self) -> bool:
        """Whether much of it was left: between the two nothing is said."""
        return all(used <= _LEFT * cores for used, cores in self._used)

    @cached_property
    def is_asleep(self) -> bool:
        """Whether all its workers are at requests and hardly one of them wants a core.

        Who waits for a core is ready to run: what others use of them is then not what is waited
        for, however much that is. A backend may be among those others.
        """
        is_light = self.site_cores <= _LEFT * self.look.cpus
        n_wanting = self.at("running") + self.at("backend")
        return self.are_all_known_busy and is_light and n_wanting <= _AWAKE * self.busy

    @property
    def _used(self) -> Iterator[tuple[float, float]]:
        """Yield the cores that were used of each that it may use: machine, its own, shared ones."""
        look = self.look
        if self.is_asleep:
            yield self.site_cores, look.cpus
            return
        yield look.host_busy, look.host_cpus
        yield self.site_cores, look.cpus
        if look.shared_cpus:
            yield self.shared_busy, look.shared_cpus

    @cached_property
    def shared_busy(self) -> float:
        """Cores that were used of those that the server and the load client share.

        Who else is in there is not always told; these two are.
        """
        return max(self.look.shared_busy, self.site_cores + self.client_cores)

    @cached_property
    def is_met(self) -> bool:
        """Whether a schedule had all of its answers."""
        look = self.look
        return 0 < look.offered <= look.answers * (1 + _MISSED)

    def per_answer(self, count: float) -> float:
        """Return so many for each answer; infinity without answers."""
        return count / self.look.answers if self.look.answers else float("inf")

    def per_s(self, count: float) -> float:
        """Return so many a second."""
        return count / self.look.seconds

    @property
    def cores(self) -> tuple[Reason, ...]:
        """What the machine's cores did."""
        look = self.look
        users = [because("advice.cores_of_server", n=self.cpu_cores)]
        used = ((each, self.companion_cores(each)) for each in look.companions)
        users += [
            because("advice.cores_of", n=n, who=called(each)) for each, n in used if n >= _SOME
        ]
        if self.client_cores:
            users.append(because("advice.cores_of_client", n=self.client_cores))
        found = [because("advice.cores", busy=look.host_busy, n=look.host_cpus, users=users)]
        if look.shared_cpus:
            found.append(because("advice.cores_shared", n=look.shared_cpus, busy=self.shared_busy))
        if self.are_cores_of_others:
            found.append(because("advice.cores_unwanted"))
        return tuple(found)

    @property
    def are_cores_of_others(self) -> bool:
        """Whether others used up the cores while its workers wanted none."""
        return self.is_asleep and self.look.host_busy >= _FULL * self.look.host_cpus > 0


_ALL_BUSY = 0.92
"""Of the workers, on average: fewer are free now and then."""
_FULL = 0.9
"""Of the cores: more is seldom seen, since client and server wait for each other."""
_LEFT = 0.8
_AWAKE = 0.2
"""Of the busy workers: so many are ready to run after each sleep where cores are wanted."""
_NEARLY = 0.8
_ONE_EACH = 1.1
"""For each: more is no chance of the samples."""
_BLOCKED = 0.2
_SOME = 0.1
HARDLY_ANY = 0.05
"""Workers, on average: with fewer it is as if none had been there."""
_SOME_DEAD = 0.5
_MOST_UNASKED = 0.2
"""Of a look: so much of what the dead used may be missing, or be of others before it."""
_SIGHTINGS = 10
_SPLIT_SIGHTINGS = 30
"""Of workers at requests: the standard error of a share of them is then a tenth of all at most."""
_BIRTHS_PER_ANSWER = 0.5
"""Processes for each answer: they wait for one another."""
_MISSED = 0.02
"""Of the requests that were due: less are those under way at the edges."""


_PRODUCTS = {
    "postgres": "PostgreSQL",
    "mysqld": "MySQL",
    "mariadbd": "MariaDB",
    "redis-server": "Redis",
    "valkey-server": "Valkey",
    "memcached": "memcached",
    "mongod": "MongoDB",
}
"""What programs are known as that call themselves otherwise."""


def called(companion: CompanionSeen) -> str:
    """Return what a companion is known as: `PostgreSQL`, else as the study calls it."""
    return _PRODUCTS.get(companion.program, f"`{companion.name}`")
