use std::time::Duration;

use proptest::prelude::*;
use waypost_project::{LogFormat, Model};

use crate::Case;

#[test]
fn a_whole_file_is_read() {
    let case = Case::new(
        "\u{feff}# comment\n\
         listen: '[::1]:8080'\n\
         allow_remote: true\n\
         allowed_hosts: [waypost.example, \"proxy:8443\"]\n\
         allowed_origins:\n  - https://page.example\n\
         model:\n  name: ../models/mine\n  fetch: false\n  cache_dir: ~/models\n\
         log: {level: 'warn,waypost_memory=debug', format: json}\n\
         limits:\n  body_bytes_max: 1MiB\n  bodies_bytes_max: 67108864\n  store_time: 1500ms\n  reads_max: 3\n\
         search: {min_score: 0.25}\n\
         embedding:\n",
    );
    let settings = case.resolve().unwrap();
    let root = case.folder.path().canonicalize().unwrap();
    assert_eq!(settings.listen, "[::1]:8080".parse().unwrap());
    assert!(settings.url.starts_with("unix:/"), "{}", settings.url);
    assert!(settings.allow_remote);
    assert_eq!(settings.allowed_hosts, ["waypost.example", "proxy:8443"]);
    assert_eq!(settings.allowed_origins, ["https://page.example"]);
    assert_eq!(settings.model.name, Model::Folder(root.join("../models/mine")));
    assert!(!settings.model.fetch);
    assert_eq!(settings.model.cache_dir.to_str(), Some("/home/someone/models"));
    assert_eq!(settings.log.level, "warn,waypost_memory=debug");
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.limits.body_bytes_max, 1024 * 1024);
    assert_eq!(settings.limits.bodies_bytes_max, 64 * 1024 * 1024);
    assert_eq!(settings.limits.store_time, Duration::from_millis(1500));
    assert_eq!(settings.limits.reads_max, 3);
    assert_eq!(settings.search.min_score, 0.25);
    assert_eq!(settings.data_dir, root.join(".waypost/data"));
}

