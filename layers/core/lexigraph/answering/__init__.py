"""From ranked statements to a cited answer."""
