"""Long searches that fill the catalog."""
