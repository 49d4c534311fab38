//! Languages, and which files are written in them.

/// A programming language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the language of that name")]
pub enum Language {
    Bash,
    C,
    CSharp,
    Cpp,
    Go,
    Java,
    JavaScript,
    Php,
    Python,
    Ruby,
    Rust,
    Tsx,
    TypeScript,
    Clojure,
    CMake,
    Css,
    Dart,
    Docker,
    Elixir,
    Erlang,
    FSharp,
    GraphQl,
    Groovy,
    Haskell,
    Json,
    Julia,
    Kotlin,
    Lisp,
    Lua,
    Make,
    Nim,
    Nix,
    OCaml,
    ObjectiveC,
    Perl,
    PowerShell,
    Protobuf,
    R,
    Scala,
    Solidity,
    Sql,
    Svelte,
    Swift,
    Terraform,
    Toml,
    Vim,
    Vue,
    Yaml,
    Zig,
}

/// What is known about a language.
pub(crate) struct Row {
    language: Language,
    name: &'static str,
    extensions: &'static [&'static str],
    /// Whole file names, in lower case.
    files: &'static [&'static str],
    /// Starts of line comments.
    pub(crate) line: &'static [&'static str],
    /// Starts and ends of block comments.
    pub(crate) block: &'static [(&'static str, &'static str)],
}

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const DASHES: &[&str] = &["--"];
const STAR: &[(&str, &str)] = &[("/*", "*/")];
const XML: &[(&str, &str)] = &[("<!--", "-->")];

const fn row(
    language: Language,
    name: &'static str,
    extensions: &'static [&'static str],
    files: &'static [&'static str],
    (line, block): (&'static [&'static str], &'static [(&'static str, &'static str)]),
) -> Row {
    Row { language, name, extensions, files, line, block }
}

