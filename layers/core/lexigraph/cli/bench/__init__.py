"""``lexigraph bench``: how good retrieval and answers are, and how fast; ``commands.py`` puts it together."""
