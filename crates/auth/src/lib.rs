//! Access tokens: scopes, expiry, revocation, constant-time verification.
