"""Manual pages: what both sets of macros have in common, ``man(7)``, and ``mdoc(7)``."""