/// One row for each language, in the order of the enum.
#[rustfmt::skip]
static ROWS: [Row; 49] = {
    use Language as L;
    [
        row(L::Bash, "bash", &["sh", "bash", "bats", "zsh", "ksh"], &[], (HASH, &[])),
        row(L::C, "c", &["c", "h"], &[], (SLASHES, STAR)),
        row(L::CSharp, "c-sharp", &["cs"], &[], (SLASHES, STAR)),
        row(L::Cpp, "cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl", "cu", "cuh", "ino"], &[], (SLASHES, STAR)),
        row(L::Go, "go", &["go"], &[], (SLASHES, STAR)),
        row(L::Java, "java", &["java"], &[], (SLASHES, STAR)),
        row(L::JavaScript, "javascript", &["js", "mjs", "cjs", "jsx"], &[], (SLASHES, STAR)),
        row(L::Php, "php", &["php"], &[], (&["//", "#"], STAR)),
        row(L::Python, "python", &["py", "pyi", "pyw", "bzl", "star"], &["sconstruct", "sconscript", "build.bazel"], (HASH, &[("\"\"\"", "\"\"\""), ("'''", "'''")])),
        row(L::Ruby, "ruby", &["rb", "rake", "gemspec", "podspec"], &["gemfile", "rakefile", "vagrantfile", "podfile", "fastfile"], (HASH, &[("=begin", "=end")])),
        row(L::Rust, "rust", &["rs"], &[], (SLASHES, STAR)),
        row(L::Tsx, "tsx", &["tsx"], &[], (SLASHES, STAR)),
        row(L::TypeScript, "typescript", &["ts", "mts", "cts"], &[], (SLASHES, STAR)),
        row(L::Clojure, "clojure", &["clj", "cljs", "cljc"], &[], (&[";"], &[])),
        row(L::CMake, "cmake", &["cmake"], &["cmakelists.txt"], (HASH, &[("#[[", "]]")])),
        row(L::Css, "css", &["css", "scss", "sass", "less"], &[], (SLASHES, STAR)),
        row(L::Dart, "dart", &["dart"], &[], (SLASHES, STAR)),
        row(L::Docker, "docker", &["dockerfile"], &["dockerfile", "containerfile"], (HASH, &[])),
        row(L::Elixir, "elixir", &["ex", "exs"], &[], (HASH, &[])),
        row(L::Erlang, "erlang", &["erl", "hrl"], &[], (&["%"], &[])),
        row(L::FSharp, "f-sharp", &["fs", "fsi", "fsx"], &[], (SLASHES, &[("(*", "*)")])),
        row(L::GraphQl, "graphql", &["graphql", "gql"], &[], (HASH, &[("\"\"\"", "\"\"\"")])),
        row(L::Groovy, "groovy", &["groovy", "gradle"], &["jenkinsfile"], (SLASHES, STAR)),
        row(L::Haskell, "haskell", &["hs"], &[], (DASHES, &[("{-", "-}")])),
        row(L::Json, "json", &[], &["package.json", "composer.json", "deno.json"], (&[], &[])),
        row(L::Julia, "julia", &["jl"], &[], (HASH, &[("#=", "=#")])),
        row(L::Kotlin, "kotlin", &["kt", "kts"], &[], (SLASHES, STAR)),
        row(L::Lisp, "lisp", &["lisp", "el", "scm", "rkt"], &[], (&[";"], &[])),
        row(L::Lua, "lua", &["lua"], &[], (DASHES, &[("--[[", "]]")])),
        row(L::Make, "make", &["mk", "just"], &["makefile", "gnumakefile", "justfile"], (HASH, &[])),
        row(L::Nim, "nim", &["nim"], &[], (HASH, &[])),
        row(L::Nix, "nix", &["nix"], &[], (HASH, STAR)),
        row(L::OCaml, "ocaml", &["ml", "mli"], &[], (&[], &[("(*", "*)")])),
        row(L::ObjectiveC, "objective-c", &["m", "mm"], &[], (SLASHES, STAR)),
        row(L::Perl, "perl", &["pl", "pm"], &[], (HASH, &[])),
        row(L::PowerShell, "powershell", &["ps1", "psm1"], &[], (HASH, &[("<#", "#>")])),
        row(L::Protobuf, "protobuf", &["proto"], &[], (SLASHES, STAR)),
        row(L::R, "r", &["r"], &[], (HASH, &[])),
        row(L::Scala, "scala", &["scala", "sc"], &[], (SLASHES, STAR)),
        row(L::Solidity, "solidity", &["sol"], &[], (SLASHES, STAR)),
        row(L::Sql, "sql", &["sql"], &[], (DASHES, STAR)),
        row(L::Svelte, "svelte", &["svelte"], &[], (SLASHES, XML)),
        row(L::Swift, "swift", &["swift"], &[], (SLASHES, STAR)),
        row(L::Terraform, "terraform", &["tf", "hcl"], &[], (&["#", "//"], STAR)),
        row(L::Toml, "toml", &["toml"], &[], (HASH, &[])),
        row(L::Vim, "vim", &["vim"], &[], (&["\""], &[])),
        row(L::Vue, "vue", &["vue"], &[], (SLASHES, XML)),
        row(L::Yaml, "yaml", &["yml", "yaml"], &[], (HASH, &[])),
        row(L::Zig, "zig", &["zig"], &[], (SLASHES, &[])),
    ]
};

impl Language {
    /// All languages, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.language)
    }

    /// Its name, such as `rust`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether it configures tools, rather than programs.
    pub(super) fn is_settings(self) -> bool {
        matches!(
            self,
            Self::CMake | Self::Docker | Self::Json | Self::Make | Self::Toml | Self::Yaml
        )
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The language of a file by its name, which is in lower case.
    pub(super) fn of(name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
        ROWS.iter()
            .find(|row| row.files.contains(&name))
            .or_else(|| ROWS.iter().find(|row| row.extensions.contains(&extension)))
            .or_else(|| {
                let docker = name.starts_with("dockerfile.");
                ROWS.iter().find(|row| docker && row.language == Self::Docker)
            })
            .map(|row| row.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_enum() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.language as usize, at, "{}", row.name);
        }
    }

    #[test]
    fn a_name_says_the_language() {
        assert_eq!(Language::of("lib.rs"), Some(Language::Rust));
        assert_eq!(Language::of("cmakelists.txt"), Some(Language::CMake));
        assert_eq!(Language::of("dockerfile.dev"), Some(Language::Docker));
        assert_eq!(Language::of("data.json"), None);
        assert_eq!(Language::of("rs"), None);
    }
}
