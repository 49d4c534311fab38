//! Commands with values, run for real by dash and bash: a value that is not plain starts nothing,
//! and a plain one is one word.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use waypost_flows::{ActionContext, Flow, Program, Task, parse, plan};

use crate::child::end_of;
use crate::world::{Choices, event};

/// Values that would create the file `CANARY` if something read them as code, and others that are
/// more than a word in some shell.
const HOSTILE: &[&str] = &[
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "'\"; touch CANARY; \"'",
    "x\ntouch CANARY\n",
    "x\r\ntouch CANARY\r\n",
    "x\nEOF\ntouch CANARY",
    "| touch CANARY",
    "a[$(touch CANARY)]",
    "x=a[$(touch CANARY)]",
    "${x:-$(touch CANARY)}",
    "$(touch${IFS}CANARY)",
    "--checkpoint-action=exec=touch CANARY",
    "-exec touch CANARY ;",
    "--upload-pack=touch CANARY",
    "%n%s%d%c",
    "*",
    "~",
    "~root/x",
    "ends with \\",
    "() { :; }; touch CANARY",
    "touch CANARY",
    "{touch,CANARY}",
    "touch\u{a0}CANARY",
    "touch\u{2003}CANARY",
    "!!",
    "#",
    "a>CANARY",
    "(",
    ")",
    "&",
    "<(touch CANARY)",
    "@(a|b)",
    "[a-z]",
    "?",
    "a=b",
    "a,b",
    "",
    "\u{7f}",
    "\u{1}",
    "\u{200e}",
    "\u{feff}",
    "+x",
    "@x",
    "%1",
    ":",
    "-rf",
    "\u{301}",
];

/// Plain values that a shell could take for something else than text.
const PLAIN: &[&str] = &[
    "a",
    "412",
    "0",
    "2",
    "-5",
    ".",
    "/",
    "//",
    "..",
    "...",
    "../x",
    "a/../b",
    "1..9",
    "..z",
    "a.",
    "a+",
    "a@",
    "a-",
    "a%",
    "a:",
    "EOF",
    "E",
    "OF",
    "esac",
    "in",
    "do",
    "done",
    "then",
    "fi",
    "if",
    "case",
    "function",
    "time",
    "exit",
    "break",
    "return",
    "eval",
    "PATH",
    "IFS",
    "HOME",
    "hostile",
    "WAYPOST_EVENT_DATA_y",
    "/dev/null",
    "é",
    "Łódź",
    "\u{0410}\u{0420}\u{0435}\u{0445}",
    "\u{c1}\u{c2}\u{c3}\u{c4}\u{c5}\u{c6}\u{c7}\u{c8}",
    "x\u{301}\u{e0101}",
    "版本",
    "١٢",
    "\u{1d7d8}",
    "\u{1d400}",
];

