"""The CDK application: what `cdk deploy` makes of Lexigraph."""
