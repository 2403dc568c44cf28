"""Finite groups: by the names recipes give them, and as multiplication tables."""

from linkstep.groups.named import Group, parse_group
from linkstep.groups.tables import TableGroup, groups_of_order, named_group, permutation_group

__all__ = ["Group", "TableGroup", "groups_of_order", "named_group", "parse_group", "permutation_group"]
