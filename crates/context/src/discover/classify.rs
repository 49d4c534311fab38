//! Classifies files by path.

use super::prior::{is_packages, prior};
use super::{Class, Language, Skip, is_one_of};
use crate::Kind;

/// Extensions of documents.
const DOCUMENTS: &str = "md mdx markdown mdc rst txt adoc asciidoc org norg jrnl";

/// Instructions for agents, by whole name.
const INSTRUCTIONS: &str = "agents.md agents.override.md claude.md claude.local.md gemini.md \
                               copilot-instructions.md .cursorrules .clinerules .windsurfrules \
                               skill.md";

/// Written by package managers, but with the extension of a text.
const LOCKS: &str = "package-lock.json pnpm-lock.yaml npm-shrinkwrap.json bun.lock \
                        requirements.txt robots.txt pubspec.lock .terraform.lock.hcl";

/// Classifies a file by its path; [`Skip::Ignored`] if it is neither a document nor code. `own` is
/// the kind that the settings assign to it.
pub(super) fn classify(path: &str, own: Option<Kind>) -> Result<Class, Skip> {
    let lower = path.to_lowercase();
    let (parents, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    };
    if is_secret(name) {
        return Err(Skip::Secret);
    }
    let prior = prior(parents, name, stem, path);
    let document = |kind| Ok(Class { kind, language: None, prior });
    let code = |language| Ok(Class { kind: Kind::Module, language: Some(language), prior });
    match own {
        Some(Kind::Module) => return code(Language::of(name).ok_or(Skip::Ignored)?),
        Some(kind) => return document(kind),
        None => {}
    }
    if is_one_of(name, LOCKS) || name.contains(".min.") {
        return Err(Skip::Generated);
    }
    if is_one_of(name, INSTRUCTIONS) {
        return document(Kind::Instructions);
    }
    if matches!(extension, "yaml" | "yml" | "json") && is_interface(stem) {
        return document(Kind::Spec);
    }
    if let Some(language) = Language::of(name) {
        return code(language);
    }
    let is_document = is_one_of(extension, DOCUMENTS);
    // `README`, `NEWS` and the like have no extension, or one without a meaning: `README.in`.
    let named = by_name(stem, extension);
    if !is_document {
        return match named {
            Some(kind) if extension.is_empty() => document(kind),
            _ => Err(Skip::Ignored),
        };
    }
    if extension == "mdc" && !parents.contains(".cursor") {
        return Err(Skip::Ignored);
    }
    let packages = is_packages(parents, name, stem).then_some(Kind::Note);
    let kind = named
        .or(packages)
        .or_else(|| by_folder(parents, stem, extension))
        .or_else(|| is_dated(stem).then_some(Kind::Daily))
        .unwrap_or_else(|| if is_guide(parents, name) { Kind::Guide } else { Kind::Note });
    document(kind)
}

/// Whether a path is that of a document or of code, and not of settings of tools.
pub(crate) fn is_work(path: &str) -> bool {
    classify(path, None).is_ok_and(|classified| !classified.prior.settings)
}

/// The kind that the name of a document implies.
fn by_name(stem: &str, extension: &str) -> Option<Kind> {
    let plain: String = stem
        .chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .skip_while(char::is_ascii_digit)
        .collect();
    if is_one_of(&plain, "changelog changes history news releases releasenotes releasesnotes") {
        return Some(Kind::Changelog);
    }
    if extension == "jrnl"
        || ["worklog", "devlog", "handoff", "progress"].iter().any(|it| begins(stem, it))
        || stem == "notes"
    {
        return Some(Kind::Worklog);
    }
    if begins(stem, "readme") {
        return Some(Kind::Readme);
    }
    if ["architecture", "design", "prd"].iter().any(|it| begins(stem, it))
        || last_part(stem) == "spec"
    {
        return Some(Kind::Spec);
    }
    if ["roadmap", "vision", "strategy", "goals", "okr", "plan"].iter().any(|it| begins(stem, it)) {
        return Some(Kind::Strategy);
    }
    if ["contributing", "security", "hacking"].contains(&stem) {
        return Some(Kind::Guide);
    }
    None
}

/// Whether a stem is a word, its plural, or starts with it as a separate word.
pub(super) fn begins(stem: &str, word: &str) -> bool {
    stem.strip_prefix(word).is_some_and(|rest| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        !rest.starts_with(char::is_alphabetic)
    })
}

