"""`reverie ui`: one local page over the same functions as the command line."""
