"""The doors: the command line, one file per command, and the report page."""
