//! An append-only durable log with group commit and verified recovery.
