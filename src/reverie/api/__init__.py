"""The library: a memory, a context around somebody's own loop, and an agent. `import reverie` has it."""
