"""What ways of retrieving are made of: anchors, expansion, ranking, results, and the models they use."""