/// The kind that the nearest meaningful folder implies for a document.
fn by_folder(parents: &str, stem: &str, extension: &str) -> Option<Kind> {
    let mut direct = true;
    for part in parents.rsplit('/') {
        let kind = match part {
            "journal" | "journals" | "daily" | "dailies" | "daily notes" | "diary" | "standup"
            | "standups" => Some(Kind::Daily),
            "session" | "sessions" | "retro" | "retros" | "meeting" | "meetings" | ".journal" => {
                Some(Kind::Worklog)
            }
            "logs" if direct && extension != "txt" => Some(Kind::Worklog),
            "changelog" | "changelogs" | "changes" => Some(Kind::Changelog),
            "decisions" | "adr" | "adrs" | "architecture-decisions" => {
                let about = matches!(stem, "index" | "template" | "adr-template");
                (!about).then_some(Kind::Decision)
            }
            "spec" | "specs" | "rfc" | "rfcs" | "design" | "designs" | "proposals"
            | "requirements" => Some(Kind::Spec),
            "strategy" | "roadmap" | "plans" => Some(Kind::Strategy),
            "content" | "posts" | "_posts" | "blog" | "articles" | "drafts" | "copy" => {
                Some(Kind::Content)
            }
            ".claude" | ".agents" | ".clinerules" | ".windsurf" | ".codex" | ".gemini" | ".roo"
            | ".continue" | ".junie" | ".cursor" => Some(Kind::Instructions),
            _ => None,
        };
        if kind.is_some() {
            return kind;
        }
        direct = false;
    }
    None
}

/// Whether a stem is a date, optionally with a suffix.
pub(crate) fn is_dated(stem: &str) -> bool {
    let mut shape = String::new();
    for c in stem.chars().take(11) {
        shape.push(if c.is_ascii_digit() { '9' } else { c });
    }
    let ends = |at: usize| !shape[at..].starts_with(|c: char| c.is_alphanumeric());
    (shape.starts_with("9999-99-99") || shape.starts_with("9999_99_99")) && ends(10)
        || shape.starts_with("99999999") && ends(8)
}

fn is_guide(parents: &str, name: &str) -> bool {
    name == "llms.txt"
        || parents
            .split('/')
            .any(|part| matches!(part, "doc" | "docs" | "book" | "guide" | "guides" | ".github"))
}

/// Whether a stem is that of an OpenAPI document.
fn is_interface(stem: &str) -> bool {
    begins(stem, "openapi") || begins(stem, "swagger")
}

/// The part after the last dot of a stem, such as `spec` in `login.spec`.
fn last_part(stem: &str) -> &str {
    stem.rsplit_once('.').map_or("", |(_, it)| it)
}

/// Folders from which nothing is read.
pub(super) const SECRET_FOLDERS: &[&str] = &[".aws", ".ssh", ".gnupg"];

/// Whether a file is left out because of its name, which is in lower case. Tracked or not.
fn is_secret(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
    if name.starts_with(".env") {
        let example = ["example", "sample", "template", "dist"].contains(&extension);
        return !example && (name == ".env" || name.starts_with(".env.") || name == ".envrc");
    }
    let kept = is_one_of(extension, "pem key p12 pfx jks keystore kdbx tfvars ppk");
    let key = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"]
        .iter()
        .any(|it| name.starts_with(it) && extension != "pub");
    let known = is_one_of(name, ".npmrc .pypirc .netrc _netrc .htpasswd .pgpass .git-credentials");
    let json = extension == "json"
        && (name.contains("credentials") || name.starts_with("service-account"));
    // Code with that name is about secrets; secrets in it by mistake are replaced when it is read.
    let secrets = name.starts_with("secrets.") && !Language::of(name).is_some_and(is_code);
    kept || key
        || known
        || json
        || secrets
        || name.contains(".tfstate")
        || name.ends_with(".tfvars.json")
}