/// A command, and what it calls `show` with.
type Form = (&'static str, &'static [&'static str]);

/// Commands that call `show` with the value. In the expected arguments, `@` is the value. Wherever
/// a command names `CANARY`, it must not be created: no value makes the shell run that part.
const FORMS: &[Form] = &[
    ("show {{data.x}}", &["@"]),
    (
        "show \"{{data.x}}\" '{{data.x}}' \"a {{data.x}} b\" 'a {{data.x}} b'",
        &["@", "@", "a @ b", "a @ b"],
    ),
    ("show a{{data.x}} {{data.x}}b a{{data.x}}b {{data.x}}{{data.x}}", &["a@", "@b", "a@b", "@@"]),
    ("show --a={{data.x}} -n{{data.x}} a:{{data.x}} %{{data.x}}", &["--a=@", "-n@", "a:@", "%@"]),
    ("show -- {{data.x}}", &["--", "@"]),
    ("show \\\n  {{data.x}}", &["@"]),
    ("show {{data.x}} # {{data.x}} ; : > CANARY", &["@"]),
    ("show {{data.x}} '; : > CANARY' \"; : > CANARY\"", &["@", "; : > CANARY", "; : > CANARY"]),
    ("show \"it's {{data.x}}\" 'a \"{{data.x}}\"'", &["it's @", "a \"@\""]),
    ("show '{\"text\":\"{{data.x}}\"}'", &["{\"text\":\"@\"}"]),
    ("show \"{\\\"text\\\": \\\"{{data.x}} \\\"}\"", &["{\"text\": \"@ \"}"]),
    ("show $(printf %s {{data.x}}) \"$(printf '%s' \"{{data.x}}\")\"", &["@", "@"]),
    ("show `printf %s {{data.x}}`", &["@"]),
    ("show \"$(printf '%s' {{data.x}} '$(: > CANARY)')\"", &["@$(: > CANARY)"]),
    ("A={{data.x}}; show \"$A\" $A", &["@", "@"]),
    ("A=\"{{data.x}}\" B={{data.x}}; show \"$A$B\"", &["@@"]),
    ("export A={{data.x}}; show \"$A\"", &["@"]),
    ("show ${none:-{{data.x}}} \"${none:-{{data.x}}}\"", &["@", "@"]),
    ("A=a{{data.x}}; show \"${A#a}\" \"${A%{{data.x}}}\"", &["@", "a"]),
    ("for a in {{data.x}} 1; do show \"$a\"; done", &["@", "1"]),
    ("for a in 1 {{data.x}}\ndo show $a; done", &["1", "@"]),
    ("case {{data.x}} in zz) : > CANARY;; *) show {{data.x}};; esac", &["@"]),
    ("case zz in {{data.x}}) : > CANARY;; *) show {{data.x}};; esac", &["@"]),
    ("( case zz in {{data.x}})\n: > CANARY\n;; esac ); show {{data.x}}", &["@"]),
    ("show $(case zz in\n{{data.x}}|zy) : > CANARY;; esac) {{data.x}}", &["@"]),
    ("if [ {{data.x}} = zz ]; then : > CANARY; else show {{data.x}}; fi", &["@"]),
    ("[ \"{{data.x}}\" = zz ] && : > CANARY; show {{data.x}}", &["@"]),
    ("test -n {{data.x}} && show {{data.x}}", &["@"]),
    ("[ zz = {{data.x}} -a 1 = 1 ] && : > CANARY; show {{data.x}}", &["@"]),
    ("while [ \"${n:-0}\" = 0 ]; do show {{data.x}}; n=1; done", &["@"]),
    ("set -- {{data.x}} 'a b'; show \"$@\"", &["@", "a b"]),
    ("f() { show \"$1\"; }; f {{data.x}}", &["@"]),
    ("{ show {{data.x}}; } 2>&1", &["@"]),
    ("( show {{data.x}} )", &["@"]),
    ("true && show {{data.x}} || : > CANARY", &["@"]),
    ("! false; show {{data.x}}", &["@"]),
    ("show {{data.x}} > out 2>&1 < /dev/null", &["@"]),
    ("show {{data.x}} >out; show {{data.x}} 2>out", &["@", "@"]),
    ("printf %s {{data.x}} | while read -r a; do :; done; show {{data.x}}", &["@"]),
    ("show \"$(cat <<EOF\n{{data.x}}\n: > CANARY\nEOF\n)\"", &["@\n: > CANARY"]),
    ("show \"$(cat <<'EOF'\na {{data.x}}\n$(: > CANARY)\nEOF\n)\"", &["a @\n$(: > CANARY)"]),
    (": <<EOF\n{{data.x}}\n: > CANARY\nEOF\nshow {{data.x}}", &["@"]),
    (": <<-EOF\n\t{{data.x}}\n\t: > CANARY\n\tEOF\nshow {{data.x}}", &["@"]),
    (": <<EOF\nE{{data.x}}\n: > CANARY\nEOF\nshow {{data.x}}", &["@"]),
    (": <<EOF\n{{data.x}}{{data.y}}\n: > CANARY\nEOF\nshow {{data.x}}", &["@"]),
    (": <<\\E 3<<F\n{{data.x}}\n: > CANARY\nE\n{{data.x}}\n: > CANARY\nF\nshow {{data.x}}", &["@"]),
    ("eval 'show {{data.x}}'", &["@"]),
    ("eval \"eval 'show {{data.x}}'\"", &["@"]),
    ("eval 'show \"{{data.x}}; : > CANARY\"'", &["@; : > CANARY"]),
    ("trap 'show {{data.x}}' EXIT", &["@"]),
    ("sh -c 'show \"$1\"' _ {{data.x}}", &["@"]),
    ("sh -c 'show {{data.x}}'", &["@"]),
    ("sh -c \"sh -c 'show {{data.x}}'\"", &["@"]),
    ("sh -c \"show \\\"{{data.x}} ; : > CANARY\\\"\"", &["@ ; : > CANARY"]),
    ("sh <<EOF\nshow {{data.x}}\nEOF", &["@"]),
    ("printf '%s\\n' 'show {{data.x}}' | sh", &["@"]),
    ("env A={{data.x}} sh -c 'show \"$A\"'", &["@"]),
    ("echo {{data.x}} | xargs show", &["@"]),
    ("find . -maxdepth 0 -exec show {{data.x}} \\;", &["@"]),
    ("show \"a\"{{data.x}}'b'", &["a@b"]),
    ("show ~none{{data.x}}", &["~none@"]),
    ("show {{data.z | default(\"\")}} {{data.z | default(\"'a b'\")}} {{data.x}}", &["a b", "@"]),
    ("show $(( 1 + 1 )); [ 1 -lt {{data.x}} ]", &["2"]),
    ("a=hostile; : $(( {{data.x}} )); show {{data.x}}", &["@"]),
];

/// As above, for bash alone.
const FORMS_OF_BASH: &[Form] = &[
    ("[[ {{data.x}} == zz ]] && : > CANARY; show {{data.x}}", &["@"]),
    ("(( {{data.x}} == 7 )) && : > CANARY; show {{data.x}}", &["@"]),
    ("let a={{data.x}}; show {{data.x}}", &["@"]),
    ("show $[ {{data.x}} * 0 ]", &["0"]),
    ("a=({{data.x}} 'b c'); show \"${a[@]}\"", &["@", "b c"]),
    ("show {a,{{data.x}}}", &["a", "@"]),
    ("show {{{data.x}}}", &["{@}"]),
    ("show {a{{data.x}}}", &["{a@}"]),
    (": <<< {{data.x}}; show {{data.x}}", &["@"]),
    ("show $'{{data.x}}' $\"{{data.x}}\"", &["@", "@"]),
    ("show \"$(cat < <(printf %s {{data.x}}))\"", &["@"]),
    ("set -o histexpand; show {{data.x}}", &["@"]),
    ("shopt -s extglob nullglob; show {{data.x}}", &["@"]),
    ("declare A={{data.x}}; show \"$A\"", &["@"]),
    ("A=b; A+={{data.x}}; show \"$A\"", &["b@"]),
    ("A=a/b; show \"${A/a/{{data.y}}}\" {{data.x}}", &["y/b", "@"]),
];

fn flow(command: &str) -> Flow {
    let action = serde_json::json!({ "type": "command", "command": command });
    let text = format!(
        "flows:\n  - name: a\n    trigger: {{ pattern: \"a:*\" }}\n    actions:\n      - {action}\n"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0)
}

fn program(flow: &Flow, data: &serde_json::Value) -> Result<Program, String> {
    let around = ActionContext {
        project: Path::new("/"),
        programs: Path::new("/nowhere"),
        inherited: &[],
        url: "http://127.0.0.1:1",
        token: "token",
        secret: &|_| None,
        grace: std::time::Duration::from_millis(200),
    };
    match plan(flow, &event(7, "a:x", &data.to_string()), &around).steps.remove(0).task {
        Ok(Task::Run(program)) => Ok(program),
        Ok(other) => panic!("{other:?}"),
        Err(unready) => Err(unready.to_string()),
    }
}

/// The script for a value.
fn script(flow: &Flow, value: &str) -> Result<String, String> {
    let data = serde_json::json!({ "x": value, "y": "y" });
    program(flow, &data).map(|mut program| program.arguments.pop().unwrap())
}

/// Commands to run in one process, each with what it shows.
#[derive(Default)]
struct Batch {
    driver: String,
    cases: Vec<(String, Vec<String>)>,
}

impl Batch {
    /// Adds a form with some values.
    fn add(&mut self, (flow, wanted): (&Flow, &[&str]), values: &[&str]) {
        self.driver.push_str("( :\n");
        for value in values {
            let Ok(script) = script(flow, value) else { continue };
            let quoted = script.replace('\'', r"'\''");
            let number = self.cases.len();
            // A trap is called at the end of its own subshell.
            let [open, close] = if script.starts_with("trap") { ["(", "\n)"] } else { ["", ""] };
            writeln!(
                self.driver,
                "unset n; printf '\\003%s' {number} >> \"$ARGS\"; {open} eval '{quoted}'{close}\n[ ! -e CANARY ] || {{ printf CANARY >> \"$ARGS\"; rm CANARY; }}"
            )
            .unwrap();
            self.cases
                .push((script, wanted.iter().map(|wanted| wanted.replace('@', value)).collect()));
        }
        self.driver.push_str(") >/dev/null 2>&1 </dev/null\n");
    }

    /// Runs them, and checks what each showed.
    fn check(&self, shell: &[&str], locale: &str) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        // A function, and a program for shells within.
        let body = r#"for it in "$@"; do printf '\001%s\002' "$it" >> "$ARGS"; done"#;
        let show = folder.path().join("show");
        std::fs::write(&show, format!("#!/bin/sh\n{body}\n")).unwrap();
        let chmod = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&show, chmod).unwrap();
        let args = folder.path().join("args");
        let hostile = "hostile='a[$(: > CANARY)]'";
        let driver = format!("{hostile}\nshow() {{ {body}; }}\n{}", self.driver);
        std::fs::write(folder.path().join("driver"), driver).unwrap();
        let mut child = Process::new(shell[0])
            .args(&shell[1..])
            .arg("driver")
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
            .env("ARGS", &args)
            .env("LC_ALL", locale)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        end_of(&mut child);
        let written = std::fs::read_to_string(&args).unwrap();
        let shown: Vec<&str> = written.split('\u{3}').skip(1).collect();
        assert_eq!(shown.len(), self.cases.len(), "{shell:?} {locale}: it ended early");
        for (number, (shown, (script, wanted))) in shown.iter().zip(&self.cases).enumerate() {
            let mut expected = number.to_string();
            expected.extend(wanted.iter().flat_map(|wanted| ["\u{1}", wanted, "\u{2}"]));
            assert_eq!(*shown, expected, "{shell:?} {locale}: {script}");
        }
    }
}

