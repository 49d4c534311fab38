use std::path::Path;

use waypost_project::{Error, Model, Origin, Project, Settings, Sources};

use crate::Case;

#[test]
fn flag_then_variable_then_file_then_default() {
    let config = "log:\n  level: warn\n";
    let level = |case: Case| {
        let settings = case.resolve().unwrap();
        (settings.log.level.clone(), settings.origin("log.level").unwrap().clone())
    };
    assert_eq!(level(Case::new("")), ("info".into(), Origin::Default));
    let (value, origin) = level(Case::new(config));
    assert_eq!(value, "warn");
    assert!(matches!(origin, Origin::Config(path) if path.ends_with(".waypost/config.yaml")));
    let case = Case::new(config).variable("WAYPOST_LOG_LEVEL", "debug");
    assert_eq!(level(case), ("debug".into(), Origin::Variable("WAYPOST_LOG_LEVEL".into())));
    let case = Case::new(config)
        .variable("WAYPOST_LOG_LEVEL", "debug")
        .flag("log.level", "--log-level", "error")
        .flag("log.level", "--set", "trace");
    assert_eq!(level(case), ("trace".into(), Origin::Flag("--set".into())), "the last flag wins");
    let case = Case::new(config).variable("WAYPOST_LOG_LEVEL", "");
    assert_eq!(level(case).0, "warn", "an empty variable is not set");
}

#[test]
fn every_setting_has_a_variable_and_a_row() {
    let settings = Case::new("").resolve().unwrap();
    let table = settings.table();
    for row in &table {
        assert_eq!(settings.origin(row.key), Some(&Origin::Default), "{}", row.key);
        if row.value.is_empty() {
            continue;
        }
        // The value in the table is one that its variable accepts, and it is read back unchanged.
        let again = Case::new("").variable(&row.variable, &row.value).resolve().unwrap();
        let same = again.table().into_iter().find(|table| table.key == row.key).unwrap();
        assert_eq!(same.value, row.value, "{}", row.key);
        assert_eq!(same.origin, Origin::Variable(row.variable.clone()), "{}", row.key);
    }
    assert!(table.len() > 25);
    assert_eq!(settings.origin("no.such"), None);
}

#[test]
fn wrong_flags_and_variables_are_named() {
    let wrong = |case: Case| match case.resolve() {
        Err(Error::Value { place, message }) => format!("{place}: {message}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        wrong(Case::new("").variable("WAYPOST_MODEL_FETCH", "maybe")),
        "WAYPOST_MODEL_FETCH: must be true or false, not \"maybe\""
    );
    assert_eq!(
        wrong(Case::new("").flag("listen", "--listen", "here")),
        "--listen: must be an IP address and a port such as 127.0.0.1:4747, not \"here\""
    );
    assert_eq!(
        wrong(Case::new("").flag("log.levels", "--set", "info")),
        "--set: unknown setting \"log.levels\"; did you mean \"log.level\"?"
    );
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_an_error() {
    use std::os::unix::ffi::OsStringExt as _;
    let value = std::ffi::OsString::from_vec(vec![0xff]);
    let case = Case::new("").variable("WAYPOST_URL", value);
    assert_eq!(case.resolve().unwrap_err().to_string(), "WAYPOST_URL: is not UTF-8");
}

#[test]
fn paths_start_from_where_they_were_written() {
    let case = Case::new("data_dir: store\ntoken_file: ~/token\n");
    let root = case.folder.path().canonicalize().unwrap();
    let settings = case.resolve().unwrap();
    assert_eq!(settings.data_dir, root.join("store"));
    assert_eq!(settings.token_file, Path::new("/home/someone/token"));
    assert_eq!(settings.model.cache_dir, Path::new("/home/someone/.cache/waypost/models"));

    let case = case.variable("WAYPOST_DATA_DIR", "store").flag("token_file", "--token-file", "/t");
    let settings = case.resolve().unwrap();
    assert_eq!(settings.data_dir, Path::new("/current/store"));
    assert_eq!(settings.token_file, Path::new("/t"));
}

#[test]
fn a_model_is_a_name_a_folder_or_none() {
    let model = |name: &str| {
        Case::new("").flag("model.name", "--model", name).resolve().unwrap().model.name
    };
    assert_eq!(model("all-MiniLM-L6-v2"), Model::Named("all-MiniLM-L6-v2".into()));
    assert_eq!(model("none"), Model::Off);
    assert_eq!(model("./mine"), Model::Folder("/current/mine".into()));
    assert_eq!(model("/models/mine"), Model::Folder("/models/mine".into()));
}

#[test]
fn the_url_is_the_socket_unless_one_is_given() {
    let case = Case::new("");
    let settings = case.resolve().unwrap();
    assert!(settings.socket.ends_with(".waypost/data/service.sock"));
    assert_eq!(settings.url, format!("unix:{}", settings.socket.display()));
    // Wherever the service listens on the network.
    let listening = Case::new("").flag("listen", "--listen", "127.0.0.1:1234").resolve().unwrap();
    assert!(listening.url.starts_with("unix:/"), "{}", listening.url);
    let moved = Case::new("data_dir: store\n").resolve().unwrap();
    assert!(moved.url.ends_with("/store/service.sock"), "{}", moved.url);
    for given in ["https://waypost.example", "http://127.0.0.1:1", "unix:/run/w.sock"] {
        let settings = Case::new("").flag("url", "--url", given).resolve().unwrap();
        assert_eq!(settings.url, given);
    }
    assert!(Case::new("").flag("url", "--url", "unix:w.sock").resolve().is_err());
}

#[test]
fn a_certificate_and_its_key_go_together() {
    let settings = Case::new("tls:\n  cert: a.pem\n  key: b.pem\n").resolve().unwrap();
    let (cert, key) = settings.tls.cert.zip(settings.tls.key).expect("both are given");
    assert!(cert.ends_with("a.pem") && key.ends_with("b.pem"));
    assert_eq!(Case::new("").resolve().unwrap().tls.cert, None);
    let error = Case::new("tls:\n  cert: a.pem\n").resolve().unwrap_err().to_string();
    assert!(error.contains("tls.cert and tls.key must both be set"), "{error}");
}

#[test]
fn listening_for_other_machines_has_to_be_allowed() {
    let check = |config: &str| Case::new(config).resolve().unwrap().check_listen();
    check("listen: 127.0.0.1:1\n").unwrap();
    check("listen: '[::1]:1'\n").unwrap();
    check("listen: 0.0.0.0:1\nallow_remote: true\n").unwrap();
    for open in ["0.0.0.0:1", "'[::]:1'", "192.0.2.1:1"] {
        let refused = check(&format!("listen: {open}\n")).unwrap_err().to_string();
        assert!(refused.contains("allow_remote"), "{refused}");
    }
}

#[test]
fn limits_that_do_not_go_together_are_refused() {
    let case = Case::new("limits:\n  body_bytes_max: 2MiB\n  bodies_bytes_max: 1MiB\n");
    assert!(matches!(case.resolve(), Err(Error::Conflict { .. })));
}

#[test]
fn a_user_without_a_home_keeps_models_beside_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path()).unwrap();
    let settings = Settings::resolve(&Sources::new(&project, folder.path(), &|_| None)).unwrap();
    assert_eq!(settings.model.cache_dir, project.dir().join("data/models"));
}
