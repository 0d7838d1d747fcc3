"""What goes over the wire of several routes: names, limits, defaults and examples. That of one stands in its module."""
