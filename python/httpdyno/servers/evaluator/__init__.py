"""What a study says is worked out in a process of its own: templates and patterns of strangers.

`program` runs there, with bounds that the kernel keeps and no rights; `process` starts it and asks.
"""
