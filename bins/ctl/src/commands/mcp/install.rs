//! `mcp install` and `mcp remove`: our entry in a client's configuration file.

use waypost_cli::failure::Result;
use waypost_cli::output::Output;
use waypost_cli::program::Program;

use super::{McpClient, McpClientArgs};
use crate::client_files::{
    self, Action, Change, Edit, Format, Homes, OwnProgram, Place, Scope, Servers, project_path,
};

/// Edits the file, or prints how.
pub(super) fn edit(
    program: &Program,
    args: &McpClientArgs,
    action: Action,
    output: &mut Output,
) -> Result<()> {
    let client = args.client;
    let is_user = args.place.user || client == McpClient::ClaudeDesktop;
    let scope = if is_user { Scope::User } else { Scope::Project };
    let place = place(program, client, scope)?;
    let servers = entry(program, client, scope)?;
    let is_dry = args.place.dry_run;
    // Clients prefer the project's entry of the same name.
    let beside = Some(self::place(program, client, Scope::Project)?);
    let change = Edit { place, entries: &servers, action, beside, is_dry }.run(output)?;
    if scope == Scope::Project && action != Action::Remove && !is_dry {
        // `ctl mcp` starts a service in such a folder only.
        program.project().prepare()?;
    }
    if !is_dry && change != Change::Nothing && !output.is_json() {
        output.note("restart the client, or reload its servers");
    }
    Ok(())
}

fn place(program: &Program, client: McpClient, scope: Scope) -> Result<Place> {
    let variable = |name: &str| std::env::var_os(name);
    let homes = Homes { project: program.project().root(), variable: &variable };
    Ok(match (scope, client) {
        (Scope::Project, McpClient::ClaudeCode) => homes.in_project(".mcp.json"),
        (Scope::Project, McpClient::Cursor) => homes.in_project(".cursor/mcp.json"),
        (Scope::Project, McpClient::Vscode) => homes.in_project(".vscode/mcp.json"),
        (Scope::Project, McpClient::Codex) => homes.in_project(".codex/config.toml"),
        (Scope::Project, McpClient::Zed) => homes.in_project(".zed/settings.json"),
        (Scope::Project, McpClient::Gemini) => homes.in_project(".gemini/settings.json"),
        (_, McpClient::ClaudeDesktop) => homes.in_config("Claude/claude_desktop_config.json")?,
        (Scope::User, McpClient::ClaudeCode) => match variable("CLAUDE_CONFIG_DIR") {
            Some(_) => homes.in_variable("CLAUDE_CONFIG_DIR", ".", ".claude.json")?,
            None => homes.in_home(".claude.json")?,
        },
        (Scope::User, McpClient::Cursor) => homes.in_home(".cursor/mcp.json")?,
        (Scope::User, McpClient::Vscode) => homes.in_config("Code/User/mcp.json")?,
        (Scope::User, McpClient::Codex) => {
            homes.in_variable("CODEX_HOME", ".codex", "config.toml")?
        }
        // The same on macOS.
        (Scope::User, McpClient::Zed) => {
            homes.in_variable("XDG_CONFIG_HOME", ".config", "zed/settings.json")?
        }
        (Scope::User, McpClient::Gemini) => homes.in_home(".gemini/settings.json")?,
    })
}

/// The entry: for a file of the project without paths of this machine, as far as the client finds the folder.
fn entry(program: &Program, client: McpClient, scope: Scope) -> Result<Servers> {
    let ctl = OwnProgram::current()?;
    let project = match (scope, client) {
        (Scope::User, _) => Some(project_path(program)?),
        (Scope::Project, McpClient::Cursor | McpClient::Vscode) => {
            Some("${workspaceFolder}".to_owned())
        }
        // They start servers in the project's folder or below.
        (Scope::Project, _) => None,
    };
    let mut arguments: Vec<String> =
        project.into_iter().flat_map(|project| ["--project".to_owned(), project]).collect();
    arguments.extend(client_files::options(program)?);
    arguments.push("mcp".to_owned());
    let format = match client {
        McpClient::ClaudeCode
        | McpClient::ClaudeDesktop
        | McpClient::Cursor
        | McpClient::Gemini => Format::Json { list: "mcpServers" },
        McpClient::Vscode => Format::TypedJson { list: "servers" },
        McpClient::Zed => Format::Json { list: "context_servers" },
        McpClient::Codex => Format::Toml { list: "mcp_servers" },
    };
    let command = if scope == Scope::User { ctl.path } else { ctl.short };
    Ok(Servers { format, command, arguments })
}
