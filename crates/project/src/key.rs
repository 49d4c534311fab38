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
    "recall.inject",
    "recall.record",
];

/// Keys for which one value for all projects would be wrong.
const OF_ONE_PROJECT: &[&str] = &[
    "allow_remote",
    "allowed_hosts",
    "allowed_origins",
    "browser.allow",
    "browser.listen",
    "cluster.url",
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
        description: "Address of the service for `ctl`. Plain `http` is accepted for loopback only.",
    },
    key(
        "token_file",
        Kind::Path,
        ".waypost/token",
        "File with the access token for `ctl`; the first start writes the admin token to it.",
    ),
    key(
        "allow_remote",
        Kind::Bool,
        "false",
        "Allow the service to listen on a non-loopback address without TLS. Tokens and memories then cross the network in the clear; prefer `tls.cert` and `tls.key`.",
    ),
    key(
        "allowed_hosts",
        Kind::Hosts,
        "",
        "Additional values of the `Host` header that the service accepts, with or without a port, such as the name of a proxy.",
    ),
    key(
        "allowed_origins",
        Kind::Origins,
        "",
        "Origins whose web pages may call the service, as `scheme://host:port`.",
    ),
    Key {
        name: "tls.cert",
        kind: Kind::Path,
        default: Default::Computed("none: plain HTTP"),
        description: "File with the service's certificate and its chain (PEM). The service reloads it when it changes.",
    },
    Key {
        name: "tls.key",
        kind: Kind::Path,
        default: Default::Computed("none: plain HTTP"),
        description: "File with the private key of `tls.cert` (PEM). Other users must not be able to read it.",
    },
    key(
        "model.name",
        Kind::Model,
        "all-MiniLM-L6-v2",
        "Embedding model: a known name, the path of a model folder, or `none` for lexical search only.",
    ),
    key(
        "model.fetch",
        Kind::Bool,
        "true",
        "Download a known model if it is not in the cache. With `false`, nothing is downloaded.",
    ),
    Key {
        name: "model.cache_dir",
        kind: Kind::Path,
        default: Default::Computed("`waypost/models` in the user's cache folder"),
        description: "Folder for downloaded and imported models.",
    },
    key(
        "search.min_score",
        Kind::Share,
        "0",
        "Drop hits of memory searches with a lower score, unless a request has its own `minScore`.",
    ),
    key(
        "embedding.batch",
        count(1, 1024),
        "32",
        "Number of memories embedded per batch in the background.",
    ),
    Key {
        name: "cluster.url",
        kind: Kind::Database,
        default: Default::Computed("none: this machine alone"),
        description: "PostgreSQL database whose journal this machine shares with others; see `ctl cluster`. The password is in `PGPASSFILE` or `PGPASSWORD`.",
    },
    Key {
        name: "cluster.name",
        kind: Kind::Name,
        default: Default::Computed("the host name"),
        description: "Name of this machine in `ctl cluster status`.",
    },
    key(
        "cluster.peer_embedding",
        Kind::Bool,
        "false",
        "Let another machine of the cluster embed the queries of this one, if it has no model (`model.name: none`). Their texts pass through the database.",
    ),
    Key {
        name: "rerank.model",
        kind: Kind::Path,
        default: Default::Computed("none: the ranking decides"),
        description: "Folder of a cross-encoder that orders the best results of a search again.",
    },
    key(
        "rerank.budget",
        time(1, 60),
        "200ms",
        "Time for reranking one search. When it is exceeded, the order of the ranking stays.",
    ),
    key(
        "rerank.candidates",
        count(2, 200),
        "32",
        "Number of best results that the cross-encoder orders.",
    ),
    key(
        "recall.inject",
        Kind::Bool,
        "true",
        "Let the hooks of agents give memories to their sessions.",
    ),
    key(
        "recall.record",
        Kind::Bool,
        "true",
        "Let the hooks of agents record prompts and answers as memories of type `turn`.",
    ),
    key(
        "recall.retention",
        time(0, 3_153_600_000),
        "90d",
        "Time after which recorded prompts and answers expire, unless they are pinned. `0s` means no limit.",
    ),
    key(
        "recall.log_retention",
        time(0, 3_153_600_000),
        "30d",
        "Maximum age of entries of the recall log. `0s` means no limit.",
    ),
    key(
        "events.keep_time",
        time(0, 3_153_600_000),
        "0s",
        "Maximum age of events; older ones are dropped. `0s` means no limit.",
    ),
    key(
        "events.keep_count",
        count(0, 1 << 53),
        "0",
        "Maximum number of events kept; the oldest are dropped first. `0` means no limit.",
    ),
    key(
        "events.keep_bytes",
        bytes(0, 1024 * 1024 * GIB),
        "0B",
        "Maximum total size of events kept; the oldest are dropped first. `0B` means no limit.",
    ),
    key(
        "events.memory",
        Kind::Bool,
        "true",
        "Publish `memory:added`, `memory:linked` and `memory:reindexed`.",
    ),
    key(
        "context.enabled",
        Kind::Bool,
        "true",
        "Index the project's journals, documents and code headers for context queries.",
    ),
    key(
        "context.allow_home",
        Kind::Bool,
        "false",
        "Index even if the project folder is your home folder, a parent of it, or the root of the file system.",
    ),
    key(
        "context.include",
        Kind::Globs,
        "",
        "Files to index although they are ignored, hidden, or in a folder like `vendor/` or `node_modules/`. Files with secrets are never indexed.",
    ),
    key(
        "context.exclude",
        Kind::Patterns,
        "",
        "Files and folders to exclude from the index, in `.gitignore` syntax; `.waypostignore` has the same effect.",
    ),
    key(
        "context.types",
        Kind::NamedGlobs,
        "",
        "Types of documents by glob, checked before the built-in rules; the first match wins.",
    ),
    key(
        "context.code_bytes_max",
        bytes(KIB, 64 * MIB),
        "1MiB",
        "Maximum size of a code file; larger ones are not indexed.",
    ),
    key(
        "context.document_bytes_max",
        bytes(KIB, 64 * MIB),
        "2MiB",
        "Maximum size of a document; larger ones are truncated.",
    ),
    key(
        "context.files_max",
        count(1, 1_000_000),
        "50000",
        "Maximum number of indexed files; above it, some are left out and the status reports it.",
    ),
    key(
        "context.text_bytes_max",
        bytes(MIB, 4 * GIB),
        "200MiB",
        "Maximum total size of indexed files; above it, some are left out and the status reports it.",
    ),
    key(
        "context.vectors_max",
        count(0, 1_000_000),
        "30000",
        "Maximum number of file sections with a vector for semantic search; documents and frequently changed files come first.",
    ),
    key(
        "context.git",
        Kind::Bool,
        "true",
        "Use the git history and working tree for ranking, if the project has a git repository.",
    ),
    key(
        "context.watch",
        Kind::Choice(WATCH_MODES),
        "native",
        "How file changes are detected: `native` file system notifications, periodic polling (`poll`), or only on `ctl context rescan` (`off`).",
    ),
    key(
        "mesh.enabled",
        Kind::Bool,
        "true",
        "Let the service and the browser join the project's mesh.",
    ),
    Key {
        name: "mesh.folder",
        kind: Kind::Path,
        default: Default::Computed(
            "a folder named after the project's path in `$XDG_RUNTIME_DIR/waypost/`, else `mesh` in `data_dir`",
        ),
        description: "Folder for the mesh sockets of this machine's peers. It must have mode 0700 and a short path: the path of a socket is limited to 107 bytes.",
    },
    key(
        "mesh.listen",
        Kind::Bool,
        "false",
        "Let the service and the browser listen for paired machines on this machine's mesh address; the one that starts first uses it. Without a pairing there is no address.",
    ),
    key(
        "mesh.human_events",
        Kind::Bool,
        "false",
        "Publish the user's actions in the browser as events: `human_click` becomes `browser:human_click`.",
    ),
    key(
        "browser.listen",
        Kind::Address,
        "127.0.0.1:4748",
        "Address and port of the browser's HTTP commands. They need no token, so only loopback is accepted.",
    ),
    key(
        "browser.engine",
        Kind::Choice(BROWSER_ENGINES),
        "auto",
        "Browser engine: `chromium`, `static` (no scripts), or `auto`: Chromium if installed, else static.",
    ),
    key(
        "browser.allow",
        Kind::Hosts,
        "",
        "Non-public addresses that programs may open in the browser: hosts, with or without a port, or `private` for all of them.",
    ),
    key(
        "browser.pictures",
        Kind::Choice(BROWSER_PICTURES),
        "auto",
        "How the terminal shows pictures: as two-colour `blocks`, with the `kitty`, `sixel` or `iterm` protocol, with the best that the terminal reports (`auto`), or not at all (`off`).",
    ),
    key(
        "browser.screenshots",
        Kind::Bool,
        "false",
        "Let programs take screenshots of the browser's pages.",
    ),
    key(
        "log.level",
        Kind::LogLevel,
        "info",
        "Log level: `error`, `warn`, `info`, `debug` or `trace`, optionally by target: `info,waypost_memory=debug`.",
    ),
    key("log.format", Kind::Choice(LOG_FORMATS), "text", "Format of log lines."),
    key(
        "limits.connections_max",
        count(1, 65_536),
        "2048",
        "Maximum number of open connections over the network. A further one takes the place of the one that has waited longest without an authenticated request; if there is none, it gets 503.",
    ),
    key(
        "limits.header_read_time",
        time(100, 600),
        "30s",
        "Time limit for a request's headers, and for an idle connection.",
    ),
    key(
        "limits.header_bytes_max",
        bytes(8 * KIB, MIB),
        "64KiB",
        "Maximum size of a request's headers.",
    ),
    key(
        "limits.body_read_time",
        time(100, 3_600),
        "30s",
        "Time limit for a request body; for a streamed body, between two chunks.",
    ),
    key(
        "limits.body_bytes_max",
        bytes(64 * KIB, 256 * MIB),
        "8MiB",
        "Maximum size of a JSON body; a larger one gets 413.",
    ),
    key(
        "limits.bodies_bytes_max",
        bytes(64 * KIB, 64 * GIB),
        "256MiB",
        "Maximum total size of request bodies in memory.",
    ),
    key("limits.batch_bytes_max", bytes(64 * KIB, 64 * GIB), "64MiB", "Maximum size of a batch."),
    key(
        "limits.import_bytes_max",
        bytes(64 * KIB, 1024 * GIB),
        "64GiB",
        "Maximum size of an import.",
    ),
    key(
        "limits.unread_bytes_max",
        bytes(64 * KIB, GIB),
        "128MiB",
        "Maximum size of unread responses in memory; one token may take half of what is free. Above it, requests with large responses get 503, or 429 for one token.",
    ),
    key(
        "limits.unread_time_max",
        time(100, 3_600),
        "1m",
        "Maximum pause of a client while it reads a response: an event stream then ends with a message, and after twice this time the connection is closed.",
    ),
    key("limits.reads_max", count(1, 1_024), "16", "Maximum number of concurrent read requests."),
    key(
        "limits.writes_max",
        count(1, 1_024),
        "64",
        "Maximum number of concurrent write requests; they share each sync.",
    ),
    key(
        "limits.streams_max",
        count(1, 256),
        "8",
        "Maximum number of concurrent batches, exports, imports and reindexes.",
    ),
    key(
        "limits.listeners_max",
        count(1, 65_536),
        "1000",
        "Maximum number of open event streams; each is one connection.",
    ),
    key(
        "limits.queue_max",
        count(0, 65_536),
        "512",
        "Maximum number of queued requests; further ones get 503.",
    ),
    key(
        "limits.store_time",
        time(100, 3_600),
        "30s",
        "Time limit for a request to wait and run; after it, the response is 503.",
    ),
    key(
        "limits.shutdown_grace",
        time(0, 600),
        "10s",
        "Time for open requests to finish after a signal to stop.",
    ),
];
