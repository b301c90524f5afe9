"""What it took to open the connections of a load."""

from httpdyno.model.base import Record


class Connecting(Record, frozen=True, omit_defaults=True):
    """Handshakes and dropped connects over some windows.

    Those of the kernel are counted in the whole network namespace: on a machine that serves others
    too, some are theirs.
    """

    handshakes_full: int = 0
    """TLS handshakes for which the server signed."""
    handshakes_resumed: int = 0
    """Those that took up a former session."""
    listen_overflows: int = 0
    """Times that a connect found the listen queue full; one that tries again may count again."""
    syn_retransmits: int = 0
    """SYN and SYN ACK segments sent again, the first after a second."""
    completed: int = 0
    """Right answers of the same windows, in all of their length."""

    @property
    def has_tls(self) -> bool:
        """Whether there was any handshake."""
        return self.handshakes_full + self.handshakes_resumed > 0

    @property
    def handshakes_full_per_request(self) -> float:
        """Full handshakes for a right answer; 0 where there was none."""
        return self.handshakes_full / self.completed if self.completed else 0.0

    @property
    def handshakes_resumed_per_request(self) -> float:
        """The same of those that took up a session."""
        return self.handshakes_resumed / self.completed if self.completed else 0.0
