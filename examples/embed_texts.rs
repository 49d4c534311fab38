//! Turns texts into vectors with the real model, which is downloaded to the user's cache.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use waypost_embedding::{Model, fetch};
use waypost_project::models_dir;

fn main() -> Result<()> {
    let cache = models_dir(&|name| std::env::var_os(name)).context("no cache folder")?;
    let options = fetch::Options::default();
    let folder = fetch::ensure(fetch::DEFAULT_MODEL, &cache, &options, &mut |_| {})?;
    let model = Model::load(&folder)?;

    let texts = ["a lighthouse keeper", "the man who tends the light", "a recipe for bread"];
    let vectors = model.embed(&texts)?;
    let cosine = |a: usize, b: usize| -> f32 {
        vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum()
    };
    writeln!(std::io::stdout(), "{}: {} dimensions", model.name(), model.dimensions())?;
    writeln!(std::io::stdout(), "{:.3}  {} | {}", cosine(0, 1), texts[0], texts[1])?;
    writeln!(std::io::stdout(), "{:.3}  {} | {}", cosine(0, 2), texts[0], texts[2])?;
    ensure!(cosine(0, 1) > cosine(0, 2), "the keeper is nearer than the bread");
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
