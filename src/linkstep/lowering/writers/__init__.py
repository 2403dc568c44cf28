"""Writers: what lowering made, printed as a runtime's file. They decide nothing."""
