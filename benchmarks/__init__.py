"""What constviz costs, measured beside what it replaces."""
