//! The benches measure what users get: one profile builds both.

use std::path::Path;

use crate::read;

/// The tables of a manifest that say how programs are built.
fn build_profiles(manifest: &str) -> Vec<String> {
    let text = read(Path::new(manifest));
    let mut lines = Vec::new();
    let mut is_profile = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_profile = line.starts_with("[profile.release") || line.starts_with("[profile.dist");
        }
        if is_profile && !line.is_empty() && !line.starts_with('#') {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[test]
fn the_comparison_with_peers_is_built_as_the_product_is() {
    let product = build_profiles("Cargo.toml");
    assert!(product.contains(&"[profile.release]".to_owned()), "{product:?}");
    assert_eq!(product, build_profiles("benches/peers/Cargo.toml"));
}

#[test]
fn few_packages_are_exceptions_of_the_profile() {
    let product = build_profiles("Cargo.toml");
    let exceptions = product.iter().filter(|line| line.contains(".package.")).count();
    assert!(exceptions <= 10, "{exceptions} exceptions: use a setting that fits more packages");
}
