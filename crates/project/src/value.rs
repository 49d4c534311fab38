//! Values of settings: which values each kind accepts, and how they are written.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const TEXT_CHARS_MAX: usize = 4096;
/// From the largest, so that a size is written with the first unit that divides it.
const BYTE_UNITS: &[(&str, u64)] =
    &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const TIME_UNITS: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const LOG_LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// The type of a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Address,
    Url,
    /// A URL of PostgreSQL, without a password.
    Database,
    /// A name of 1 to 64 characters.
    Name,
    Path,
    Model,
    Bool,
    List(Item),
    LogLevel,
    Choice(&'static [&'static str]),
    /// A number from 0 to 1.
    Share,
    Count {
        min: u64,
        max: u64,
    },
    Bytes {
        min: u64,
        max: u64,
    },
    Time {
        min: Duration,
        max: Duration,
    },
}

/// What a list has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item {
    Host,
    Origin,
    /// A glob of paths in the project.
    Glob,
    /// The same after a name and `=`.
    NamedGlob,
    /// A line of a `.gitignore`.
    Pattern,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Address(SocketAddr),
    Text(String),
    Path(PathBuf),
    Bool(bool),
    List(Vec<String>),
    Share(f64),
    Count(u64),
    Bytes(u64),
    Time(Duration),
}

/// A type of settings.
pub(crate) trait Setting {
    /// Its value, whose kind is one of this type.
    fn of(value: &Value) -> Self;
}

macro_rules! types {
    ($($type:ty: $pattern:pat => $value:expr,)*) => {$(
        impl Setting for $type {
            fn of(value: &Value) -> Self {
                match value {
                    $pattern => $value,
                    other => unreachable!("{other:?} is not of the declared kind"),
                }
            }
        }
    )*};
}

types! {
    SocketAddr: Value::Address(address) => *address,
    String: Value::Text(text) => text.clone(),
    PathBuf: Value::Path(path) => path.clone(),
    bool: Value::Bool(is_on) => *is_on,
    Vec<String>: Value::List(items) => items.clone(),
    f64: Value::Share(share) => *share,
    u64: Value::Count(number) | Value::Bytes(number) => *number,
    Duration: Value::Time(time) => *time,
}

impl Setting for usize {
    fn of(value: &Value) -> Self {
        u64::of(value) as Self
    }
}

/// Each after a name and `=`.
impl Setting for Vec<(String, String)> {
    fn of(value: &Value) -> Self {
        let items = Vec::<String>::of(value);
        let parted = items.iter().filter_map(|item| item.split_once('='));
        parted.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
    }
}

/// Zero and an empty text mean none.
impl<T: Setting + Default + PartialEq> Setting for Option<T> {
    fn of(value: &Value) -> Self {
        Some(T::of(value)).filter(|value| *value != T::default())
    }
}

/// A value from YAML.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    Nothing,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Given>),
    Map,
}

impl Kind {
    /// The accepted values, worded to follow "must be".
    pub(crate) fn wanted(self) -> String {
        match self {
            Self::Address => "an IP address and a port such as 127.0.0.1:4747".to_owned(),
            Self::Url => "a URL such as http://127.0.0.1:4747".to_owned(),
            Self::Database => "a URL of PostgreSQL without a password, such as postgresql://waypost@db.example/waypost".to_owned(),
            Self::Name => "1 to 64 letters, digits, dots, hyphens and underscores".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Model => "a model's name, the path of its folder, or none".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::List(item) => format!("a list of {}", item.wanted()),
            Self::LogLevel => {
                "error, warn, info, debug or trace, optionally by target as in info,waypost_memory=debug".to_owned()
            }
            Self::Choice(names) => names.join(" or "),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Bytes { min, max } => {
                format!("a size such as 8MiB, from {} to {}", bytes(min), bytes(max))
            }
            Self::Time { min, max } => {
                format!("a time such as 30s, 500ms, 2m or 7d, from {} to {}", time(min), time(max))
            }
        }
    }

