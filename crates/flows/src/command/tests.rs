use super::Command;
use crate::DataTypes;

fn types() -> DataTypes {
    let text = "{n: integer, f: number, b: boolean, s: slug, c: 'one of [echo, printf]', m: 'matches [a-z0-9/-]+', t: text, w: 'one of [a b, c]'}";
    crate::definition::yaml::read(text).unwrap()
}

fn parsed(text: &str) -> Command {
    Command::new(text, &types()).unwrap_or_else(|it| panic!("{text}: {it}"))
}

#[test]
fn a_value_is_written_as_its_place_needs_it() {
    for (text, script) in [
        ("echo {{data.t}}", "echo \"${V}0}\""),
        ("echo \"a {{data.t}}\" '{{data.s}}'", "echo \"a ${V}0}\" ''\"${V}1}\"''"),
        ("echo a # {{data.t}}", "echo a # "),
        ("echo \"{{data.t}} {{data.s}} \"", "echo \"${V}0} ${V}1} \""),
        ("echo \" {{data.t}}  {{data.t}}\"", "echo \" ${V}0}  ${V}1}\""),
        ("echo $(( {{data.n}} + 1 ))", "echo $(( ${V}0} + 1 ))"),
        ("cat <<EOF\n<{{data.s}}>\nEOF", "cat <<EOF\n<${V}0}>\nEOF"),
        ("x={{data.s}}; echo \"$x\" > {{data.m}}", "x=\"${V}0}\"; echo \"$x\" > \"${V}1}\""),
        ("{{data.c}} {{data.n}}", "\"${V}0}\" \"${V}1}\""),
        ("echo ${x:-{{data.s}}}", "echo ${x:-${V}0}}"),
        ("for it in {{data.s}} b; do echo $it; done", "for it in \"${V}0}\" b; do echo $it; done"),
        (
            "case {{data.s}} in {{data.m}}) echo y;; esac",
            "case \"${V}0}\" in \"${V}1}\") echo y;; esac",
        ),
        ("sh -c \"echo {{data.n}}\"", "sh -c \"echo ${V}0}\""),
        ("timeout {{data.n}} ls {{data.s}}", "timeout \"${V}0}\" ls \"${V}1}\""),
    ] {
        let script = script.replace("${V}", "${WAYPOST_VALUE_");
        assert_eq!(parsed(text).script(), script, "{text}");
    }
}

#[test]
fn what_is_refused_is_refused_at_its_place() {
    for (text, line, column, said) in [
        ("", 1, 1, "empty"),
        ("echo \0", 1, 6, "NUL"),
        ("echo 'open {{data.t}}", 1, 6, "not closed"),
        ("if {{data.t}}", 1, 1, "invalid shell syntax"),
        ("{{data.t}} --help", 1, 1, "choose the program"),
        ("{{data.s}} --help", 1, 1, "choose the program"),
        ("true && {{data.n}}", 1, 9, "choose the program"),
        ("A=1 {{data.m}}", 1, 5, "choose the program"),
        ("echo\r{{data.t}}", 1, 5, "control character"),
        ("echo \"${WAYPOST_VALUE_0}\" {{data.t}}", 1, 9, "reserved"),
        ("echo a\nsh -c {{data.t}}", 2, 7, "the name of a script file"),
        (
            "echo {{data.t | default(\"x\")}} {{data.n | default(\"x\")}}",
            1,
            32,
            "does not have the type",
        ),
        ("cat <<'EOF'\n{{data.s}}\nEOF\n", 2, 1, "without quotes"),
        ("{{data.s}}=1", 1, 1, "name of a variable"),
        ("export {{data.s}}", 1, 8, "name of a variable"),
        ("echo $(( {{data.s}} ))", 1, 10, "arithmetic"),
        ("echo ${{{data.s}}}", 1, 6, "an expansion other"),
        ("eval {{data.s}}", 1, 6, "choose the program"),
        (". {{data.s}}", 1, 3, "choose the program"),
        ("xargs {{data.s}}", 1, 7, "choose the program"),
        ("flock f {{data.s}}", 1, 9, "choose the program"),
        ("sh {{data.s}}", 1, 4, "choose the program"),
        ("find . -exec {{data.s}} ';'", 1, 14, "choose the program"),
        ("[[ {{data.s}} -eq 1 ]]", 1, 1, "keyword"),
    ] {
        let error = match Command::new(text, &types()) {
            Ok(command) => panic!("{text} became {}", command.script()),
            Err(error) => error,
        };
        assert!(error.what.contains(said), "{text}: {error}");
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
    let long = format!("echo {{{{data.t}}}} {}", "x".repeat(super::COMMAND_BYTES_MAX));
    assert!(long.parse::<Command>().unwrap_err().what.contains("16384"));
    let plain = |bytes: usize| format!("echo {}", "x".repeat(bytes - 5)).parse::<Command>();
    assert!(plain(super::SCRIPT_BYTES_MAX).is_ok());
    let said = plain(super::SCRIPT_BYTES_MAX + 1).unwrap_err().what;
    assert_eq!(
        said,
        "the command has 65537 bytes; the limit is 65536: put it into a script of the project"
    );
    let deep = format!("{}echo {{{{data.t}}}}{}", "(".repeat(100), ")".repeat(100));
    assert!(deep.parse::<Command>().is_err());
}

#[test]
fn a_command_without_values_is_taken_as_it_is() {
    for text in ["eval \"$x\"", "echo `ls` | sh", "docker inspect -f '{{.Id}}' x", "echo 'open"] {
        assert_eq!(text.parse::<Command>().unwrap().script(), text);
    }
}

#[test]
fn the_programs_that_get_texts_are_known() {
    for (text, wanted) in [
        ("gh pr merge {{data.t}} --squash", &[("gh", "t")][..]),
        ("echo {{data.n}} | tee x", &[]),
        (
            "echo {{data.t}} a{{data.w}} | tee x",
            &[("echo", "t"), ("echo", "w"), ("tee", "t"), ("tee", "w")],
        ),
        ("if [ -n {{data.t}} ]; then ./run {{data.s}}; fi", &[("[", "t")]),
    ] {
        let command = parsed(text);
        assert_eq!(command.receivers().collect::<Vec<_>>(), wanted, "{text}");
    }
}

#[test]
fn a_value_that_is_missing_stops_the_command() {
    let command = parsed("ls -d \"$DIR/{{data.sub}}\"");
    assert_eq!(command.variables(&waypost_events::Data::default()).unwrap_err().key, "sub");
    let command = parsed("echo {{data.sub | default('none')}}");
    let variables = command.variables(&waypost_events::Data::default()).unwrap();
    assert_eq!(variables, [("WAYPOST_VALUE_0".to_owned(), "none".to_owned())]);
}
