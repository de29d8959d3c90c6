"""Layer 6: memory is consolidated across sessions, on a branch, and nothing is lost by it.

Read `dream.py` first. `gates` (whether) · `changes` (what was done, typed) · `facts` and `checks`
(what must not vanish) · `probes` (is it still found?) · `reindex` · `merge` (three-way, the live
file wins) · `tidy` (the dream without a model) · `review` (what a person reads) · `prompts`.
"""