#[test]
fn a_value_that_is_not_plain_starts_nothing() {
    for (form, _) in FORMS.iter().chain(FORMS_OF_BASH) {
        let flow = flow(form);
        for value in HOSTILE.iter().filter(|_| form.contains("data.x")) {
            let why = script(&flow, value).expect_err(form);
            let says = ["data.x ", "use exec", "\"$WAYPOST_EVENT_DATA_x\"", "declare its type"];
            assert!(says.iter().all(|it| why.contains(it)), "{form} with {value:?}: {why}");
        }
    }
}

/// The shells and the forms that they run: bash in two modes.
const SHELLS: [(&[&str], &[&[Form]]); 3] = [
    (&["/usr/bin/dash"], &[FORMS]),
    (&["/usr/bin/bash", "--norc"], &[FORMS, FORMS_OF_BASH]),
    (&["/usr/bin/bash", "--norc", "--posix"], &[FORMS, FORMS_OF_BASH]),
];

/// Runs each form in each shell with values, which depend on the shell, the form and whether it starts
/// programs.
fn check_forms<'a>(locale: &str, mut values: impl FnMut(usize, usize, bool) -> Vec<&'a str>) {
    for (idx, (shell, tables)) in SHELLS.iter().enumerate() {
        let mut batch = Batch::default();
        for (number, (form, wanted)) in tables.iter().copied().flatten().enumerate() {
            let is_slow = ["sh ", "| sh", "env ", "xargs ", "find ", "cat "];
            let is_slow = is_slow.iter().any(|slow| form.contains(slow));
            batch.add((&flow(form), wanted), &values(idx, number, is_slow));
        }
        batch.check(shell, locale);
    }
}

