"""Drawing and writing a report: DOT, layout, tables, text.  No torch in here."""
