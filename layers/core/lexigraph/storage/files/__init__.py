"""Files of a folder: documents."""
