"""What a study says is worked out in a process of its own: templates and patterns of strangers.

`program` runs there, with bounds that the kernel keeps and no rights; `process` starts it and asks.

jinja2's immutable sandbox alone would not do: `'a' * 10**9`, a loop over a loop and a macro that
calls itself have no bound there. The process is nobody's, without environment, files or children.
The kernel ends it after 5 s of CPU time for one text; it has 512 MiB and writes 16 MiB at most. It
starts once for a command; a render costs 0.2 ms.
"""
