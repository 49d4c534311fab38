//! Variables of the environment that make programs run code or read settings.

/// Variables that decide which files shells and well-known programs run, or whose settings they read.
const NAMES: &[&str] = &[
    "ACKRC",
    "BAT_CONFIG_PATH",
    "BUNDLE_GEMFILE",
    "CDPATH",
    "COMPILER_PATH",
    "CONFIG_SITE",
    "CURL_HOME",
    "CVS_RSH",
    "DENO_DIR",
    "DOCKER_CONFIG",
    "EMACSLOADPATH",
    "ENV",
    "ERL_LIBS",
    "ERL_ZFLAGS",
    "EXINIT",
    "FCEDIT",
    "FPATH",
    "FZF_DEFAULT_COMMAND",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GETCONF_DIR",
    "GH_CONFIG_DIR",
    "GH_PATH",
    "GNUPGHOME",
    "GOENV",
    "GOFLAGS",
    "GROOVY_CONF",
    "GUILE_LOAD_COMPILED_PATH",
    "GUILE_LOAD_PATH",
    "HGMERGE",
    "HGRCPATH",
    "IFS",
    "JULIA_LOAD_PATH",
    "LESS",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSOPEN",
    "LUA_CPATH",
    "LUA_PATH",
    "LV2_PATH",
    "LYNX_CFG",
    "LYNX_CFG_PATH",
    "MAILCAPS",
    "MAILRC",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKESHELL",
    "MANOPT",
    "MFLAGS",
    "MYSQL_HOME",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NVIM_APPNAME",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PARALLEL",
    "PATH",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PSQLRC",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "RIPGREP_CONFIG_PATH",
    "RUSTC",
    "RUSTDOC",
    "R_ENVIRON",
    "R_PROFILE",
    "SCREENRC",
    "SHELL",
    "SHELLOPTS",
    "SVN_SSH",
    "SYSTEM_CONFIG_FILE",
    "TAR_RSH",
    "TCLLIBPATH",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "VISUAL",
    "WGETRC",
    "WINEPREFIX",
    "ZDOTDIR",
    "ZIPOPT",
];

/// Beginnings of names that belong to one program, and the harmless names among them; one that ends
/// with `_` is a beginning, too.
const FAMILIES: &[(&str, &[&str])] = &[
    ("ANSIBLE_", &["ANSIBLE_FORCE_COLOR", "ANSIBLE_NOCOLOR"]),
    ("AWK", &[]),
    ("BASH", &[]),
    (
        "CARGO_",
        &[
            "CARGO_INCREMENTAL",
            "CARGO_NET_OFFLINE",
            "CARGO_PROFILE_",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_TARGET_DIR",
            "CARGO_TERM_",
        ],
    ),
    ("DYLD_", &[]),
    ("GIO_", &[]),
    (
        "GIT_",
        &[
            "GIT_ADVICE",
            "GIT_AUTHOR_",
            "GIT_CEILING_DIRECTORIES",
            "GIT_COMMITTER_",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_DEFAULT_HASH",
            "GIT_FLUSH",
            "GIT_INDEX_FILE",
            "GIT_LFS_SKIP_SMUDGE",
            "GIT_LITERAL_PATHSPECS",
            "GIT_MERGE_AUTOEDIT",
            "GIT_OPTIONAL_LOCKS",
            "GIT_TERMINAL_PROMPT",
            "GIT_TRACE",
            "GIT_WORK_TREE",
        ],
    ),
    ("GTK_", &[]),
    ("LD_", &[]),
    ("LUA_INIT", &[]),
    ("NPM_CONFIG_", &["NPM_CONFIG_LOGLEVEL"]),
    ("PERL5", &[]),
    (
        "PYTHON",
        &[
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONFAULTHANDLER",
            "PYTHONHASHSEED",
            "PYTHONIOENCODING",
            "PYTHONNOUSERSITE",
            "PYTHONSAFEPATH",
            "PYTHONUNBUFFERED",
            "PYTHONUTF8",
        ],
    ),
    ("RUBY", &["RUBY_VERSION"]),
    ("RUSTC_", &[]),
    ("npm_config_", &["npm_config_loglevel"]),
];

/// Ends of names whose value is a program, or options of one.
const PROGRAMS: &[&str] = &["ASKPASS", "BROWSER", "EDITOR", "PAGER", "_RSH", "_WRAPPER"];
const OPTIONS: &[&str] = &["GOFLAGS", "MAKEFLAGS", "_OPTIONS", "_OPTS"];

/// Whether a variable of this name decides which program or script runs.
pub(crate) fn is_resolving(name: &str) -> bool {
    let is = |known: &&str| *known == name || (known.ends_with('_') && name.starts_with(known));
    let family = FAMILIES.iter().find(|(start, _)| name.starts_with(start));
    NAMES.contains(&name)
        || family.is_some_and(|(_, harmless)| !harmless.iter().any(is))
        || PROGRAMS.iter().chain(OPTIONS).any(|it| name.ends_with(it))
}

/// Whether a variable of this name decides which program or script runs, if it has this value.
pub(crate) fn resolves_as(name: &str, value: &str) -> bool {
    let ends = |known: &[&str]| known.iter().any(|it| name.ends_with(it));
    let is_program =
        (ends(PROGRAMS) || name == "VISUAL") && ["", ":", "cat", "true"].contains(&value);
    let is_plain = ends(OPTIONS) && value.split(' ').all(is_plain_option);
    is_resolving(name) && !is_program && !is_plain
}

/// Whether an option only sets a size or a number.
fn is_plain_option(option: &str) -> bool {
    let starts = ["--max-old-space-size=", "-Xms", "-Xmx", "-Xss", "-j"];
    starts.iter().filter_map(|it| option.strip_prefix(it)).any(|number| {
        let digits = number.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(number);
        digits.chars().all(|it| it.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, NAMES, is_resolving, resolves_as};

    #[test]
    fn the_names_are_sorted_and_known() {
        assert!(NAMES.is_sorted() && FAMILIES.is_sorted_by_key(|(start, _)| start));
        for (start, harmless) in FAMILIES {
            assert!(
                harmless.iter().all(|it| it.starts_with(start) && !is_resolving(it)),
                "{start}"
            );
        }
    }

    #[test]
    fn a_value_can_be_harmless() {
        for (name, value, wanted) in [
            ("GIT_EDITOR", "true", false),
            ("GIT_EDITOR", "./x.sh", true),
            ("PAGER", "cat", false),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--max-old-space-size=4096 --require ./x", true),
            ("MAVEN_OPTS", "-Xms1g -Xmx512m", false),
            ("MAKEFLAGS", "-j4", false),
            ("MAKEFLAGS", "-jfx", true),
            ("GIT_DIR", "", true),
            ("RUST_LOG", "./x.sh", false),
        ] {
            assert_eq!(resolves_as(name, value), wanted, "{name}={value}");
        }
    }
}
