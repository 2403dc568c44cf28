"""Plans: what a rank does for a collective, compiled of programs, and bound to arrays to be run."""
