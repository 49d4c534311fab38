//! Finds the project folder and resolves settings with their origin.
