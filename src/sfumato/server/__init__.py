"""Where no user's picture ever comes: maps, retrieval, pose, and `localize` on one page."""
