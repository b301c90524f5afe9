"""The knobs that are options of `listen`: of a socket, which several servers may share.

Only one `listen` of an address may say anything of its socket (`duplicate listen options`), so an
option goes where such a one stands already, else to the address's first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, Reading
from httpdyno.servers.nginx.listen import Listen, by_address
from httpdyno.servers.nginx.place import changed
from httpdyno.servers.nginx.quantity import level_of, text_of
from httpdyno.servers.nginx.scope import Conf
from httpdyno.servers.nginx.tunable import ROWS, Change, shared

SOMAXCONN = "net.core.somaxconn"


@dataclass(frozen=True, kw_only=True, slots=True)
class SocketOption:
    """A knob of the sockets that are like the first one, or of one address, then its scope."""

    info: KnobInfo
    option: str
    """The word in `listen`; with `=` and a number where it is no switch."""

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what the first address has, as the value of the whole, and each of several."""
        found = [self._reading(address, _holder(all_of)) for address, all_of in self._at(conf)]
        for reading in found[:1]:
            yield Reading(name=reading.name, scope="", text=reading.text, origin=reading.origin)
        if len(found) > 1:
            yield from found

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of one `listen` for each address."""
        wanted = {scope} if scope else self.alike(conf)
        found = [_holder(all_of) for address, all_of in self._at(conf) if address in wanted]
        if not found:
            raise AdapterError(
                f"`{self.info.name}` cannot be set: nothing listens at `{scope or 'TCP'}`"
            )
        edits: list[Edit] = []
        for holder in found:
            edits += self._edits(holder, level)
        done = list(dict.fromkeys(edits))
        return Change(
            edits=tuple(done),
            notes=shared(conf, done, self.info.name),
            # As it was found the kernel may cut it, and a copy of that is cut, too.
            sysctls={SOMAXCONN: str(level)} if done and self.option == "backlog" else None,
        )

    def alike(self, conf: Conf) -> tuple[str, ...]:
        """Return the addresses that are set as the first is: those of the knob without a scope."""
        texts = {address: self._text(_holder(all_of)) for address, all_of in self._at(conf)}
        first = next(iter(texts.values()), None)
        return tuple(address for address, text in texts.items() if text == first)

    def _at(self, conf: Conf) -> Iterable[tuple[str, list[Listen]]]:
        is_switch = self.info.kind == "boolean"
        # A unix socket has no `reuseport`, and where no `listen` is written none has an option.
        return [
            (address, sharing)
            for address, sharing in by_address(conf).items()
            if not (is_switch and address.startswith("unix:"))
            and _holder(sharing).directive is not None
        ]

    def _reading(self, address: str, holder: Listen) -> Reading:
        return Reading(
            name=self.info.name,
            scope=address,
            text=self._text(holder),
            origin=holder.origin if self._is_set(holder) else None,
        )

    def _is_set(self, holder: Listen) -> bool:
        return self.option in holder.options or holder.setting(self.option) is not None

    def _text(self, holder: Listen) -> str:
        if self.info.kind == "boolean":
            return "on" if self.option in holder.options else "off"
        return holder.setting(self.option) or str(self.info.default)

    def _edits(self, holder: Listen, level: Level) -> tuple[Edit, ...]:
        if level_of(self.info, self._text(holder)) == level:
            return ()
        words = [
            text
            for text in holder.options
            if text != self.option and not text.startswith(f"{self.option}=")
        ]
        if self.info.kind != "boolean":
            words.append(f"{self.option}={text_of(self.info, level)}")
        elif level:
            words.append(self.option)
        if holder.directive is None:
            return ()
        old = holder.directive.texts
        in_place = [
            f"{self.option}={text_of(self.info, level)}" if t.startswith(f"{self.option}=") else t
            for t in old
        ]
        new = in_place if in_place != list(old) else [old[0], *words]
        return changed(holder.directive, tuple(new))


def _holder(sharing: list[Listen]) -> Listen:
    """Return the `listen` that may say something of the socket."""
    return next((each for each in sharing if each.sets_socket), sharing[0])


SOCKET_OPTIONS = (
    SocketOption(
        info=ROWS["listen_backlog"].bare(),
        option="backlog",
    ),
    SocketOption(
        info=ROWS["listen_reuseport"].bare(),
        option="reuseport",
    ),
)
