"""The Python library behind `import reverie`: Memory, Context for a loop of your own, and Agent."""
