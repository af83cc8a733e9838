"""Lower bounds on the I/O cost, one module per bound."""
