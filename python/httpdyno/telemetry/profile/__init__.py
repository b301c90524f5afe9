"""What a server does while it is loaded, looked at from outside some times a second."""
