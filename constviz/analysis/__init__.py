"""Pure functions over the model: what changed between two captures.  No torch in here."""
