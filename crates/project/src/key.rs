//! All settings, in the order of the documentation.

use std::time::Duration;

use crate::value::Kind;

/// One setting: its name, its type, its default.
#[derive(Debug)]
pub(crate) struct Key {
    /// `section.name`, or `name` at the top level.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Default,
    pub(crate) description: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Default {
    /// A value in the form that a variable takes.
    Text(&'static str),
    /// A value that depends on something, described in words.
    Computed(&'static str),
}

impl Key {
    pub(crate) fn section(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(section, _)| section)
    }

    pub(crate) fn leaf(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, leaf)| leaf)
    }

    pub(crate) fn variable(&self) -> String {
        format!("WAYPOST_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }

    /// Whether a project's file may set it without approval: it makes the service do less, or
    /// determines how it prints.
    pub(crate) fn is_harmless(&self) -> bool {
        HARMLESS.contains(&self.name)
    }

    /// Whether the user's own file may set it only for a single project.
    pub(crate) fn is_of_one_project(&self) -> bool {
        OF_ONE_PROJECT.contains(&self.name)
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}

/// Keys that a project's file may set without approval. A key belongs here only if no value of it
/// makes the service do more than the default, or if it determines how the service prints.
const HARMLESS: &[&str] = &[
    "context.enabled",
    "context.exclude",
    "context.git",
    "events.memory",
    "log.format",
    "log.level",
];

/// Keys for which one value for all projects would be wrong.
const OF_ONE_PROJECT: &[&str] = &[
    "allow_remote",
    "allowed_hosts",
    "allowed_origins",
    "browser.allow",
    "browser.listen",
    "context.allow_home",
    "context.exclude",
    "context.include",
    "context.types",
    "data_dir",
    "listen",
    "mesh.folder",
    "mesh.listen",
    "tls.cert",
    "tls.key",
    "token_file",
    "url",
];

pub(crate) const LOG_FORMATS: &[&str] = &["text", "json"];
const BROWSER_ENGINES: &[&str] = &["auto", "chromium", "static"];
const BROWSER_PICTURES: &[&str] = &["auto", "off", "blocks", "kitty", "sixel", "iterm"];
const WATCH_MODES: &[&str] = &["native", "poll", "off"];

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

const fn bytes(min: u64, max: u64) -> Kind {
    Kind::Bytes { min, max }
}

const fn time(min_ms: u64, max_s: u64) -> Kind {
    Kind::Time { min: Duration::from_millis(min_ms), max: Duration::from_secs(max_s) }
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Key {
    Key { name, kind, default: Default::Text(default), description }
}

pub(crate) const KEYS: &[Key] = &[
    key("listen", Kind::Address, "127.0.0.1:4747", "Address and port that the service listens on."),
    key("data_dir", Kind::Path, ".waypost/data", "Folder of the store."),
    Key {
        name: "url",
        kind: Kind::Url,
        default: Default::Computed("the socket of the service of this project"),
        description: "Address where `ctl` finds the service instead of at its socket. Plain `http` is for loopback only.",
    },
    key(
        "token_file",
        Kind::Path,
        ".waypost/token",
        "File with the token that `ctl` uses; the first start puts the admin token there.",
    ),
    key(
        "allow_remote",
        Kind::Bool,
        "false",
        "Lets the service listen without TLS on an address that other machines reach. Tokens and memories then cross the network in the clear: set `tls.cert` and `tls.key` instead.",
    ),
    key(
        "allowed_hosts",
        Kind::Hosts,
        "",
        "Further names in the `Host` header that the service answers to, with or without a port, such as the name of a proxy.",
    ),
    key(
        "allowed_origins",
        Kind::Origins,
        "",
        "Web pages that may call the service, as `scheme://host:port`.",
    ),
    Key {
        name: "tls.cert",
        kind: Kind::Path,
        default: Default::Computed("none: plain HTTP"),
        description: "File with the certificate that the service shows and the ones that lead to its authority (PEM). A changed file is read again.",
    },
    Key {
        name: "tls.key",
        kind: Kind::Path,
        default: Default::Computed("none: plain HTTP"),
        description: "File with the private key of `tls.cert` (PEM), which others must not be able to read.",
    },
    key(
        "model.name",
        Kind::Model,
        "all-MiniLM-L6-v2",
        "Embedding model: a known name, the path of a model's folder, or `none` to search by words alone.",
    ),
    key(
        "model.fetch",
        Kind::Bool,
        "true",
        "Downloads a known model that is not in the cache. With `false` nothing is ever fetched.",
    ),
    Key {
        name: "model.cache_dir",
        kind: Kind::Path,
        default: Default::Computed("`waypost/models` in the user's cache folder"),
        description: "Folder that downloaded and imported models are kept in.",
    },
    key(
        "embedding.batch",
        count(1, 1024),
        "32",
        "Memories that are embedded at once in the background.",
    ),
    key(
        "events.keep_time",
        time(0, 3_153_600_000),
        "0s",
        "Events older than this are dropped; `0s` keeps them for ever.",
    ),
    key(
        "events.keep_count",
        count(0, 1 << 53),
        "0",
        "So many events are kept, the newest; `0` keeps all.",
    ),
    key(
        "events.keep_bytes",
        bytes(0, 1024 * 1024 * GIB),
        "0B",
        "The oldest events are dropped when all take more than this; `0B` keeps all.",
    ),
    key(
        "events.memory",
        Kind::Bool,
        "true",
        "Publishes `memory:added`, `memory:linked` and `memory:reindexed`.",
    ),
    key(
        "context.enabled",
        Kind::Bool,
        "true",
        "Indexes the project for queries about it: journals, documents, code headers.",
    ),
    key(
        "context.allow_home",
        Kind::Bool,
        "false",
        "Does so even if the project's folder is your home, holds it, or is the root of the file system.",
    ),
    key(
        "context.include",
        Kind::Globs,
        "",
        "Files that are indexed although they are ignored, hidden or in `vendor/`, `node_modules/` and the like. What holds secrets stays out.",
    ),
    key(
        "context.exclude",
        Kind::Patterns,
        "",
        "Files and folders that are left out, as in a `.gitignore`; `.waypostignore` does the same.",
    ),
    key(
        "context.types",
        Kind::NamedGlobs,
        "",
        "Documents that are of a type, asked before the built-in rules; the first that fits holds.",
    ),
    key(
        "context.code_bytes_max",
        bytes(KIB, 64 * MIB),
        "1MiB",
        "Size of a code file; larger ones are left out.",
    ),
    key(
        "context.document_bytes_max",
        bytes(KIB, 64 * MIB),
        "2MiB",
        "Size of a document; a larger one is cut.",
    ),
    key(
        "context.files_max",
        count(1, 1_000_000),
        "50000",
        "Files that are indexed; above it the status says that some are left out.",
    ),
    key(
        "context.text_bytes_max",
        bytes(MIB, 4 * GIB),
        "200MiB",
        "Size of all indexed files; above it the status says that some are left out.",
    ),
    key(
        "context.vectors_max",
        count(0, 1_000_000),
        "30000",
        "Pieces of files that get a vector, so that they are found by meaning; documents and files that change often come first.",
    ),
    key(
        "context.git",
        Kind::Bool,
        "true",
        "Lets the history and the working tree of git count, where there is one.",
    ),
    key(
        "context.watch",
        Kind::Choice(WATCH_MODES),
        "native",
        "How changes are noticed: by the system's notifications, by looking now and then, or only by `ctl context rescan`.",
    ),
    key(
        "mesh.enabled",
        Kind::Bool,
        "true",
        "Lets the service and the browser join the mesh of the project's peers.",
    ),
    Key {
        name: "mesh.folder",
        kind: Kind::Path,
        default: Default::Computed(
            "`waypost/` and a name made of the project's path in `$XDG_RUNTIME_DIR`, else `mesh` in `data_dir`",
        ),
        description: "Folder where the peers of this machine meet. It must be the user's alone (0700), and its path short: sockets have 107 bytes for theirs.",
    },
    key(
        "mesh.listen",
        Kind::Bool,
        "false",
        "Lets the service and the browser listen on this machine's address for paired machines: whoever starts first has it. Without pairing there is none.",
    ),
    key(
        "mesh.human_events",
        Kind::Bool,
        "false",
        "Publishes what a human does in the browser as events: `human_click` as `browser:human_click`.",
    ),
    key(
        "browser.listen",
        Kind::Address,
        "127.0.0.1:4748",
        "Address and port of the browser's commands over HTTP. It asks for no token, so only loopback is accepted.",
    ),
    key(
        "browser.engine",
        Kind::Choice(BROWSER_ENGINES),
        "auto",
        "What shows pages: `chromium`, `static` (no scripts), or Chromium where there is one.",
    ),
    key(
        "browser.allow",
        Kind::Hosts,
        "",
        "What programs may reach with the browser although its address is not public: hosts, with or without a port, or `private` for all of it.",
    ),
    key(
        "browser.pictures",
        Kind::Choice(BROWSER_PICTURES),
        "auto",
        "How the terminal shows the browser's pictures: as `blocks` of two colours, by their pixels as `kitty`, `sixel` or `iterm` show them, as well as it says that it can, or not at all (`off`).",
    ),
    key(
        "browser.screenshots",
        Kind::Bool,
        "false",
        "Lets programs take pictures of the browser's pages.",
    ),
    key(
        "log.level",
        Kind::LogLevel,
        "info",
        "What is logged: `error`, `warn`, `info`, `debug` or `trace`, or such levels by target: `info,waypost_memory=debug`.",
    ),
    key("log.format", Kind::Choice(LOG_FORMATS), "text", "How log lines are written."),
    key(
        "limits.connections_max",
        count(1, 65_536),
        "2048",
        "Open connections; one more is answered with 503.",
    ),
    key(
        "limits.header_read_time",
        time(100, 600),
        "30s",
        "Time to send a request's headers, and idle time of a kept connection.",
    ),
    key("limits.header_bytes_max", bytes(8 * KIB, MIB), "64KiB", "Size of a request's headers."),
    key(
        "limits.body_read_time",
        time(100, 3_600),
        "30s",
        "Time to send a body; for a streamed one, between two pieces.",
    ),
    key(
        "limits.body_bytes_max",
        bytes(64 * KIB, 256 * MIB),
        "8MiB",
        "Size of a JSON body; above it the answer is 413.",
    ),
    key(
        "limits.bodies_bytes_max",
        bytes(64 * KIB, 64 * GIB),
        "256MiB",
        "Size of all bodies that are held in memory at once.",
    ),
    key("limits.batch_bytes_max", bytes(64 * KIB, 64 * GIB), "64MiB", "Size of a batch."),
    key("limits.import_bytes_max", bytes(64 * KIB, 1024 * GIB), "64GiB", "Size of an import."),
    key(
        "limits.unread_bytes_max",
        bytes(64 * KIB, GIB),
        "64MiB",
        "Answer lines that the sender of a batch may leave unread.",
    ),
    key(
        "limits.unread_time_max",
        time(100, 3_600),
        "1m",
        "Time that the reader of a streamed answer may pause.",
    ),
    key("limits.reads_max", count(1, 1_024), "16", "Reading requests that run at once."),
    key(
        "limits.writes_max",
        count(1, 1_024),
        "64",
        "Writing requests that run at once; they share each sync.",
    ),
    key(
        "limits.streams_max",
        count(1, 256),
        "8",
        "Batches, exports, imports and reindexes that run at once.",
    ),
    key(
        "limits.listeners_max",
        count(1, 65_536),
        "1000",
        "Streams of events that are open at once; each is a connection.",
    ),
    key(
        "limits.queue_max",
        count(0, 65_536),
        "512",
        "Requests that wait for their turn; one more is answered with 503.",
    ),
    key(
        "limits.store_time",
        time(100, 3_600),
        "30s",
        "Time that a request may wait and run before it is answered with 503.",
    ),
    key(
        "limits.shutdown_grace",
        time(0, 600),
        "10s",
        "Time that accepted requests have to finish after a signal to stop.",
    ),
];
