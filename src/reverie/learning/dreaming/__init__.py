"""Layer 6: dreams consolidate memory across sessions, on a branch, without losing facts.

Read `dream.py` first. `gates`: when to dream. `dreamer`: a model that dreams. `tidy` and `log`: dreaming
without a model. `changes`: what a dream did, typed, and its merge, in which the live file wins. `facts`
and `checks`: what must not be lost. `judging`: is every memory still found? `review`: reports for people.
"""
