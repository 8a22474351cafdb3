"""Attacks, each a module with a count: `python -m attack.storm --count 20000` from the folder tests (see `make attack`)."""
