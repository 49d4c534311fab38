//! The command line and the service's log.

mod hint;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use waypost_api::{escaped, visible_json};
use waypost_project::{Flag, LogFormat, LogSettings, Project, Settings, Sources};
use waypost_service::Options;
use waypost_time::Timestamp;

/// Serve memory, context, events and flows of a project over HTTP
#[derive(Debug, Parser)]
#[command(
    name = "service",
    version,
    after_help = "Each setting can also be set by its WAYPOST_* variable or in .waypost/config.yaml.\n\nExample: service --project ~/notes --listen 127.0.0.1:4747"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Arguments {
    /// Project folder [default: the nearest parent folder with .waypost, else .git]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The address and port to listen on
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The embedding model: a name, the path of a model folder, or `none`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Use the embedding model only from the cache, without downloading it
    #[arg(long)]
    offline: bool,
    /// Allow a non-loopback address without TLS: tokens and memories then cross the network in the clear
    #[arg(long)]
    allow_remote: bool,
    /// Treat everything in the project as approved, for containers and CI
    #[arg(long)]
    trust_project: bool,
    /// Stop after that time without use, from 1s to 30d: no request, stream or event, and no work in the background
    #[arg(long, value_name = "TIME", value_parser = idle_time)]
    exit_idle: Option<Duration>,
    /// Leave the terminal's session, for `ctl mcp`
    #[arg(long, hide = true)]
    detach: bool,
    /// Log format: `text` or `json`
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Log filter, such as `info` or `waypost_service=debug`
    #[arg(long, value_name = "FILTER")]
    log_level: Option<String>,
}

impl Arguments {
    /// Leaves the session of the terminal, whose signals are for other programs, if asked to.
    pub(crate) fn detach(&self) -> anyhow::Result<()> {
        if self.detach {
            rustix::process::setsid().context("cannot leave the terminal's session")?;
        }
        Ok(())
    }

    /// The resolved options of the service and of its log.
    pub(crate) fn resolve(self) -> anyhow::Result<(Options, LogSettings)> {
        let current_dir = env::current_dir().context("cannot determine the current folder")?;
        let project = match &self.project {
            Some(dir) => Project::at(dir)?,
            None => Project::find(&current_dir)?,
        };
        let settings = Settings::resolve(
            &Sources::new(&project, &current_dir, &|name| env::var_os(name))
                .with_flags(&self.flags())
                .with_variables(
                    &env::vars_os()
                        .filter_map(|(name, _)| name.into_string().ok())
                        .collect::<Vec<_>>(),
                )
                .with_trust_project(self.trust_project),
        )?;
        settings.check_listen()?;
        let mut options = Options::new(project, &settings);
        let text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        options.exit_idle = self.exit_idle;
        options.flows.environment = env::vars_os().filter_map(text).collect();
        if let Some(hub) = &mut options.model.sources.hub {
            // The variables of the model hub's own clients.
            let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
            hub.endpoint = given("HF_ENDPOINT");
            hub.token = given("HF_TOKEN");
        }
        Ok((options, settings.log))
    }

    /// The log format, as far as flags and variables determine it.
    pub(crate) fn log_format(&self) -> LogFormat {
        let variable = || env::var("WAYPOST_LOG_FORMAT").ok();
        match self.log_format.clone().or_else(variable).as_deref() {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        }
    }

    fn flags(&self) -> Vec<Flag> {
        let on = |it: bool, value: &str| it.then(|| value.to_owned());
        [
            ("listen", "--listen", self.listen.clone()),
            ("model.name", "--model", self.model.clone()),
            ("model.fetch", "--offline", on(self.offline, "false")),
            ("allow_remote", "--allow-remote", on(self.allow_remote, "true")),
            ("log.format", "--log-format", self.log_format.clone()),
            ("log.level", "--log-level", self.log_level.clone()),
        ]
        .into_iter()
        .filter_map(|(key, flag, value)| Some(Flag::new(key, flag, value?)))
        .collect()
    }
}

