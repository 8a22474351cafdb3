"""Learning over blocks: what the number of blocks costs."""
