"""The daemon behind the hooks: one a person, started when it is needed, gone when it is not."""
