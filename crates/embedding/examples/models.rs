//! Downloads the default model to a cache folder and compares two texts by meaning:
//! `cargo run -p waypost-embedding --example models -- ~/.cache/waypost/models`.

use std::io::Write;
use std::path::PathBuf;

use waypost_embedding::{Model, fetch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a cache folder")?;
    let mut out = std::io::stderr().lock();
    let folder =
        fetch::ensure(fetch::DEFAULT_MODEL, &cache, &fetch::Options::default(), &mut |it| {
            let (done, total) = (it.done_bytes, it.total_bytes.unwrap_or(0));
            drop(writeln!(out, "{}: {} {done}/{total}", it.source.label(), it.message));
        })?;
    let model = Model::load(&folder)?;
    let vectors = model.embed(&["a lighthouse keeper", "the man who tends the light"])?;
    let likeness: f32 = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum();
    writeln!(out, "{model:?}\nlikeness {likeness:.3}")?;
    Ok(())
}
