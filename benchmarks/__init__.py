"""Us and the peers side by side, in one process tree: `make bench` or `make bench NAME=core`."""
