//! The layering rules of docs/architecture.md, checked against `cargo metadata` and the sources.
//!
//! A failure here means that a `Cargo.toml` gained an edge the architecture forbids. Change the
//! document first, then this table, then the manifest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{output_of, root};

/// Every library crate, and the workspace crates that it may name in `[dependencies]`.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("waypost-api", &["waypost-quote", "waypost-time"]),
    ("waypost-auth", &["waypost-time"]),
    ("waypost-browser", &[]),
    (
        "waypost-cli",
        &["waypost-api", "waypost-auth", "waypost-log", "waypost-project", "waypost-time"],
    ),
    ("waypost-cluster", &["waypost-journal", "waypost-log"]),
    ("waypost-context", &["waypost-ranking", "waypost-redact", "waypost-time"]),
    ("waypost-projection", &[]),
    ("waypost-embedding", &["waypost-encoder"]),
    ("waypost-encoder", &[]),
    ("waypost-events", &["waypost-projection", "waypost-log", "waypost-time"]),
    ("waypost-flows", &["waypost-events", "waypost-log", "waypost-quote", "waypost-time"]),
    ("waypost-journal", &[]),
    ("waypost-log", &[]),
    (
        "waypost-memory",
        &["waypost-api", "waypost-projection", "waypost-log", "waypost-ranking", "waypost-time"],
    ),
    ("waypost-mesh", &["waypost-time"]),
    ("waypost-project", &[]),
    ("waypost-quote", &[]),
    ("waypost-ranking", &[]),
    ("waypost-recall", &["waypost-log", "waypost-quote", "waypost-redact", "waypost-time"]),
    ("waypost-redact", &[]),
    ("waypost-time", &[]),
];

/// External crates that only the listed workspace crates may reach, directly or not, when each is
/// built with its own features.
const CONFINED: &[(&str, &[&str])] = &[
    ("axum", &["waypost-service"]),
    (
        "candle-core",
        &["waypost-embedding", "waypost-service", "waypost-benches", "waypost-examples"],
    ),
    ("clap", &["waypost-cli", "waypost-service", "waypost-ctl", "waypost-browser-cli"]),
    ("gix-index", &["waypost-context", "waypost-service", "waypost-benches-context"]),
    (
        "hyper",
        &[
            "waypost-benches-browser",
            "waypost-browser-cli",
            "waypost-ctl",
            "waypost-mesh",
            "waypost-service",
        ],
    ),
    ("ratatui", &["waypost-browser-cli"]),
    ("rmcp", &["waypost-service"]),
    (
        "sled",
        &[
            "waypost-projection",
            "waypost-events",
            "waypost-flows",
            "waypost-memory",
            "waypost-service",
            "waypost-benches",
            "waypost-examples",
        ],
    ),
    (
        "tokio",
        &[
            "waypost-benches-browser",
            "waypost-browser",
            "waypost-browser-cli",
            "waypost-cluster",
            "waypost-journal",
            "waypost-mesh",
            "waypost-service",
            "waypost-ctl",
        ],
    ),
    ("tokio-postgres", &["waypost-cluster", "waypost-journal", "waypost-service"]),
    ("tree-sitter", &["waypost-context", "waypost-service", "waypost-benches-context"]),
];

/// The packages that `Cargo.lock` may name. Raising it is a decision: say what the new ones bring
/// (docs/decisions/0011-fewer-dependencies.md). tokio-postgres is 16 of them. The latest are our own
/// crate `cli`, by which `ctl` lost the stores, and the two of `serde_with`, in place of an attribute
/// on each field that may be absent; before, postcard and cobs, which write and read the files that are
/// derived from the project.
const PACKAGES_MAX: usize = 577;

/// `serde_yaml` is archived: only these files name it, so that another crate can take its place.
const YAML: [&str; 2] = ["crates/flows/src/definition/yaml.rs", "crates/project/src/config.rs"];

#[test]
fn library_crates_import_only_what_the_architecture_allows() {
    let workspace = Workspace::load();
    for (name, allowed) in MAY_IMPORT {
        let found = &workspace.declared[*name];
        let extra: Vec<&String> = found
            .iter()
            .filter(|found| {
                workspace.declared.contains_key(*found) && !allowed.contains(&found.as_str())
            })
            .collect();
        assert!(extra.is_empty(), "{name} may import {allowed:?}, but also imports {extra:?}");
    }
}

#[test]
fn every_library_crate_has_a_layering_rule() {
    let listed: BTreeSet<&str> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    let workspace = Workspace::load();
    let found: BTreeSet<&str> = workspace.libraries.iter().map(String::as_str).collect();
    assert_eq!(found, listed, "crates/ on the left, MAY_IMPORT on the right");
}

