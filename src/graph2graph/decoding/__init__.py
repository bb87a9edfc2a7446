"""From scores to trees."""
