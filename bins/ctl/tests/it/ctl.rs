//! Runs the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output of a run that went well.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The JSON of a run that went well.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).expect("the output is JSON")
    }
}

/// A command in a folder, with nothing of the tester's own environment that could matter.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctl"));
    command.args(arguments).current_dir(folder).env_clear();
    // A cache of its own, so that the tester's models are not looked at.
    command.env("HOME", folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A command that takes everything in the folder as approved.
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
    // A program that ends early does not read all.
    drop(stdin.write_all(input));
    drop(stdin);
    ran(child.wait_with_output().expect("the program ends"))
}
