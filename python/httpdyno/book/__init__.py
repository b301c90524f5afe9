"""The experiments of the founding documents: what they found, how to ask it again, what is found.

`experiments.toml` and `advice.toml` declare them; `run` runs them, in one of three ways (`pair`,
`count`, `script`), and keeps what comes (`result`); `text`, `page` and `document` show it. Only the
command line imports this package.
"""