#[test]
fn an_empty_file_says_nothing() {
    for config in ["", "\n\n", "# only a comment\n", "---\n", "log:\n  # level: debug\n", "{}"] {
        assert_eq!(Case::new(config).resolve().unwrap().log.level, "info", "{config:?}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest() {
    for (config, line, said) in [
        (
            "listen: 127.0.0.1:1\nlissten: x\n",
            2,
            "unknown key \"lissten\"; did you mean \"listen\"?",
        ),
        ("log:\n  levle: debug\n", 2, "unknown key \"log.levle\"; did you mean \"level\"?"),
        ("\n\nlimit:\n  reads_max: 1\n", 3, "unknown key \"limit\"; did you mean \"limits\"?"),
        (
            "log:\n  format: text\n  reads_max: 2\n",
            3,
            "unknown key \"log.reads_max\"; write `reads_max:` below `limits:`",
        ),
        ("log.level: debug\n", 1, "unknown key \"log.level\"; write `level:` below `log:`"),
        ("dataDir: x\n", 1, "unknown key \"dataDir\"; did you mean \"data_dir\"?"),
        ("colour: blue\n", 1, "unknown key \"colour\"; docs/settings.md lists the keys"),
        (
            "log: {level: info, formta: json}\n",
            1,
            "unknown key \"log.formta\"; did you mean \"format\"?",
        ),
    ] {
        assert_eq!(Case::new(config).fault(), (line, said.to_owned()), "{config:?}");
    }
}

#[test]
fn a_wrong_value_is_told_with_its_line_and_what_would_be_right() {
    for (config, line, said) in [
        (
            "\nlisten: 4747\n",
            2,
            "listen must be an IP address and a port such as 127.0.0.1:4747, not 4747",
        ),
        (
            "listen: example.com:80\n",
            1,
            "listen must be an IP address and a port such as 127.0.0.1:4747, not \"example.com:80\"",
        ),
        (
            "listen:\n",
            1,
            "listen has no value; it must be an IP address and a port such as 127.0.0.1:4747, or remove the line",
        ),
        (
            "search:\n  min_score: 1.5\n",
            2,
            "search.min_score must be a number from 0 to 1, not \"1.5\"",
        ),
        ("model:\n  fetch: yes\n", 2, "model.fetch must be true or false, not \"yes\""),
        (
            "model:\n  name: [a]\n",
            2,
            "model.name must be a model's name, the path of its folder, or none, not a list",
        ),
        (
            "limits:\n  reads_max: 0\n",
            2,
            "limits.reads_max must be a whole number from 1 to 1024, not \"0\"",
        ),
        (
            "limits:\n  reads_max: 1.5\n",
            2,
            "limits.reads_max must be a whole number from 1 to 1024, not 1.5",
        ),
        (
            "limits:\n  reads_max: -1\n",
            2,
            "limits.reads_max must be a whole number from 1 to 1024, not \"-1\"",
        ),
        (
            "limits:\n  reads_max: '5'\n",
            2,
            "limits.reads_max must be a whole number from 1 to 1024, not \"5\"",
        ),
        (
            "limits:\n  body_bytes_max: 8 parsecs\n",
            2,
            "limits.body_bytes_max must be a size such as 8MiB, from 64KiB to 256MiB, not \"8 parsecs\"",
        ),
        (
            "limits:\n  body_bytes_max: 18446744073709551615TiB\n",
            2,
            "limits.body_bytes_max must be a size such as 8MiB, from 64KiB to 256MiB, not \"18446744073709551615TiB\"",
        ),
        (
            "limits:\n  store_time: 30\n",
            2,
            "limits.store_time must be a time such as 30s, 500ms, 2m or 7d, from 100ms to 1h, not 30",
        ),
        (
            "log:\n  level: loud\n",
            2,
            "log.level must be error, warn, info, debug or trace, optionally by target as in info,waypost_memory=debug, not \"loud\"",
        ),
        ("log:\n  format: {a: b}\n", 2, "log.format must be text or json, not nested keys"),
        (
            "allowed_hosts: one.example\n",
            1,
            "allowed_hosts must be a list of host names such as waypost.example:443, not \"one.example\"",
        ),
        (
            "allowed_origins: ['*']\n",
            1,
            "allowed_origins must be a list of origins such as https://waypost.example, not \"*\"",
        ),
        ("url: ftp://x\n", 1, "url must be a URL such as http://127.0.0.1:4747, not \"ftp://x\""),
        (
            "log:\n  level: debug\nlisten: 127.0.0.1:1\nlog:\n  format: json\n",
            4,
            "\"log\" is given twice; remove one",
        ),
        ("log:\n  level: debug\n  level: info\n", 3, "\"level\" is given twice; remove one"),
    ] {
        assert_eq!(Case::new(config).fault(), (line, said.to_owned()), "{config:?}");
    }
}

#[test]
fn what_is_no_yaml_of_settings_is_an_error_with_its_line() {
    for (config, line) in [
        ("listen: 127.0.0.1:1\n  bad indent: x\n", 2),
        ("log:\n\tlevel: info\n", 2),
        ("- listen\n", 1),
        ("just words\n", 1),
        ("log: info\n", 1),
        ("listen: 'unclosed\n", 2),
        ("? [a]\n: b\n", 1),
        ("log:\n  level: !!binary aGk=\n", 2),
        ("log: *nothing\n", 1),
    ] {
        let (at, message) = Case::new(config).fault();
        assert!(at.abs_diff(line) <= 1, "{config:?}: line {at}: {message}");
        assert!(!message.is_empty() && !message.contains("see the fault"), "{config:?}: {message}");
    }
    let (line, message) = Case::new(b"a\nlisten: \xff\n").fault();
    assert_eq!((line, message.as_str()), (2, "invalid UTF-8"));
    let (line, message) = Case::new(format!("# [\nlisten: {}", "[".repeat(60_000))).fault();
    assert_eq!((line, message.contains("more than 1000 [ and {")), (2, true), "{message}");
    let (line, message) = Case::new("%TAG !e! tag:x,1:\n".repeat(101)).fault();
    assert_eq!(
        (line, message.contains("more than 100 lines begin with %")),
        (101, true),
        "{message}"
    );
    let (_, message) = Case::new("#".repeat(1024 * 1024 + 1)).fault();
    assert!(message.contains("exceeds"), "{message}");
    let two = Case::new("listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n").fault();
    assert!(two.1.contains("more than one document"), "{two:?}");
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let hosts = "allowed_hosts:\n  - &a [x,x,x,x,x,x,x,x,x]\n  - &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  - &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  - &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  - &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n  - &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n  - &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    let (_, message) = Case::new(hosts).fault();
    assert!(message.contains("repetition limit"), "{message}");
    let (_, message) = Case::new(format!("allowed_hosts: {}", "[".repeat(5_000))).fault();
    assert!(!message.is_empty());
}

#[test]
fn an_error_shows_no_control_characters_and_not_all_of_a_long_value() {
    let (_, message) = Case::new("log:\n  level: \"\\e[31mred\"\n").fault();
    assert!(!message.contains('\u{1b}'), "{message:?}");
    let (_, message) = Case::new(format!("url: {}\n", "x".repeat(100_000))).fault();
    assert!(message.len() < 300, "{}", message.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_file_makes_it_panic(config in proptest::collection::vec(any::<u8>(), 0..200)) {
        let case = Case::new(config);
        if let Err(error) = case.resolve() {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_nearly_right_file_makes_it_panic(
        config in "(log|limits|listen|model)?: ?(\n  (level|name|reads_max): ?)?[-\\[\\]{}&*!|>'\"%@`#a-z0-9:, \n]{0,30}",
    ) {
        let case = Case::new(config);
        if let Err(error) = case.resolve() {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
