"""What several methods start from, below all of them: links and networks as kernels see them, arrivals, budgets."""
