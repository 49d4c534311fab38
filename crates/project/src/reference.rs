//! The page that documents every setting.

use std::fmt::Write as _;

use crate::declared::keys;
use crate::key::Key;

const HEAD: &str = "\
# Settings

A setting comes from a flag, else from its variable, else from your own `waypost/config.yaml` in `$XDG_CONFIG_HOME` (`~/.config`), else from the project's `.waypost/config.yaml`, else from the default.
`ctl config show` prints each value and its origin.
An empty variable counts as not set.
An unknown variable that starts with `WAYPOST_` causes a warning.

The project's file comes with the project, so it is not trusted: a value that is neither the default nor harmless (marked below) needs approval with `ctl allow`.
Until then, the service does not start, and `ctl` exits with 4.
A key is harmless only if it makes the service do less or controls how it prints.
A setting from a flag, a variable or your own file needs no approval.
`ctl hook`, `ctl mcp` and a service that `ctl mcp` starts ignore `WAYPOST_TRUST_PROJECT` and the variables of keys that need approval, because agents take variables from files of the project; `ctl hook` and `ctl mcp` also ignore `SSL_CERT_FILE`.
They report it on standard error.
For these commands, use your own file, or options that `install` writes into the entry: `ctl --url URL mcp install`.

Your own file applies to all projects.
Write settings for one project below its folder:

```text
model:
  cache_dir: /srv/models
projects:
  ~/work/notes:
    listen: 127.0.0.1:4750
```

Both files must belong to you or root, and only you or root may be able to write to them.

In `config.yaml`, the part of a key before the dot is a section:

```yaml
listen: 127.0.0.1:4747
model:
  name: all-MiniLM-L6-v2
log:
  level: info
limits:
  body_bytes_max: 8MiB
  store_time: 30s
```

An unknown key, a duplicate key and an invalid value are errors that name the line.
A file has at most 1 MiB, 1000 `[` and `{`, and 100 lines that begin with `%`.
Relative paths start from the project folder; in flags and variables from the current folder; in your own file, for settings of all projects, from that file's folder.
`~/` is your home folder.
Lists are YAML lists in the file, and comma-separated in variables.
Sizes have the units B, KiB, MiB, GiB and TiB (default: bytes); times have ms, s, m, h and d.

This page is generated from the table that the programs use.
";

/// `docs/settings.md`: every key with its variable, default, values and meaning.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut section = Some("");
    for key in keys() {
        if key.section() != section {
            section = key.section();
            let title = section.map_or("Top level".to_owned(), |name| format!("`{name}`"));
            write!(page, "\n## {title}\n").expect("writing to a string does not fail");
        }
        entry(&mut page, key).expect("writing to a string does not fail");
    }
    page
}

fn entry(page: &mut String, key: &Key) -> std::fmt::Result {
    let default = match key.default {
        "" => "none".to_owned(),
        words if key.is_computed => words.to_owned(),
        text => format!("`{text}`"),
    };
    writeln!(page, "\n### `{}`\n\n{}\n", key.name, key.description())?;
    writeln!(page, "- Value: {}", key.kind.wanted())?;
    writeln!(page, "- Default: {default}")?;
    writeln!(page, "- Variable: `{}`", key.variable())?;
    let approval = if key.is_harmless { "not needed: harmless" } else { "needed" };
    writeln!(page, "- Approval in a project's file: {approval}")?;
    if key.is_of_one_project {
        writeln!(page, "- In your own file: below `projects:` only")?;
    }
    Ok(())
}