/// `cargo metadata` unites the features of the whole workspace; `cargo tree` shows each package as
/// it is built alone.
#[test]
fn heavy_dependencies_stay_where_they_belong() {
    for package in Workspace::load().declared.keys() {
        let tree = output_of(
            env!("CARGO"),
            &[
                "tree",
                "--package",
                package,
                "--edges",
                "normal",
                "--prefix",
                "none",
                "--format",
                "{p}",
                "--offline",
                "--locked",
            ],
        );
        let reached: BTreeSet<&str> =
            tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(reached.contains(package.as_str()), "cargo tree shows {package} itself");
        for (external, allowed) in CONFINED {
            let may = allowed.contains(&package.as_str());
            assert!(may || !reached.contains(external), "{package} must not reach {external}");
        }
    }
}

#[test]
fn the_lock_file_stays_below_its_ceiling() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock is there");
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(packages <= PACKAGES_MAX, "{packages} packages, {PACKAGES_MAX} are allowed");
}

#[test]
fn yaml_is_read_in_two_files() {
    let named = output_of("git", &["grep", "--files-with-matches", "serde_yaml::", "--", "*.rs"]);
    let named: Vec<&str> = named.lines().filter(|line| !line.starts_with("tests/")).collect();
    assert_eq!(named, YAML);
}

/// The packages beside the workspace have lock files of their own, which a change in a crate of the
/// workspace can leave behind; `--locked` would refuse to build them.
#[test]
fn lock_files_beside_the_workspace_know_what_its_crates_need() {
    let workspace = Workspace::load();
    for file in ["benches/peers/Cargo.lock", "fuzz/Cargo.lock"] {
        let lock = std::fs::read_to_string(root().join(file)).expect("it is there");
        let mut seen = 0;
        for (name, locked) in locked_packages(&lock) {
            let Some(required) = workspace.required.get(name) else { continue };
            seen += 1;
            let missing: Vec<&String> =
                required.iter().filter(|required| !locked.contains(required.as_str())).collect();
            assert!(
                missing.is_empty(),
                "{file}: {name} also needs {missing:?}; build it and commit the file"
            );
        }
        assert!(seen > 0, "{file} names crates of the workspace");
    }
}

/// The parts of the service are built from what they need. One that imported the list of all parts
/// would tie them together again.
#[test]
fn parts_of_the_service_import_neither_app_nor_http() {
    let source = root().join("bins/service/src");
    let parts = ["context", "events", "flows", "memory", "mesh", "model"];
    let mut paths: Vec<_> = parts.map(|part| source.join(format!("{part}.rs"))).into();
    for part in parts {
        let folder = std::fs::read_dir(source.join(part)).expect("a folder of a part");
        paths.extend(folder.map(|folder| folder.expect("an entry").path()));
    }
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a file of a part");
        for above in ["app", "http", "lifecycle", "threads", "wiring"] {
            let imports = text.contains(&format!("crate::{above}"));
            assert!(!imports, "{} imports crate::{above}", path.display());
        }
    }
}

/// Each package of a lock file, and the names of what it depends on.
fn locked_packages(lock: &str) -> impl Iterator<Item = (&str, BTreeSet<&str>)> {
    lock.split("[[package]]").skip(1).filter_map(|package| {
        let name = package.lines().find_map(|line| line.strip_prefix("name = "))?.trim_matches('"');
        let dependencies = package.lines().filter_map(|line| line.strip_prefix(" \""));
        let names = dependencies.filter_map(|dependency| dependency.split([' ', '"']).next());
        Some((name, names.collect()))
    })
}

struct Workspace {
    /// Each package of the workspace to what it names in `[dependencies]`.
    declared: BTreeMap<String, BTreeSet<String>>,
    /// Each package to what of that it needs with any features.
    required: BTreeMap<String, BTreeSet<String>>,
    /// The packages in `crates/`.
    libraries: BTreeSet<String>,
}

impl Workspace {
    fn load() -> Self {
        let metadata = output_of(
            env!("CARGO"),
            &["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"],
        );
        let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let list = |value: &Value| value.as_array().expect("an array").clone();
        let library_root = format!("{}/crates/", text(&metadata["workspace_root"]));
        let mut workspace = Self {
            declared: BTreeMap::new(),
            required: BTreeMap::new(),
            libraries: BTreeSet::new(),
        };
        for package in list(&metadata["packages"]) {
            let name = text(&package["name"]);
            if text(&package["manifest_path"]).starts_with(&library_root) {
                workspace.libraries.insert(name.clone());
            }
            let dependencies = list(&package["dependencies"]);
            let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
            let always = normal
                .clone()
                .filter(|normal| normal["optional"] == false && normal["target"].is_null());
            let names = |value: &Value| text(&value["name"]);
            workspace.required.insert(name.clone(), always.map(names).collect());
            workspace.declared.insert(name, normal.map(names).collect());
        }
        workspace
    }
}
