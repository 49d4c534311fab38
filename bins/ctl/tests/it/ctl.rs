//! Runs the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output of a successful run.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The JSON output of a successful run.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).expect("the output is JSON")
    }
}

/// A command in a folder, independent of the tester's environment.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_ctl"));
    let service = program.with_file_name("service");
    assert!(service.is_file(), "{} is built with the whole workspace", service.display());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear();
    // Its own cache, so that it does not find the tester's models.
    command.env("HOME", folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A command that treats everything in the folder as approved.
pub(crate) fn trusting(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(folder, arguments);
    command.env("WAYPOST_TRUST_PROJECT", "1");
    command
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("the program ends by itself"),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
    }
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    ran(command(folder, arguments).output().expect("the program starts"))
}

pub(crate) fn run_with_input(folder: &Path, arguments: &[&str], input: &[u8]) -> Ran {
    with_input(&mut command(folder, arguments), input)
}

pub(crate) fn with_input(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is piped");
    // A program that ends early does not read everything.
    drop(stdin.write_all(input));
    drop(stdin);
    ran(child.wait_with_output().expect("the program ends"))
}
