"""Results kept on disk between runs. Nothing of an image lies here but what was learned from it."""
