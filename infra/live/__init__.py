"""A deployment in an account: checked before, made, tried, taken down. The emulator is driven by the same."""
