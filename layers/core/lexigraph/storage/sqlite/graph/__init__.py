"""The embedded graph store; a file that serves the same methods bears the same name in storage/neptune."""
