"""Stores: protocols, a factory by connection string, and one module a back end."""
