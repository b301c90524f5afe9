"""What the kernel and the file system are asked: paths, processes, sockets, owners."""
