//! Makes an access token, checks it and revokes it.

use std::io::Write;
use std::time::SystemTime;

use anyhow::{Result, anyhow, ensure};
use waypost_auth::{NewToken, Rejected, Scope, Timestamp, TokenStore};

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let now = Timestamp::from(SystemTime::now());
    let store = TokenStore::open(&folder.path().join("tokens.json"))?;

    // The secret is shown once: the file keeps only its hash.
    let (secret, token) = store.create(NewToken::new([Scope::MemoryRead]), now)?;
    let verified = store.verify(secret.expose(), now).map_err(|error| anyhow!("{error:?}"))?;
    ensure!(verified.allows(Scope::MemoryRead), "it may read");
    ensure!(!verified.allows(Scope::MemoryWrite), "it may not write");
    writeln!(std::io::stdout(), "{} may {}", token.id, token.scopes)?;

    store.revoke(token.id, now)?;
    let rejected = store.verify(secret.expose(), now);
    ensure!(matches!(rejected, Err(Rejected::Revoked { .. })), "it is invalid at once");
    writeln!(std::io::stdout(), "{} was revoked", token.id)?;
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
