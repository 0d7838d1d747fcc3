"""What cannot be run without an AWS account: counted on the real code over the stand-ins of the tests, then computed."""