fn idle_time(text: &str) -> Result<Duration, String> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    waypost_project::parse_time(text, Duration::from_secs(1), 30 * DAY)
}

/// Whether the start failed because another process has the store open.
pub(crate) fn is_in_use(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let memory = cause.downcast_ref::<waypost_memory::Error>();
        let events = cause.downcast_ref::<waypost_events::Error>();
        memory.is_some_and(|memory| memory.kind() == waypost_memory::ErrorKind::Locked)
            || events.is_some_and(|event| event.kind() == waypost_events::ErrorKind::Locked)
    })
}

/// The reason why the service failed to start or ended, formatted as a log line.
pub(crate) fn startup_error(
    error: &anyhow::Error,
    format: LogFormat,
    data_dir: Option<&Path>,
) -> String {
    let message = format!("{error:#}");
    let hint = hint::hint(error, data_dir);
    match format {
        LogFormat::Text => {
            let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {}", escaped(&hint)));
            format!("error: {}{hint}", escaped(&message))
        }
        LogFormat::Json => {
            let mut line = serde_json::json!({
                "timestamp": Timestamp::from(SystemTime::now()),
                "level": "ERROR",
                "fields": { "message": message },
                "target": "waypost_service",
            });
            if let Some(hint) = hint {
                line["fields"]["hint"] = hint.into();
            }
            visible_json(&line.to_string()).into_owned()
        }
    }
}

/// The filter of a `log.level`. Libraries log at `info` at most: what they log in detail can contain
/// a value that they send, such as the address of a web hook.
fn filter(level: &str) -> String {
    const DETAILED: [&str; 2] = ["debug", "trace"];

    let is_detailed = |text: &str| DETAILED.contains(&text.trim().to_ascii_lowercase().as_str());
    let directives = level.split(',').map(|part| match part.split_once('=') {
        None if is_detailed(part) => format!("info,waypost={part}"),
        Some((target, level)) if is_detailed(level) && !target.trim().starts_with("waypost") => {
            format!("{target}=info")
        }
        _ => part.to_owned(),
    });
    // rmcp logs every message; `rmcp=info` in the filter shows it. A lower level for everything is one for rmcp, too.
    let is_verbose = |text: &str| text.trim().eq_ignore_ascii_case("info") || is_detailed(text);
    let rmcp = if level.split(',').any(is_verbose) { "rmcp=warn," } else { "" };
    format!("{rmcp}{}", directives.collect::<Vec<_>>().join(","))
}

/// The fields of a line of text, the message included. Their values come from requests, files and other
/// programs: none of them begins a line or reaches the terminal as more than text.
struct EscapedFields;

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> std::fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&escaped(&text))
    }
}

/// Standard error, for lines of JSON: JSON itself escapes only some of these characters.
struct EscapedJson;

impl Write for EscapedJson {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().write_all(visible_json(&text).as_bytes()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Starts logging to standard error.
pub(crate) fn start_log(settings: &LogSettings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter(&settings.level))
        .with_context(|| format!("log.level: \"{}\" is not a valid log filter", settings.level))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    match settings.format {
        LogFormat::Text => log
            .with_writer(io::stderr)
            .with_target(false)
            .with_ansi(io::stderr().is_terminal())
            .fmt_fields(EscapedFields)
            .init(),
        LogFormat::Json => log.with_writer(|| EscapedJson).json().init(),
    }
    // A panic's message may quote a content or a query; its location is enough.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        tracing::error!(place, thread, "panicked");
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn only_our_own_crates_log_details() {
        assert_eq!(filter("warn"), "warn");
        assert_eq!(filter("TRACE"), "rmcp=warn,info,waypost=TRACE");
        let detailed = "rmcp=warn,info,waypost::request=debug";
        assert_eq!(filter("info,waypost::request=debug"), detailed);
        let libraries = "rmcp=warn,info,waypost=debug, ureq=info";
        assert_eq!(filter("debug, ureq=trace"), libraries);
        assert_eq!(filter("info,rmcp=info"), "rmcp=warn,info,rmcp=info");
    }
}
