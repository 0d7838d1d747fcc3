"""Work that outlives its request: jobs, the process that does them, files sent for them, and how they ended."""
