"""Three whole studies, made of the examples of the reference."""

from httpdyno.report.shared.reference import examples

EXAMPLES = {name: f"\n{text}\n" for name, text in examples().items()}

SITE_KNOBS = """
[[knobs]]
name = "php:pm.max_children"
start = "as found"
levels = [10, 20]
"""
"""What a study of a site has in place of the other knobs."""

CODE_PARTS = """
[[knobs]]
name = "body"
start = "function"
levels = ["method"]
why = "objects are called so"

[[knobs]]
name = "hash_seed"          # bodies of one level share a process
start = 0
levels = [1]

[objective]
metric = "cpu_s_per_call"

[method]
kind = "table"
window = "30ms"
"""
"""What a study about code has in place of all others."""

_OF_SITES = (
    *("[site]", "[[site.members]]", "[site.members.limits]", "[[site.doors]]"),
    *("[[site.prepare]]", "[[site.finish]]"),
)
_OF_CODE = ("[fragments]", "[[fragments.files]]")
_OF_SERVERS = (
    *("[server]", "[server.limits]", "[[server.prepare]]", "[[server.finish]]"),
    *("[[server.files]]", "[[server.templates]]", "[[candidates]]"),
    *("[[companions]]", "[[companions.prepare]]", "[[companions.finish]]"),
    *("[[companions.files]]", "[[companions.templates]]", "[companions.limits]"),
    *("[network]", "[network.resolver]"),
)

SERVER = "".join(text for key, text in EXAMPLES.items() if key not in {*_OF_SITES, *_OF_CODE})
"""A whole study of a server, in the order of the reference."""

SITE = SITE_KNOBS.join(
    (
        "".join(text for key, text in EXAMPLES.items() if key in ("", *_OF_SITES)),
        "".join(
            text
            for key, text in EXAMPLES.items()
            if key not in ("", "[[knobs]]", *_OF_SITES, *_OF_SERVERS, *_OF_CODE)
        ),
    )
)
"""A whole study of a site."""

CODE = "".join(EXAMPLES[key] for key in ("", *_OF_CODE)) + CODE_PARTS
"""A whole study about code."""
