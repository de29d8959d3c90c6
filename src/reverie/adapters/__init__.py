"""Reverie inside other agent frameworks: one module for each, which alone imports its framework."""
