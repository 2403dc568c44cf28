"""MSCCL XML: its tokenizer, reader, rules, dialects and events."""
