"""Layer 7: agents beside an agent. What they are, how many there may be, and what is said of them."""
