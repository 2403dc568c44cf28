"""A runtime's file as one value, whatever its format: what it does, in which order, to which buffers."""
