"""What users of ab, wrk and hey type by habit, and what says the same here."""

HABITS = {
    "-k": "keep-alive is on unless `--no-keepalive` says otherwise; curl's -k is `--insecure` here",
    "-t": "ab's time limit is `-d 30s` here, wrk's threads are `--threads 2`",
    "-z": "hey's duration is `-d 30s` here",
    "-q": "hey's rate is `--rate 500/s` here, for all connections together",
    "-R": "wrk2's rate is `--rate 500/s` here",
    "-s": "ab's timeout is `--timeout 5s` here; what wrk scripts do, `--mix` and `--sessions` say",
    "-m": "the method is `-X PUT` here",
    "-i": "HEAD requests are `-X HEAD` here",
    "-p": "ab's body is `--data @FILE` here",
    "-u": "ab's PUT is `-X PUT --data @FILE` here",
    "-D": "hey's body is `--data @FILE` here",
    "-T": "the type of a body is `-H 'Content-Type: application/json'` here",
    "-C": "a cookie is `-H 'Cookie: NAME=VALUE'` here",
    "-A": "credentials are `-H 'Authorization: Basic …'` here",
    "-a": "credentials are `-H 'Authorization: Basic …'` here",
    "-l": "answers may have any length unless `--expect-length` says which",
    "-r": "errors never end a test; `--fail-if` says how many are too many",
    "-g": "ab's plot data are `--hgrm FILE` here, the course of the test `--csv FILE`",
    "-e": "ab's percentiles are `--hgrm FILE` here",
    "-o": "hey's output is `--json FILE` or `--csv FILE` here",
    "-w": "a page is `--html FILE` here",
    "-f": "the version of TLS is `--tls1.2` or `--tls1.3` here",
    "--latency": "percentiles are always shown; `--histogram` shows the whole distribution",
    "--script": "what wrk scripts do, `--mix`, `--url-file` and `--sessions` say here",
    "--vus": "users are connections: `-c 50`",
    "--disable-keepalive": "a connection for each request is `--no-keepalive` here",
}
"""By option: a sentence. It names options that there are, which a test holds."""


def habit(option: str) -> str:
    """Return what to say here instead of an option that there is not; empty where nobody knows."""
    return HABITS.get(option, "")
