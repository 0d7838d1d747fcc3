"""PDF: spans with their places, lines in reading order, blocks."""
