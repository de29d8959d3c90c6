"""Layer 7 at work: agents beside the one that is talked to, and the letters between them."""
