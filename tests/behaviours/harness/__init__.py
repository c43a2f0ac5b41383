"""What the cases stand on: the running program, its stand-ins, and the tenants that each case makes for itself."""
