"""Looking inside: what a profile says of a package, and reports for people and programs."""
