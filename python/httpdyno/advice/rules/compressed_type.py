"""Types whose files are compressed in themselves. Pure."""

import re

_PACKED = re.compile(
    r"image/(?:\*|jpe?g|png|gif|webp|avif|jxl|heic|heif)|video/.+|audio/(?:mpeg|ogg|aac|mp4|webm)"
    r"|font/woff2?|application/(?:zip|gzip|x-gzip|zstd)",
    re.IGNORECASE,
)
"""Of those left out some are: PDF and TIFF files are partly, sounds in `wav` are not."""


def is_compressed(kind: str) -> bool:
    """Whether compressing an answer of that type again saves nothing."""
    return _PACKED.fullmatch(kind) is not None
