//! Every setting, declared once: its field, name, type, default and meaning, in the order of the documentation.
//!
//! A declaration is `field: Type = Kind, "default", marks;`. Its comment is its description in `docs/settings.md`, its
//! name in `config.yaml` is that of the field in its section, and its variable is `WAYPOST_SECTION_FIELD`. The marks are
//! methods of [`Key`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::PendingFile;
use crate::key::{Key, Origin, Resolved};
use crate::value::{Item, Kind, Setting, Value};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// Every key, in the order of the documentation.
pub(crate) fn keys() -> impl Iterator<Item = &'static Key> {
    Settings::SECTIONS.iter().copied().flatten()
}

/// A struct with its settings, the sections in it, and fields that are no settings.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident in $prefix:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $kind:expr, $default:literal $(, $mark:ident)*;
            )*
        }
        $(sections { $($(#[$section_doc:meta])* $section:ident: $section_type:ty;)* })?
        $(computed { $($(#[$computed_doc:meta])* $view:vis $computed:ident: $computed_type:ty;)* })?
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[$section_doc])* pub $section: $section_type,)*)?
            $($($(#[$computed_doc])* $view $computed: $computed_type,)*)?
        }

        impl $name {
            const KEYS: &'static [Key] = &[$(
                Key::new(concat!($prefix, stringify!($field)), $kind, $default, concat!($($doc),+))
                    $(.$mark())*
            ),*];
            $(const SECTIONS: &'static [&'static [Key]] =
                &[Self::KEYS, $(<$section_type>::KEYS),*];)?

            /// Without the fields that are no settings.
            pub(crate) fn new(resolved: &Resolved) -> Self {
                Self {
                    $($field: Setting::of(&resolved[concat!($prefix, stringify!($field))].0),)*
                    $($($section: <$section_type>::new(resolved),)*)?
                    $($($computed: Default::default(),)*)?
                }
            }
        }

        /// The defaults of a project's settings; paths and names that depend on something are empty.
        impl Default for $name {
            fn default() -> Self {
                Self::new(&defaults())
            }
        }
    };
}

/// A setting with one of some names.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            const NAMES: &'static [&'static str] = &[$($text),*];
        }

        impl Setting for $name {
            fn of(value: &Value) -> Self {
                match String::of(value).as_str() {
                    $($text => Self::$variant,)*
                    other => unreachable!("{other} was checked"),
                }
            }
        }
    };
}

section! {
    /// Every setting, resolved. Paths are absolute.
    #[derive(Debug, Clone)]
    pub struct Settings in "" {
        /// Address and port that the service listens on.
        listen: SocketAddr = Kind::Address, "127.0.0.1:4747", of_one_project;
        /// Folder of the store.
        data_dir: PathBuf = Kind::Path, ".waypost/data", of_one_project;
        /// Address of the service for `ctl`. Plain `http` is accepted for loopback only.
        url: String = Kind::Url, "the socket of the service of this project", computed, of_one_project;
        /// File with the access token for `ctl`; the first start writes the admin token to it.
        token_file: PathBuf = Kind::Path, ".waypost/token", of_one_project;
        /// Allow the service to listen on a non-loopback address without TLS. Tokens and memories then cross the
        /// network in the clear; prefer `tls.cert` and `tls.key`.
        allow_remote: bool = Kind::Bool, "false", of_one_project;
        /// Additional values of the `Host` header that the service accepts, with or without a port, such as the name of
        /// a proxy.
        allowed_hosts: Vec<String> = Kind::List(Item::Host), "", of_one_project;
        /// Origins whose web pages may call the service, as `scheme://host:port`.
        allowed_origins: Vec<String> = Kind::List(Item::Origin), "", of_one_project;
    }
    sections {
        /// The service's TLS certificate.
        tls: TlsSettings;
        /// Settings of the embedding model.
        model: ModelSettings;
        /// Settings of searches.
        search: SearchSettings;
        /// Settings of embedding.
        embedding: EmbeddingSettings;
        /// The cluster of this machine.
        cluster: ClusterSettings;
        /// Settings of the cross-encoder that orders the best results of a search.
        rerank: RerankSettings;
        /// What the hooks of agents do, and how long what they leave is kept.
        recall: RecallSettings;
        /// Which events exist besides those that clients publish, and how long events are kept.
        events: EventSettings;
        /// Which parts of the project are indexed for context, and how.
        context: ContextSettings;
        /// How the programs of a project join the mesh.
        mesh: MeshSettings;
        /// How programs connect to the browser, and what it may access.
        browser: BrowserSettings;
        /// Settings of the log.
        log: LogSettings;
        /// Limits of the service: what it accepts, how long it waits, and how much it does at once.
        limits: LimitSettings;
    }
    computed {
        /// The socket on which the service listens for its own user.
        pub socket: PathBuf;
        /// Whether everything in the project counts as approved.
        pub trust_project: bool;
        /// The user's folder for approvals; `None` for a user without a home.
        pub state_dir: Option<PathBuf>;
        pub(crate) pending: Option<PendingFile>;
        pub(crate) warnings: Vec<String>;
        pub(crate) resolved: Resolved;
    }
}

