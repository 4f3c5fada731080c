"""What records remember and learn."""
