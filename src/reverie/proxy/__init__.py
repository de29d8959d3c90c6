"""The proxy: memory, the layers, cache marks and the ledger for any client that can set a base URL."""
