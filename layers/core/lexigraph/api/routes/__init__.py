"""One module a contract, each with a ``router`` and what goes over its wire; ``api/app.py`` lists them."""
