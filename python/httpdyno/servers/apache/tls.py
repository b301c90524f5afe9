"""Which keys belong to which certificates, and what else of TLS a configuration names. Pure."""

import posixpath
from collections.abc import Mapping, Sequence

from httpdyno.servers.apache.directive import Directive, Section
from httpdyno.servers.apache.lines import words
from httpdyno.servers.stack.tls_files import FileUse, KeyPair, TlsFiles

_CERTIFICATE, _KEY = "sslcertificatefile", "sslcertificatekeyfile"
_BOTH = "sslproxymachinecertificatefile"
"""Certificates and their keys in one file, shown to backends."""
_OTHERS: Mapping[str, FileUse] = {
    "sslcertificatechainfile": "authorities",
    "sslcacertificatefile": "authorities",
    "sslcadnrequestfile": "authorities",
    "sslproxycacertificatefile": "authorities",
    "sslproxymachinecertificatechainfile": "authorities",
    "sslsessionticketkeyfile": "tickets",
}


def tls_files(directives: Sequence[Directive], server_root: str) -> TlsFiles:
    """Return the files by whole paths; without those whose names have variables."""
    paths: dict[tuple[str, Section | None], list[str]] = {}
    hosts: dict[Section | None, None] = {None: None}
    for each in directives:
        hosts[each.host] = None
        if each.name.lower() in {_CERTIFICATE, _KEY, _BOTH}:
            found = paths.setdefault((each.name.lower(), each.host), [])
            found += [posixpath.join(server_root, path) for path in words(each.arguments)[:1]]

    def named(name: str, host: Section | None) -> list[str]:
        return [*paths.get((name, host), ())]

    pairs: dict[KeyPair, None] = {}
    for host in hosts:
        certificates, keys = named(_CERTIFICATE, host), named(_KEY, host)
        if host is not None:
            # A host's first one is in place of the main server's first.
            certificates += named(_CERTIFICATE, None)[len(certificates) :]
            keys += named(_KEY, None)[len(keys) :]
        for index, certificate in enumerate(certificates):
            key = keys[index] if index < len(keys) else certificate
            pairs[KeyPair(key=key, certificate=certificate)] = None
        pairs |= {KeyPair(key=path, certificate=path): None for path in named(_BOTH, host)}
    others = {
        posixpath.join(server_root, path): _OTHERS[each.name.lower()]
        for each in directives
        if each.name.lower() in _OTHERS
        for path in words(each.arguments)[:1]
    }
    return TlsFiles(
        pairs=tuple(pair for pair in pairs if all(map(_is_fixed, pair.paths))),
        others={path: use for path, use in others.items() if _is_fixed(path)},
    )


def _is_fixed(path: str) -> bool:
    return "${" not in path and not path.startswith("pkcs11:")
