"""Writers: programs printed as runtimes' files. They decide nothing; ``linkstep.lowering.forms`` is their table."""
