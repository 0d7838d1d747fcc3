"""What goes over the wire, one module a contract: names, limits, defaults and examples."""
