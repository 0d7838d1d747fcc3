"""Recall: four strategies at once, and what a session has seen (M)."""