section! {
    /// The service's TLS certificate.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TlsSettings in "tls." {
        /// File with the service's certificate and its chain (PEM). The service reloads it when it changes.
        cert: Option<PathBuf> = Kind::Path, "none: plain HTTP", computed, of_one_project;
        /// File with the private key of `tls.cert` (PEM). Other users must not be able to read it.
        key: Option<PathBuf> = Kind::Path, "none: plain HTTP", computed, of_one_project;
    }
}

section! {
    /// Settings of the embedding model.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ModelSettings in "model." {
        /// Embedding model: a known name, the path of a model folder, or `none` for lexical search only.
        name: Model = Kind::Model, "all-MiniLM-L6-v2";
        /// Download a known model if it is not in the cache. With `false`, nothing is downloaded.
        fetch: bool = Kind::Bool, "true";
        /// Folder for downloaded and imported models.
        cache_dir: PathBuf = Kind::Path, "`waypost/models` in the user's cache folder", computed;
    }
}

section! {
    /// Settings of searches.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct SearchSettings in "search." {
        /// Drop hits of memory searches with a lower score, unless a request has its own `minScore`.
        min_score: f64 = Kind::Share, "0";
    }
}

section! {
    /// Settings of embedding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct EmbeddingSettings in "embedding." {
        /// Number of memories embedded per batch in the background.
        batch: usize = count(1, 1024), "32";
    }
}

section! {
    /// The cluster of this machine.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ClusterSettings in "cluster." {
        /// PostgreSQL database whose journal this machine shares with others; see `ctl cluster`. The password is in
        /// `PGPASSFILE` or `PGPASSWORD`.
        url: Option<String> = Kind::Database, "none: this machine alone", computed, of_one_project;
        /// Name of this machine in `ctl cluster status`.
        name: Option<String> = Kind::Name, "the host name", computed;
        /// Let another machine of the cluster embed the queries of this one, if it has no model (`model.name: none`).
        /// Their texts pass through the database.
        peer_embedding: bool = Kind::Bool, "false";
    }
}

section! {
    /// Settings of the cross-encoder that orders the best results of a search.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RerankSettings in "rerank." {
        /// Folder of a cross-encoder that orders the best results of a search again.
        model: Option<PathBuf> = Kind::Path, "none: the ranking decides", computed;
        /// Time for reranking one search. When it is exceeded, the order of the ranking stays.
        budget: Duration = time(1, 60), "200ms";
        /// Number of best results that the cross-encoder orders.
        candidates: usize = count(2, 200), "32";
    }
}

section! {
    /// What the hooks of agents do, and how long what they leave is kept.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RecallSettings in "recall." {
        /// Let the hooks of agents give memories to their sessions.
        inject: bool = Kind::Bool, "true", harmless;
        /// Let the hooks of agents record prompts and answers as memories of type `turn`.
        record: bool = Kind::Bool, "true", harmless;
        /// Time after which recorded prompts and answers expire, unless they are pinned. `0s` means no limit.
        retention: Duration = time(0, 3_153_600_000), "90d";
        /// Maximum age of entries of the recall log. `0s` means no limit.
        log_retention: Duration = time(0, 3_153_600_000), "30d";
    }
}

section! {
    /// Which events exist besides those that clients publish, and how long events are kept.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct EventSettings in "events." {
        /// Maximum age of events; older ones are dropped. `0s` means no limit.
        keep_time: Option<Duration> = time(0, 3_153_600_000), "0s";
        /// Maximum number of events kept; the oldest are dropped first. `0` means no limit.
        keep_count: Option<u64> = count(0, 1 << 53), "0";
        /// Maximum total size of events kept; the oldest are dropped first. `0B` means no limit.
        keep_bytes: Option<u64> = bytes(0, 1024 * 1024 * GIB), "0B";
        /// Publish `memory:added`, `memory:linked` and `memory:reindexed`.
        memory: bool = Kind::Bool, "true", harmless;
    }
}