    /// Parses a value from YAML; the error follows the key's name.
    pub(crate) fn read_yaml(self, given: &Given) -> Result<Value, String> {
        match (self, given) {
            (_, Given::Nothing) => {
                Err(format!("has no value; it must be {}, or remove the line", self.wanted()))
            }
            (Self::Bool, Given::Bool(value)) => Ok(Value::Bool(*value)),
            (Self::Count { .. } | Self::Bytes { .. } | Self::Share, Given::Integer(value)) => {
                self.read_text(&value.to_string())
            }
            (Self::Share, Given::Float(value)) => self.read_text(&value.to_string()),
            (Self::List(item), Given::List(items)) => {
                let items: Option<Vec<&str>> = items
                    .iter()
                    .map(|item| if let Given::Text(text) = item { Some(&**text) } else { None })
                    .collect();
                self.read_list(item, items.ok_or_else(|| self.refuse("a list with other types"))?)
            }
            (Self::Bool | Self::Count { .. } | Self::Share | Self::List(_), given) => {
                Err(self.refuse(&shown(given)))
            }
            (_, Given::Text(text)) => self.read_text(text),
            (_, given) => Err(self.refuse(&shown(given))),
        }
    }

    /// Parses a value from a flag or a variable; the error follows the key's name.
    pub(crate) fn read_text(self, text: &str) -> Result<Value, String> {
        let refused = || self.refuse(&quoted(text));
        if text.chars().count() > TEXT_CHARS_MAX || text.contains('\0') {
            return Err(refused());
        }
        let read = match self {
            Self::Address => address(text).map(Value::Address),
            Self::Url => url(text).map(Value::Text),
            Self::Database => {
                let known = is_database(text);
                // It may hold a password: the message does not quote it.
                return known
                    .then(|| Value::Text(text.to_owned()))
                    .ok_or_else(|| self.refuse("the given text"));
            }
            Self::Name => is_name(text).then(|| Value::Text(text.to_owned())),
            Self::Path => (!text.trim().is_empty()).then(|| Value::Path(PathBuf::from(text))),
            Self::Model => (!text.trim().is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Bool => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
                "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::List(item) => {
                let items = text.split(',').map(str::trim).filter(|text| !text.is_empty());
                return self.read_list(item, items.collect());
            }
            Self::LogLevel => is_log_level(text).then(|| Value::Text(text.to_owned())),
            Self::Choice(names) => names.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Share => {
                text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).map(Value::Share)
            }
            Self::Count { min, max } => digits(text)
                .and_then(|(number, unit)| unit.is_empty().then_some(number))
                .filter(|count| (min..=max).contains(count))
                .map(Value::Count),
            Self::Bytes { min, max } => with_unit(text, BYTE_UNITS, Some(1))
                .filter(|unit| (min..=max).contains(unit))
                .map(Value::Bytes),
            Self::Time { min, max } => with_unit(text, TIME_UNITS, None)
                .map(Duration::from_millis)
                .filter(|millis| (min..=max).contains(millis))
                .map(Value::Time),
        };
        read.ok_or_else(refused)
    }

    fn read_list(self, item: Item, items: Vec<&str>) -> Result<Value, String> {
        match items.iter().find(|other| !item.is_right(other)) {
            Some(wrong) => Err(self.refuse(&quoted(wrong))),
            None => Ok(Value::List(items.into_iter().map(str::to_owned).collect())),
        }
    }

    fn refuse(self, given: &str) -> String {
        format!("must be {}, not {given}", self.wanted())
    }
}

impl Item {
    fn wanted(self) -> &'static str {
        match self {
            Self::Host => "host names such as waypost.example:443",
            Self::Origin => "origins such as https://waypost.example",
            Self::Glob => "globs relative to the project, such as vendor/own/**",
            Self::NamedGlob => "TYPE=GLOB, relative to the project, such as decision=notes/adr/**",
            Self::Pattern => ".gitignore patterns such as /drafts/",
        }
    }

    fn is_right(self, text: &str) -> bool {
        match self {
            Self::Host => is_host(text),
            Self::Origin => is_origin(text),
            Self::Glob => is_glob(text),
            Self::NamedGlob => text.split_once('=').is_some_and(|(name, glob)| {
                !name.is_empty()
                    && name.bytes().all(|byte| byte.is_ascii_lowercase())
                    && is_glob(glob)
            }),
            Self::Pattern => !text.trim().is_empty() && !text.contains(char::is_control),
        }
    }
}

