"""Plain text whose structure is in its layout: indents, blank lines, underlines, columns and pages."""