section! {
    /// Which parts of the project are indexed for context, and how.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ContextSettings in "context." {
        /// Index the project's journals, documents and code headers for context queries.
        enabled: bool = Kind::Bool, "true", harmless;
        /// Index even if the project folder is your home folder, a parent of it, or the root of the file system.
        allow_home: bool = Kind::Bool, "false", of_one_project;
        /// Files to index although they are ignored, hidden, or in a folder like `vendor/` or `node_modules/`. Files
        /// with secrets are never indexed.
        include: Vec<String> = Kind::List(Item::Glob), "", of_one_project;
        /// Files and folders to exclude from the index, in `.gitignore` syntax; `.waypostignore` has the same effect.
        exclude: Vec<String> = Kind::List(Item::Pattern), "", harmless, of_one_project;
        /// Types of documents by glob, checked before the built-in rules; the first match wins.
        types: Vec<(String, String)> = Kind::List(Item::NamedGlob), "", of_one_project;
        /// Maximum size of a code file; larger ones are not indexed.
        code_bytes_max: u64 = bytes(KIB, 64 * MIB), "1MiB";
        /// Maximum size of a document; larger ones are truncated.
        document_bytes_max: u64 = bytes(KIB, 64 * MIB), "2MiB";
        /// Maximum number of indexed files; above it, some are left out and the status reports it.
        files_max: usize = count(1, 1_000_000), "50000";
        /// Maximum total size of indexed files; above it, some are left out and the status reports it.
        text_bytes_max: u64 = bytes(MIB, 4 * GIB), "200MiB";
        /// Maximum number of file sections with a vector for semantic search; documents and frequently changed files
        /// come first.
        vectors_max: usize = count(0, 1_000_000), "30000";
        /// Use the git history and working tree for ranking, if the project has a git repository.
        git: bool = Kind::Bool, "true", harmless;
        /// How file changes are detected: `native` file system notifications, periodic polling (`poll`), or only on
        /// `ctl context rescan` (`off`).
        watch: WatchMode = Kind::Choice(WatchMode::NAMES), "native";
    }
    computed {
        /// Whether the project is the user's home, contains it, or is the root of the file system.
        pub is_home: bool;
        /// The file with git's global ignore rules for this user, which may be missing.
        pub git_ignore_file: Option<PathBuf>;
    }
}

section! {
    /// How the programs of a project join the mesh.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MeshSettings in "mesh." {
        /// Let the service and the browser join the project's mesh.
        enabled: bool = Kind::Bool, "true";
        /// Folder for the mesh sockets of this machine's peers. It must have mode 0700 and a short path: the path of a
        /// socket is limited to 107 bytes.
        folder: PathBuf = Kind::Path, "a folder named after the project's path in `$XDG_RUNTIME_DIR/waypost/`, else `mesh` in `data_dir`", computed, of_one_project;
        /// Let the service and the browser listen for paired machines on this machine's mesh address; the one that
        /// starts first uses it. Without a pairing there is no address.
        listen: bool = Kind::Bool, "false", of_one_project;
        /// Publish the user's actions in the browser as events: `human_click` becomes `browser:human_click`.
        human_events: bool = Kind::Bool, "false";
    }
    computed {
        /// The folder of this machine's pairing: `pairing` in the store's folder.
        pub pairing_dir: PathBuf;
    }
}

section! {
    /// How programs connect to the browser, and what it may access.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BrowserSettings in "browser." {
        /// Address and port of the browser's HTTP commands. They need no token, so only loopback is accepted.
        listen: SocketAddr = Kind::Address, "127.0.0.1:4748", of_one_project;
        /// Browser engine: `chromium`, `static` (no scripts), or `auto`: Chromium if installed, else static.
        engine: BrowserEngine = Kind::Choice(BrowserEngine::NAMES), "auto";
        /// Non-public addresses that programs may open in the browser: hosts, with or without a port, or `private` for
        /// all of them.
        allow: Vec<String> = Kind::List(Item::Host), "", of_one_project;
        /// How the terminal shows pictures: as two-colour `blocks`, with the `kitty`, `sixel` or `iterm` protocol, with
        /// the best that the terminal reports (`auto`), or not at all (`off`).
        pictures: BrowserPictures = Kind::Choice(BrowserPictures::NAMES), "auto";
        /// Let programs take screenshots of the browser's pages.
        screenshots: bool = Kind::Bool, "false";
    }
}

