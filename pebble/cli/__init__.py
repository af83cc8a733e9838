"""The command line: one module per verb, the only part of the package that looks at its siblings."""
