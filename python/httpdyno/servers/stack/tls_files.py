"""The files of TLS that a configuration names, whether they can be read or not. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FileUse = Literal["authorities", "groups", "password", "tickets", "staple"]
"""Certificates of others; parameters of Diffie-Hellman; the password of a key; keys of session
tickets; an answer of an OCSP responder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyPair:
    """A private key, and the certificate of its public key."""

    key: str
    """Its path as the server opens it."""
    certificate: str
    """Likewise; the same where both are in one file."""
    password: str = ""
    """The file that has the key's password; empty where none is named."""

    @property
    def paths(self) -> frozenset[str]:
        """The files that belong together: a new key needs a new certificate."""
        return frozenset({self.key, self.certificate})


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsFiles:
    """What a member's configuration names, by whole paths."""

    pairs: tuple[KeyPair, ...] = ()
    others: Mapping[str, FileUse] = field(default_factory=dict)
