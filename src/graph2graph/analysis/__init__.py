"""What a parser gets wrong, and whether a difference between two parsers could be luck."""