#[test]
fn a_plain_value_is_one_word_in_dash_and_bash() {
    check_forms("C.UTF-8", |shell, form, is_slow| {
        // Programs take time: each of their forms gets some of the values. Of the modes of bash, each
        // value is for one.
        let every = match (is_slow, shell) {
            (true, _) => 9,
            (false, 0) => 1,
            (false, _) => 2,
        };
        let values = PLAIN.iter().enumerate();
        values.filter(|(at, _)| (at + form) % every == shell % every).map(|(_, it)| *it).collect()
    });
}

#[test]
fn most_plain_values_are_taken() {
    let taken = FORMS.iter().flat_map(|(form, _)| {
        let flow = flow(form);
        PLAIN.iter().map(move |value| script(&flow, value).is_ok())
    });
    let (taken, refused): (Vec<bool>, Vec<bool>) = taken.partition(|taken| *taken);
    // `..`, delimiters, names in arithmetic and the prefix of the service's variables.
    assert!(refused.len() * 6 < taken.len(), "{} of {}", refused.len(), taken.len());
}

/// A random plain value: letters, marks and digits of any script, and signs.
fn value(choices: &mut Choices) -> String {
    let len = 1 + choices.below(6);
    let chars = (0..len).map(|_| match choices.below(3) {
        0 => b"_./:@%+-azAZ09"[choices.below(14) as usize].into(),
        1 => ['\u{c1}', '\u{141}', '\u{400}', '\u{301}', '\u{660}', '\u{e0101}', '\u{10400}']
            [choices.below(7) as usize],
        _ => char::from_u32(choices.below(0x3_0000) as u32).unwrap_or('x'),
    });
    chars.collect()
}

#[test]
fn a_random_plain_value_is_one_word_whatever_the_locale() {
    let mut choices = Choices(0x5eed_f10e);
    let all: Vec<String> = (0..cases(1000)).map(|_| value(&mut choices)).collect();
    for locale in ["C", "C.UTF-8"] {
        check_forms(locale, |_, _, is_slow| {
            let count = if is_slow { 1 } else { all.len() / 200 };
            let picks = (0..count).map(|_| choices.below(all.len() as u64) as usize);
            picks.map(|pick| all[pick].as_str()).collect()
        });
    }
}

/// The cases of a random test: more in a long run.
#[expect(clippy::disallowed_methods, reason = "how long a test runs is not a setting")]
fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("WAYPOST_TEST_CASES").ok().and_then(|value| value.parse().ok());
    wanted.unwrap_or(usual)
}
