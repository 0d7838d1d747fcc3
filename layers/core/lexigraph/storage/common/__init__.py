"""What several back ends share."""
