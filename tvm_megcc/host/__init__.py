"""What stands between a package and the machine that compiles or runs it."""
