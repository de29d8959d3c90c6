"""The file format of memory: parsing, checking and rendering, without I/O."""
