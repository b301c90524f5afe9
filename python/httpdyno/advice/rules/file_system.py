"""Types of file systems, as rules tell them apart."""

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs"})
MEMORY = frozenset({"tmpfs", "ramfs"})
