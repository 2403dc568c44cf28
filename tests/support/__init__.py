"""What tests share: slow twins of kernels, hypothesis strategies, interpreters of runtime files, and fixtures."""
