"""Making and keeping the vectors of records."""