/// Whether a language is for programs, as opposed to settings.
fn is_code(language: Language) -> bool {
    !matches!(language, Language::Toml | Language::Yaml | Language::Json | Language::Terraform)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> Option<Kind> {
        classify(path, None).ok().map(|classified| classified.kind)
    }

    #[test]
    fn the_kind_follows_from_names_and_folders() {
        let cases = [
            ("2026-01-31.md", Kind::Daily),
            ("notes/2026_01_31-standup.md", Kind::Daily),
            ("20260131.txt", Kind::Daily),
            ("Journal/anything.org", Kind::Daily),
            ("a/daily notes/x.md", Kind::Daily),
            ("WORKLOG.md", Kind::Worklog),
            ("devlog-3.md", Kind::Worklog),
            ("NOTES.txt", Kind::Worklog),
            ("HANDOFF", Kind::Worklog),
            ("meetings/2026-01-31.md", Kind::Worklog),
            (".journal/x.md", Kind::Worklog),
            ("logs/tuesday.md", Kind::Worklog),
            ("work.jrnl", Kind::Worklog),
            ("CHANGELOG.md", Kind::Changelog),
            ("CHANGES", Kind::Changelog),
            ("00-RELEASENOTES", Kind::Changelog),
            ("RELEASE_NOTES.rst", Kind::Changelog),
            ("changelogs/0.1.x.md", Kind::Changelog),
            ("AGENTS.md", Kind::Instructions),
            ("sub/CLAUDE.md", Kind::Instructions),
            (".github/copilot-instructions.md", Kind::Instructions),
            (".cursor/rules/style.mdc", Kind::Instructions),
            (".claude/skills/x/SKILL.md", Kind::Instructions),
            ("docs/decisions/0001-store.md", Kind::Decision),
            ("doc/adr/ADR-7.md", Kind::Decision),
            ("docs/adr/template.md", Kind::Guide),
            ("docs/decisions/README.md", Kind::Readme),
            ("specs/login.md", Kind::Spec),
            ("docs/rfcs/12.rst", Kind::Spec),
            ("ARCHITECTURE.md", Kind::Spec),
            ("login.spec.md", Kind::Spec),
            ("api/openapi.yaml", Kind::Spec),
            ("ROADMAP.md", Kind::Strategy),
            ("OKRs.md", Kind::Strategy),
            ("plan-2026.md", Kind::Strategy),
            ("plans/q3.md", Kind::Strategy),
            ("content/launch.md", Kind::Content),
            ("blog/2026-01-31-launch.md", Kind::Content),
            ("README", Kind::Readme),
            ("README.de.md", Kind::Readme),
            ("docs/use.md", Kind::Guide),
            ("CONTRIBUTING.md", Kind::Guide),
            ("llms.txt", Kind::Guide),
            ("ideas.md", Kind::Note),
            ("planner.md", Kind::Note),
            ("docs/designing.md", Kind::Guide),
            ("src/lib.rs", Kind::Module),
            ("src/ChangelogReader.java", Kind::Module),
        ];
        for (path, expected) in cases {
            assert_eq!(kind(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_is_neither_document_nor_code_is_left_out() {
        for path in
            ["logo.svg", "data.csv", "a.ipynb", "x.snap", "a.js.map", "x.bin", "LICENSE", "a/b"]
        {
            assert_eq!(classify(path, None), Err(Skip::Ignored), "{path}");
        }
        for path in ["pnpm-lock.yaml", "web/jquery.min.js", "requirements.txt"] {
            assert_eq!(classify(path, None), Err(Skip::Generated), "{path}");
        }
        assert_eq!(classify("conf/secrets.yaml", None), Err(Skip::Secret));
    }

    #[test]
    fn tests_old_things_and_generated_files_are_marked() {
        let prior = |path| classify(path, None).expect("it is read").prior;
        for path in [
            "tests/a.rs",
            "a/fixtures/b.md",
            "pkg/a_test.go",
            "src/test/java/A.java",
            "ATest.java",
            "web/a.spec.ts",
            "src/intTest/java/A.java",
            "smoke-tests/A.java",
            "crates/cargo-test-support/src/lib.rs",
            "app/testFixtures/a.kt",
            "src/testutil.rs",
            "src/test_helpers.py",
            "src/log/tests.rs",
            "src/cart_unittest.cc",
            "src/cart-test.js",
            "src/TestCart.java",
            "src/TestUtils.java",
        ] {
            assert!(prior(path).test, "{path}");
        }
        let products = [
            "src/latest.rs",
            "src/latest.js",
            "src/Latest.java",
            "src/Contest.java",
            "src/Testament.java",
            "src/attest.rs",
            "tokio-test/src/io.rs",
            "src/contest/lib.rs",
        ];
        for path in products {
            assert!(!prior(path).test, "{path}");
        }
        assert!(!prior("docs/test-plan.md").test);
        assert!(prior("docs/archive/x.md").archived);
        assert!(prior("api/a.pb.go").generated);
    }

    #[test]
    fn settings_of_tools_are_marked() {
        for path in ["Cargo.toml", ".github/workflows/ci.yml", "build.gradle", "Makefile"] {
            assert!(classify(path, None).is_ok_and(|it| it.prior.settings), "{path}");
        }
        let packages = classify("requirements/dev.txt", None).expect("it is read");
        assert!(packages.prior.settings && packages.kind == Kind::Note);
        for path in ["src/config.rs", "requirements/login.md", "docs/settings.md"] {
            assert!(classify(path, None).is_ok_and(|it| !it.prior.settings), "{path}");
        }
    }

    #[test]
    fn the_settings_win() {
        let own = classify("inbox/x.md", Some(Kind::Daily)).expect("a document");
        assert_eq!(own.kind, Kind::Daily);
        assert_eq!(classify("inbox/.env", Some(Kind::Daily)), Err(Skip::Secret));
    }

    #[test]
    fn a_multibyte_stem_is_no_date() {
        assert!(!is_dated("2026-01-3\u{e9}"));
        assert!(!is_dated("99999999é"));
        assert!(is_dated("2026-01-31 é"));
    }

    #[test]
    fn names_of_secrets_are_known() {
        for name in [
            ".env",
            ".env.local",
            ".envrc",
            "server.pem",
            "tls.key",
            "a.p12",
            "a.pfx",
            "a.jks",
            "a.kdbx",
            "id_rsa",
            "id_ed25519.bak",
            ".npmrc",
            ".pypirc",
            ".netrc",
            "credentials.json",
            "gcp-credentials-prod.json",
            "service-account-1.json",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "prod.tfvars",
            "prod.auto.tfvars.json",
            "secrets.yaml",
            "secrets.toml",
            "secrets.txt",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            "environment.md",
            "id_rsa.pub",
            "credentials.md",
            "secrets.rs",
            "secrets.py",
            "keys.md",
            "main.tf",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
