"""Layer 6: dreams consolidate memory across sessions, on a branch, without losing facts.

Read `dream.py` first. `gates`: when to dream. `changes`: what a dream did, typed. `facts` and
`checks`: what must not be lost. `probes`: is every memory still found? `merge`: three-way, the live
file wins. `tidy`: the dream without a model. `review`: reports for people. `prompts`: for models.
"""
