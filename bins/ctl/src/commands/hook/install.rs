//! `hook install` and `hook remove`: our hooks in an agent's configuration file.

use waypost_api::shell_word;
use waypost_cli::failure::Result;
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_recall::Harness;

use super::HookInstallArgs;
use crate::client_files::{
    self, Action, Change, Edit, Event, Homes, Hooks, OwnProgram, Place, Scope, Shape, project_path,
};

/// The events of `ctl hook`, each with its names in files with groups and in Cursor's, and its seconds. The commands
/// have shorter limits of their own; Codex permits 3 seconds at the end of a session.
const EVENTS: [(&str, &str, &str, usize); 5] = [
    ("session-start", "SessionStart", "sessionStart", 5),
    ("user-prompt", "UserPromptSubmit", "beforeSubmitPrompt", 5),
    ("stop", "Stop", "stop", 30),
    ("pre-compact", "PreCompact", "preCompact", 5),
    ("session-end", "SessionEnd", "sessionEnd", 3),
];

/// Edits the file, or prints how.
pub(super) fn edit(
    program: &Program,
    args: &HookInstallArgs,
    action: Action,
    output: &mut Output,
) -> Result<()> {
    let scope = if args.place.user { Scope::User } else { Scope::Project };
    let place = place(program, args.hook.harness, scope)?;
    let hooks = hooks(program, args.hook.harness, scope)?;
    let is_dry = args.place.dry_run;
    // Agents run the hooks of both files.
    let beside = Some(self::place(program, args.hook.harness, Scope::Project)?);
    let change = Edit { place, entries: &hooks, action, beside, is_dry }.run(output)?;
    let is_new = matches!(change, Change::Added | Change::Updated) && !is_dry;
    if is_new && args.hook.harness == Harness::Codex && !output.is_json() {
        output.note("Codex asks you to trust each hook: run `/hooks` in it");
    }
    Ok(())
}

fn place(program: &Program, harness: Harness, scope: Scope) -> Result<Place> {
    let variable = |name: &str| std::env::var_os(name);
    let homes = Homes { project: program.project().root(), variable: &variable };
    Ok(match (scope, harness) {
        (Scope::Project, Harness::Claude) => homes.in_project(".claude/settings.json"),
        (Scope::Project, Harness::Codex) => homes.in_project(".codex/hooks.json"),
        (Scope::Project, Harness::Cursor) => homes.in_project(".cursor/hooks.json"),
        (Scope::User, Harness::Claude) => {
            homes.in_variable("CLAUDE_CONFIG_DIR", ".claude", "settings.json")?
        }
        (Scope::User, Harness::Codex) => homes.in_variable("CODEX_HOME", ".codex", "hooks.json")?,
        (Scope::User, Harness::Cursor) => homes.in_home(".cursor/hooks.json")?,
    })
}

fn hooks(program: &Program, harness: Harness, scope: Scope) -> Result<Hooks> {
    let ctl = OwnProgram::current()?;
    let command = shell_word(if scope == Scope::User { &ctl.path } else { &ctl.short });
    let project = match (scope, harness) {
        (Scope::User, _) => format!(" --project {}", shell_word(&project_path(program)?)),
        (Scope::Project, Harness::Claude) => " --project \"$CLAUDE_PROJECT_DIR\"".to_owned(),
        // They run the hooks of a project in its folder or below.
        (Scope::Project, Harness::Codex | Harness::Cursor) => String::new(),
    };
    let options = client_files::options(program)?;
    let options = options.iter().fold(String::new(), |all, it| all + " " + &shell_word(it));
    let harness_name = harness.as_str();
    let shape = match harness {
        Harness::Claude | Harness::Codex => Shape::Groups,
        Harness::Cursor => Shape::Flat,
    };
    let events = EVENTS.iter().map(|&(event, grouped, flat, timeout_seconds)| Event {
        name: if shape == Shape::Flat { flat } else { grouped },
        command: format!("{command}{project}{options} hook {event} --harness {harness_name}"),
        timeout_seconds,
        // Codex skips hooks with `async`.
        is_async: event == "stop" && harness == Harness::Claude,
    });
    Ok(Hooks { shape, events: events.collect() })
}
