"""Amazon Neptune: the graph by openCypher over the HTTPS data API, and walks by Gremlin."""
