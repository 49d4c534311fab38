use std::process::{Command as Process, Stdio};

use waypost_events::Data;

use super::Command;

/// Values that would do harm if a shell read them.
const HOSTILE: [&str; 22] = [
    "; touch CANARY",
    "$(touch CANARY)",
    "`touch CANARY`",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "'\"; touch CANARY; \"'",
    "x\ntouch CANARY\n",
    "x\r\ntouch CANARY\r\n",
    "x\nEOF\ntouch CANARY",
    "x;touch${IFS}CANARY",
    "a[$(touch CANARY)]",
    "${x:-$(touch CANARY)}",
    "ends with \\",
    "\\\n",
    "*",
    "~",
    "../../etc/passwd",
    "() { :; }; touch CANARY",
    "%s%n !!",
    "\u{1b}[31m \u{202e}",
    "{{data.other}}",
    "  two  blanks\tand a tab ",
];

/// Each writes the value to `out` and nothing else.
const SAFE: [&str; 14] = [
    "printf %s {{data.x}} > out",
    "printf %s \"{{data.x}}\" > out",
    "printf %s '{{data.x}}' > out",
    "printf %s \"\"{{data.x}}'' > out",
    "v={{data.x}}; printf %s \"$v\" > out",
    "v=\"{{data.x}}\"; printf %s \"$v\" >out # {{data.x}}",
    "printf %s \"$(printf '%s.' {{data.x}})\" > tmp; head -c -1 tmp > out",
    "printf %s \"$(printf '%s.' \"{{data.x}}\")\" > tmp; head -c -1 tmp > out",
    "printf %s \"$(printf '%s.' '{{data.x}}')\" > tmp; head -c -1 tmp > out",
    "cat > tmp <<EOF\n{{data.x}}\nEOF\nhead -c -1 tmp > out",
    "cat > tmp <<-EOF\n{{data.x}}\n\tEOF\nhead -c -1 tmp > out",
    "if true; then printf %s {{data.x}} > out; fi",
    "( printf %s {{data.x}} ) > out",
    "sh -c 'printf %s \"$1\"' _ {{data.x}} > out",
];

#[test]
fn a_value_arrives_as_it_is_and_is_never_code() {
    for shell in ["sh", "bash"] {
        for text in SAFE {
            let command: Command = text.parse().unwrap_or_else(|it| panic!("{text}: {it}"));
            for value in HOSTILE {
                let dir = tempfile::tempdir().unwrap();
                let mut data = Data::default();
                data.insert("x", value).unwrap();
                let output = Process::new(shell)
                    .arg("-c")
                    .arg(command.script())
                    .current_dir(dir.path())
                    .env_clear()
                    .env("PATH", "/usr/bin:/bin")
                    .envs(command.variables(&data).unwrap())
                    .stdin(Stdio::null())
                    .output()
                    .unwrap();
                let place = format!("{shell}: {text} with {value:?} as {}", command.script());
                assert!(!dir.path().join("CANARY").exists(), "{place}");
                assert!(output.status.success(), "{place}: {output:?}");
                let out = std::fs::read(dir.path().join("out")).unwrap();
                assert_eq!(String::from_utf8_lossy(&out), value, "{place}");
            }
        }
    }
}

#[test]
fn where_a_value_would_be_read_as_code_the_command_is_refused() {
    for (text, column, said) in [
        ("echo `cat {{data.x}}`", 11, "backticks"),
        ("echo $(({{data.x}} + 1))", 9, "arithmetic"),
        ("echo ${a:-{{data.x}}}", 11, "${…}"),
        ("eval \"{{data.x}}\"", 7, "eval"),
        ("eval echo {{data.x}}", 11, "eval"),
        ("sh -c 'echo {{data.x}}'", 13, "sh would"),
        ("/bin/bash -lc \"echo {{data.x}}\"", 21, "bash would"),
        ("sudo bash -c \"{{data.x}}\"", 15, "bash would"),
        ("python3 -c 'print(\"{{data.x}}\")'", 20, "python3 would"),
        ("perl -ne 'print {{data.x}}'", 17, "perl would"),
        ("ssh host run {{data.x}}", 14, "ssh would"),
        ("awk '{print {{data.x}}}'", 13, "awk would"),
        ("ls | xargs -I _ echo {{data.x}}", 22, "xargs would"),
        ("env -S \"{{data.x}}\"", 9, "env would"),
        ("trap 'rm {{data.x}}' EXIT", 10, "trap would"),
        ("{{data.x}} --help", 1, "choose the program"),
        ("true && {{data.x}}", 9, "choose the program"),
        ("A=1 {{data.x}}", 5, "choose the program"),
        ("echo $({{data.x}})", 8, "choose the program"),
        ("cat <<{{data.x}}", 7, "delimiter"),
        ("", 1, "empty"),
        ("echo 'open", 11, "single quote is open"),
        ("echo \"open", 11, "double quote is open"),
        ("echo \0", 6, "NUL"),
    ] {
        let error = match text.parse::<Command>() {
            Ok(command) => panic!("{text} became {}", command.script()),
            Err(error) => error,
        };
        assert!(error.what.contains(said), "{text}: {error}");
        assert_eq!(error.column, column, "{text}: {error}");
    }
    let quoted = "cat <<'EOF'\n{{data.x}}\nEOF\n".parse::<Command>().unwrap_err();
    assert_eq!((quoted.line, quoted.column), (2, 1));
}

#[test]
fn a_value_that_is_missing_stops_the_command() {
    let command: Command = "rm -rf \"$DIR/{{data.sub}}\"".parse().unwrap();
    assert_eq!(command.variables(&Data::default()).unwrap_err().key, "sub");
    let command: Command = "echo {{data.sub | default('none')}}".parse().unwrap();
    let variables = command.variables(&Data::default()).unwrap();
    assert_eq!(variables, [("WAYPOST_VALUE_0".to_owned(), "none".to_owned())]);
}
