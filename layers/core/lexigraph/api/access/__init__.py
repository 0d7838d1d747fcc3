"""Who asks and what they may: keys, principals, limits of requests, the word of a gateway."""
