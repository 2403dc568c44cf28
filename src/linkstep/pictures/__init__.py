"""Pictures of topologies, frontiers and timelines. Need matplotlib."""
