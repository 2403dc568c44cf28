"""Ways to make a schedule."""
