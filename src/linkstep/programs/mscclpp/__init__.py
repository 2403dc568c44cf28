"""MSCCL++ execution plans: reader, rules and events."""
