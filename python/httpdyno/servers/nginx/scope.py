"""What is in force where: the whole, servers and locations, from outside in. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from httpdyno.servers.nginx.build import Build
from httpdyno.servers.nginx.include import tree_of
from httpdyno.servers.nginx.tree import Directive, flat

_PLAIN_NAME = re.compile(r"[\w.*-]*\w[\w.*-]*")
_NAMELESS = frozenset({"_", "localhost"})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scope:
    """A block that settings stand in."""

    kind: str
    """`main`, or the name of its block."""
    label: str
    """Empty for the whole server, else such as `shop.example` or `shop.example /img/`."""
    node: Directive | None
    """Its block; None for `main`."""
    parent: "Scope | None"
    written: tuple[Directive, ...]
    """What stands in it, an `include` as one."""
    by_name: Mapping[str, tuple[Directive, ...]]
    """What stands in it, with what is included: name → in order."""

    @property
    def directives(self) -> Iterator[Directive]:
        """What stands in it, with what is included."""
        return flat(self.written)

    def own(self, name: str) -> tuple[Directive, ...]:
        """Return the directives of that name which stand in this very scope."""
        return self.by_name.get(name, ())

    def in_force(self, name: str) -> tuple[Directive, ...]:
        """Return those of the innermost scope that sets it; empty where nothing does."""
        return self.own(name) or (() if self.parent is None else self.parent.in_force(name))

    def arguments(self, name: str) -> tuple[str, ...] | None:
        """Return the arguments in force of what can be set once; None where nothing sets it."""
        found = self.in_force(name)
        return found[-1].texts if found else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Conf:
    """A whole configuration."""

    texts: Mapping[str, bytes]
    build: Build
    main_file: str
    main: Scope
    scopes: tuple[Scope, ...]
    """All of them, outer before inner."""
    tree: tuple[Directive, ...]
    is_root: bool = True
    """Whether its master is root, which decides where a server without `listen` listens."""

    @property
    def events(self) -> Scope | None:
        """The block `events`."""
        return next((scope for scope in self.scopes if scope.kind == "events"), None)

    @property
    def http(self) -> Scope | None:
        """The block `http`; None where it serves other protocols only."""
        return next((scope for scope in self.scopes if scope.kind == "http"), None)

    def of_kind(self, *kinds: str) -> tuple[Scope, ...]:
        """Return the scopes of these kinds, in order."""
        return tuple(scope for scope in self.scopes if scope.kind in kinds)

    @property
    def servers(self) -> tuple[Scope, ...]:
        """The hosts, in order."""
        return self.of_kind("server")

    @property
    def hosts(self) -> tuple[Scope, ...]:
        """The servers that do more than to send visitors elsewhere; all where none does."""
        found = tuple(scope for scope in self.servers if not _only_redirects(scope))
        return found or self.servers

    def labelled(self, label: str) -> Scope | None:
        """Return the server or location of that name."""
        servers_and_locations = self.of_kind("server", "location")
        return next((scope for scope in servers_and_locations if scope.label == label), None)

    def place(self, name: str) -> Scope | None:
        """Return where a setting of `http` stands that holds for the whole.

        That is `http` itself where it is set there, or nowhere; else the hosts' own level, where
        one line says it for all of them: the only host's, or that of a snippet they all include.
        """
        http = self.http
        if http is None or http.own(name):
            return http
        own = [scope.own(name) for scope in self.hosts]
        origins = {directives[-1].origin for directives in own if directives}
        return self.hosts[0] if len(origins) == 1 and all(own) else http


def conf_of(texts: Mapping[str, bytes], build: Build, *, is_root: bool = True) -> Conf:
    """Return the configuration whose first file is the main one.

    Raises:
        AdapterError: It is not nginx's grammar, or a file is missing; says which and the line.
    """
    tree = tree_of(texts)
    main = _scope(None, None, "", tree)
    scopes = [main]
    for block in _blocks(main, ("events", "http")):
        scopes.append(block)
        if block.kind == "http":
            servers = list(_blocks(block, ("server", "upstream")))
            labels = iter(_labels([each for each in servers if each.kind == "server"]))
            for server in servers:
                label = next(labels) if server.kind == "server" else ""
                scopes += _within(_relabelled(server, label))
    return Conf(
        texts=texts,
        build=build,
        main_file=next(iter(texts)),
        main=main,
        scopes=tuple(scopes),
        tree=tree,
        is_root=is_root,
    )


def _blocks(outer: Scope, kinds: Sequence[str]) -> Iterator[Scope]:
    for directive in outer.directives:
        if directive.is_block and directive.name in kinds:
            yield _scope(directive, outer, outer.label, directive.block)


def _scope(
    node: Directive | None, parent: Scope | None, label: str, written: tuple[Directive, ...]
) -> Scope:
    by_name: dict[str, list[Directive]] = {}
    for directive in flat(written):
        by_name.setdefault(directive.name, []).append(directive)
    return Scope(
        kind="main" if node is None else node.name,
        label=label,
        node=node,
        parent=parent,
        written=written,
        by_name={name: tuple(all_of) for name, all_of in by_name.items()},
    )


def _within(scope: Scope) -> list[Scope]:
    found = [scope]
    for inner in _blocks(scope, ("location", "if", "limit_except")):
        label = scope.label
        if inner.kind == "location" and inner.node is not None:
            server = label.split(" ", 1)[0]
            label = " ".join((server, *inner.node.texts))
        found += _within(_relabelled(inner, label))
    return found


def _relabelled(scope: Scope, label: str) -> Scope:
    return replace(scope, label=label)


def _labels(servers: Sequence[Scope]) -> list[str]:
    """Name each server by its first name, with its port where several have the same one."""
    names = [_name(server) for server in servers]
    shared = {name for name, count in Counter(names).items() if count > 1}
    with_ports = [
        f"{name}:{_port(server)}" if name in shared else name
        for name, server in zip(names, servers, strict=True)
    ]
    labels: list[str] = []
    for label in with_ports:
        n_before = sum(each.split("#")[0] == label for each in labels)
        labels.append(f"{label}#{n_before + 1}" if n_before else label)
    return labels


def _name(server: Scope) -> str:
    for directive in server.own("server_name"):
        for text in directive.texts:
            if _PLAIN_NAME.fullmatch(text) and text not in _NAMELESS:
                return text
    listens = server.own("listen")
    first = listens[0].texts[0] if listens and listens[0].texts else "80"
    return f"*:{first}" if first.isdecimal() else first.replace(" ", "")


def _port(server: Scope) -> str:
    listens = server.own("listen")
    first = listens[0].texts[0] if listens and listens[0].texts else "80"
    return first.rpartition(":")[2] or first


def _only_redirects(server: Scope) -> bool:
    names = {directive.name for directive in server.directives}
    return "return" in names and "location" not in names
