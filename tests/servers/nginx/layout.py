"""A configuration of nginx as a test writes it.

Absolute paths are written `@/etc/…`: `texts()` has them as they are at home, `written()` puts a
layout below a folder, with its links, its certificates and the folders that it writes in.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_THEIR_USER = re.compile(r"\buser (nginx|www-data);")


@dataclass(frozen=True, kw_only=True)
class Layout:
    name: str
    main: str
    files: dict[str, str]
    """Path → text; the main file is among them."""
    links: dict[str, str] = field(default_factory=dict)
    """Path of a link → what it leads to."""
    needs: str = ""
    """A module that Debian's nginx does not have built in: nginx itself cannot test it."""

    def texts(self) -> dict[str, bytes]:
        """Return path → content with the main file first, links followed."""
        found = {path: text.replace("@/", "/").encode() for path, text in self.files.items()}
        found |= {link: found[target] for link, target in self.links.items()}
        return {self.main: found[self.main], **found}

    def written(self, folder: Path) -> Path:
        """Write it below a folder; return where the main file is."""
        for path, text in self.files.items():
            file = Path(f"{folder}{path}")
            file.parent.mkdir(parents=True, exist_ok=True)
            here = _THEIR_USER.sub("user nobody nogroup;", text).replace("@/", f"{folder}/")
            file.write_bytes(here.encode())
        for link, target in self.links.items():
            Path(f"{folder}{link}").parent.mkdir(parents=True, exist_ok=True)
            Path(f"{folder}{link}").symlink_to(f"{folder}{target}")
        for name in ("var/log/nginx", "run", "var/lib/nginx", "var/cache/nginx", "srv", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return Path(f"{folder}{self.main}")


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate and its key; return their files."""
    crt, key = folder / "any.crt", folder / "any.key"
    if not crt.exists():
        openssl = shutil.which("openssl")
        assert openssl is not None
        subprocess.run(
            [
                *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt"),
                *("ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=shop.example"),
                *("-keyout", str(key), "-out", str(crt)),
            ],
            check=True,
            capture_output=True,
        )
    return crt, key


TYPES = "types {\n    text/html html htm;\n    text/css css;\n    image/svg+xml svg;\n}\n"
FASTCGI = "fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n" + "".join(
    f"fastcgi_param {name} ${name.lower()};\n" for name in ("QUERY_STRING", "REQUEST_METHOD")
)
