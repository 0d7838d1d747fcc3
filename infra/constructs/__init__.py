"""Small constructs that several stacks use."""
