"""CPU schedule XML (docs/cpu-xml.md)."""
