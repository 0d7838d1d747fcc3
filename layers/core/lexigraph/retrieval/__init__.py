"""From a question to ranked statements: anchors, expansion, ranking, results."""