impl std::fmt::Display for Value {
    /// In the form that a variable takes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
            Self::Path(value) => write!(f, "{}", value.display()),
            Self::Bool(value) => write!(f, "{value}"),
            Self::List(items) => f.write_str(&items.join(",")),
            Self::Share(value) => write!(f, "{value}"),
            Self::Count(value) => write!(f, "{value}"),
            Self::Bytes(value) => f.write_str(&bytes(*value)),
            Self::Time(value) => f.write_str(&time(*value)),
        }
    }
}

/// Parses a time such as `500ms` or `10m` from `min` to `max`, as in settings.
///
/// # Errors
/// A message that follows the name of what was given, and says what would be valid.
pub fn parse_time(text: &str, min: Duration, max: Duration) -> Result<Duration, String> {
    let kind = Kind::Time { min, max };
    match kind.read_text(text)? {
        Value::Time(time) => Ok(time),
        _ => Err(kind.refuse(&quoted(text))),
    }
}

fn bytes(value: u64) -> String {
    in_units(value, BYTE_UNITS)
}

fn time(value: Duration) -> String {
    if value.is_zero() {
        return "0s".to_owned();
    }
    in_units(u64::try_from(value.as_millis()).unwrap_or(u64::MAX), TIME_UNITS)
}

fn in_units(value: u64, units: &[(&str, u64)]) -> String {
    let (unit, size) = units
        .iter()
        .find(|(_, size)| value >= *size && value.is_multiple_of(*size))
        .or(units.last())
        .expect("there are units");
    format!("{}{unit}", value / size)
}

/// Leading digits as a number, and the rest.
fn digits(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

fn with_unit(text: &str, units: &[(&str, u64)], without: Option<u64>) -> Option<u64> {
    let (number, unit) = digits(text)?;
    let unit = unit.trim_start();
    let size = if unit.is_empty() {
        without?
    } else {
        units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size)?
    };
    number.checked_mul(size)
}

fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?)),
        None => text.parse().ok(),
    }
}

fn url(text: &str) -> Option<String> {
    if text.strip_prefix("unix:").is_some_and(|rest| rest.starts_with('/')) {
        return (!text.contains(char::is_control)).then(|| text.to_owned());
    }
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let host = rest.split('/').next().unwrap_or_default();
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\');
    let is_right = !host.is_empty() && !host.contains('@') && !text.contains(odd);
    is_right.then(|| text.trim_end_matches('/').to_owned())
}

fn is_database(text: &str) -> bool {
    let known = ["postgresql://", "postgres://"].iter().find_map(|it| text.strip_prefix(it));
    known.is_some_and(|rest| {
        let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
        !user.contains(':') && !text.contains(|c: char| c.is_control() || c.is_whitespace())
    })
}

fn is_name(text: &str) -> bool {
    let is_right = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(is_right)
}

fn is_host(text: &str) -> bool {
    let is_right = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    !text.is_empty() && text.chars().all(is_right)
}

fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()) && is_host(host)
    })
}

/// Whether it is a valid glob of paths in the project.
fn is_glob(text: &str) -> bool {
    let climbs_out = text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    !text.trim().is_empty() && !climbs_out && !text.contains(char::is_control)
}

fn is_log_level(text: &str) -> bool {
    let is_target = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c))
    };
    text.split(',').all(|part| match part.trim().split_once('=') {
        Some((target, level)) => is_target(target) && LOG_LEVELS.contains(&level),
        None => LOG_LEVELS.contains(&part.trim()),
    })
}

fn shown(given: &Given) -> String {
    match given {
        Given::Nothing => "nothing".to_owned(),
        Given::Bool(value) => value.to_string(),
        Given::Integer(value) => value.to_string(),
        Given::Float(value) => value.to_string(),
        Given::Text(text) => quoted(text),
        Given::List(_) => "a list".to_owned(),
        Given::Map => "nested keys".to_owned(),
    }
}

/// The text in quotes, without terminal control characters, and truncated if it is long.
fn quoted(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", start.escape_debug())
}
