"""Modules that Debian's nginx does not have built in, installed or unpacked in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UNPACKED = Path(__file__).parents[2] / "target/nginx-modules"
"""Where `make bench-layouts` puts them."""
_FILES = {
    "lua": ("ndk_http_module", "ngx_http_lua_module"),
    "stream": ("ngx_stream_module",),
}
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib/x86_64-linux-gnu")


@dataclass(frozen=True, kw_only=True)
class Modules:
    """Where they are: `/` where they are installed."""

    root: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """What nginx needs besides, to find the libraries that come with them."""
        if self.root == Path("/"):
            return {}
        folders = [str(self.root / each) for each in _LIBRARIES if (self.root / each).is_dir()]
        return {"LD_LIBRARY_PATH": ":".join(folders)}

    def has(self, needed: str) -> bool:
        """Whether what a layout needs is there."""
        return all(self._file(name).is_file() for name in _FILES[needed])

    def load(self, needed: str, main: Path) -> None:
        """Let a main file load what it needs, on lines of its own before the first one."""
        lines = "".join(f"load_module {self._file(name)};\n" for name in _FILES[needed])
        text = main.read_text()
        if needed == "lua" and self.root != Path("/"):
            path = f"    lua_package_path '{self.root}/usr/share/lua/5.1/?.lua;;';\n"
            text = text.replace("http {\n", f"http {{\n{path}", 1)
        main.write_text(lines + text)

    def _file(self, name: str) -> Path:
        return self.root / f"usr/lib/nginx/modules/{name}.so"


def found_modules() -> Modules:
    """Return those that are unpacked, else those that are installed."""
    return Modules(root=UNPACKED if UNPACKED.is_dir() else Path("/"))
