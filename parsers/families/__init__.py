"""One module for each family, holding its record."""
