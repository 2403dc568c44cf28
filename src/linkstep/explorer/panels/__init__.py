"""Panels: a module for each view, which makes its data of what was worked out."""