section! {
    /// Settings of the log.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LogSettings in "log." {
        /// Log level: `error`, `warn`, `info`, `debug` or `trace`, optionally by target: `info,waypost_memory=debug`.
        level: String = Kind::LogLevel, "info", harmless;
        /// Format of log lines.
        format: LogFormat = Kind::Choice(LogFormat::NAMES), "text", harmless;
    }
}

section! {
    /// Limits of the service: what it accepts, how long it waits, and how much it does at once.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LimitSettings in "limits." {
        /// Maximum number of open connections over the network. A further one takes the place of the one that has
        /// waited longest without an authenticated request; if there is none, it gets 503.
        connections_max: usize = count(1, 65_536), "2048";
        /// Time limit for a request's headers, and for an idle connection.
        header_read_time: Duration = time(100, 600), "30s";
        /// Maximum size of a request's headers.
        header_bytes_max: usize = bytes(8 * KIB, MIB), "64KiB";
        /// Time limit for a request body; for a streamed body, between two chunks.
        body_read_time: Duration = time(100, 3_600), "30s";
        /// Maximum size of a JSON body; a larger one gets 413.
        body_bytes_max: usize = bytes(64 * KIB, 256 * MIB), "8MiB";
        /// Maximum total size of request bodies in memory.
        bodies_bytes_max: usize = bytes(64 * KIB, 64 * GIB), "256MiB";
        /// Maximum size of a batch.
        batch_bytes_max: u64 = bytes(64 * KIB, 64 * GIB), "64MiB";
        /// Maximum size of an import.
        import_bytes_max: u64 = bytes(64 * KIB, 1024 * GIB), "64GiB";
        /// Maximum size of unread responses in memory; one token may take half of what is free. Above it, requests with
        /// large responses get 503, or 429 for one token.
        unread_bytes_max: usize = bytes(64 * KIB, GIB), "128MiB";
        /// Maximum pause of a client while it reads a response: an event stream then ends with a message, and after
        /// twice this time the connection is closed.
        unread_time_max: Duration = time(100, 3_600), "1m";
        /// Maximum number of concurrent read requests.
        reads_max: usize = count(1, 1_024), "16";
        /// Maximum number of concurrent write requests; they share each sync.
        writes_max: usize = count(1, 1_024), "64";
        /// Maximum number of concurrent batches, exports, imports and reindexes.
        streams_max: usize = count(1, 256), "8";
        /// Maximum number of open event streams; each is one connection.
        listeners_max: usize = count(1, 65_536), "1000";
        /// Maximum number of queued requests; further ones get 503.
        queue_max: usize = count(0, 65_536), "512";
        /// Time limit for a request to wait and run; after it, the response is 503.
        store_time: Duration = time(100, 3_600), "30s";
        /// Time for open requests to finish after a signal to stop.
        shutdown_grace: Duration = time(0, 600), "10s";
    }
}

choice! {
    /// How file changes are detected.
    pub enum WatchMode {
        /// By the system's notifications, where they work.
        Native = "native",
        /// By polling.
        Poll = "poll",
        /// Not at all.
        Off = "off",
    }
}

choice! {
    /// The browser's engine.
    pub enum BrowserEngine {
        /// Chromium if it is installed, else the static engine.
        Auto = "auto",
        /// Chromium.
        Chromium = "chromium",
        /// Pages without scripts.
        Static = "static",
    }
}

choice! {
    /// How the terminal shows pictures.
    pub enum BrowserPictures {
        /// In the best way that the terminal says it supports.
        Auto = "auto",
        /// Not at all.
        Off = "off",
        /// As blocks of two colours.
        Blocks = "blocks",
        /// With kitty's protocol.
        Kitty = "kitty",
        /// As sixels.
        Sixel = "sixel",
        /// With iTerm2's protocol.
        Iterm = "iterm",
    }
}

choice! {
    /// The format of log lines.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line.
        Json = "json",
    }
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// A known one, by name.
    Named(String),
    /// The one in that folder.
    Folder(PathBuf),
    /// None: only lexical search.
    Off,
}

impl Setting for Model {
    fn of(value: &Value) -> Self {
        match value {
            Value::Path(path) => Self::Folder(path.clone()),
            Value::Text(name) if name == "none" => Self::Off,
            value => Self::Named(Setting::of(value)),
        }
    }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

const fn bytes(min: u64, max: u64) -> Kind {
    Kind::Bytes { min, max }
}

const fn time(min_ms: u64, max_s: u64) -> Kind {
    Kind::Time { min: Duration::from_millis(min_ms), max: Duration::from_secs(max_s) }
}

fn defaults() -> Resolved {
    keys().map(|key| (key.name, (key.fixed_default(), Origin::Default))).collect()
}
