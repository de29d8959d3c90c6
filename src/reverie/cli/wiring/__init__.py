"""Commands that connect Reverie to other programs."""
