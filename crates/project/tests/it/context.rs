use waypost_project::{ContextSettings, WatchMode};

use crate::Case;

#[test]
fn everything_about_context_has_a_default() {
    let settings = Case::new("").resolve().unwrap().context;
    let git_ignore_file = Some("/home/someone/.config/git/ignore".into());
    assert_eq!(settings, ContextSettings { git_ignore_file, ..ContextSettings::default() });
    assert!(settings.enabled && settings.git && !settings.allow_home && !settings.is_home);
    assert_eq!((settings.files_max, settings.vectors_max), (50_000, 30_000));
    assert_eq!((settings.code_bytes_max, settings.document_bytes_max), (1 << 20, 2 << 20));
    assert_eq!(settings.text_bytes_max, 200 << 20);
    assert_eq!(settings.watch, WatchMode::Native);
}

#[test]
fn context_is_set_in_the_file_and_by_variables() {
    let case = Case::new(
        "context:\n  include: [vendor/ours/**]\n  exclude: [/drafts/, '!keep.md']\n  types: ['decision=notes/{a,b}/**']\n  watch: poll\n  git: false\n",
    )
    .variable("WAYPOST_CONTEXT_TYPES", "daily=log/*.txt, note=x=y.md")
    .variable("WAYPOST_CONTEXT_FILES_MAX", "7");
    let settings = case.resolve().unwrap().context;
    assert_eq!(settings.include, ["vendor/ours/**"]);
    assert_eq!(settings.exclude, ["/drafts/", "!keep.md"]);
    let pair = |name: &str, glob: &str| (name.to_owned(), glob.to_owned());
    assert_eq!(settings.types, [pair("daily", "log/*.txt"), pair("note", "x=y.md")]);
    assert_eq!((settings.watch, settings.git, settings.files_max), (WatchMode::Poll, false, 7));
}

#[test]
fn globs_stay_in_the_project() {
    for wrong in ["/etc/**", "../x/**", "a/../../b", "~/x", "", "a\\nb"] {
        let config = format!("context:\n  include: [\"{wrong}\"]\n");
        let (line, said) = Case::new(config).fault();
        assert!(line == 2 && said.contains("a list of globs relative to the project"), "{said}");
    }
    for wrong in ["decision", "=x/**", "Decision=x/**", "decision=../x"] {
        let config = format!("context:\n  types: ['{wrong}']\n");
        let (line, said) = Case::new(config).fault();
        assert!(line == 2 && said.contains("such as decision=notes/adr/**"), "{said}");
    }
    let (_, said) = Case::new("context:\n  watch: sometimes\n").fault();
    assert_eq!(said, "context.watch must be native or poll or off, not \"sometimes\"");
}

#[test]
fn a_home_is_known_as_one() {
    let case = Case::new("");
    let root = case.folder.path().canonicalize().unwrap();
    let is_home = |home: &std::path::Path| {
        let case = Case::new("");
        let own = case.folder.path().canonicalize().unwrap();
        let home = own.join(home);
        std::fs::create_dir_all(&home).unwrap();
        case.variable("HOME", home).resolve().unwrap().context.is_home
    };
    assert!(is_home(std::path::Path::new("")), "the project is the home");
    assert!(is_home(std::path::Path::new("users/me")), "the home is in the project");
    assert!(!is_home(&root), "the home is elsewhere");
    let nowhere = case.variable("HOME", "/no/such/folder").resolve().unwrap();
    assert!(!nowhere.context.is_home);
}
