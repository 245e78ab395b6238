"""Values inside of compiled functions, recorded call by call."""
