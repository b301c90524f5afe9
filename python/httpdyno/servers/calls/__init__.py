"""What a process asks of the kernel, told to another as it asks: for naming, never for deciding."""
