"""Reverie inside other people's agents: one file for each framework, which alone imports it."""
