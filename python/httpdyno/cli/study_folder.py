"""What a new study's folder is called after what it is made of, whoever named that."""

import re
from pathlib import Path

_LONGEST = 100
_NAMELESS = "site"


def study_folder(name: str) -> Path:
    """Return a folder of this one, called after a host, a server or a source; never hidden.

    A host is what a configuration says, and its writer is to choose no other place.
    """
    plain = re.sub(r"[^\w.-]+", "-", name)[:_LONGEST].lstrip(".-").rstrip("-")
    return Path(plain or _NAMELESS)
