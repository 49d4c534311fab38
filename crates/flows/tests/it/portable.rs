//! Forms that dash and bash read differently, and what to write instead.

use crate::deciding::{command, problem_of};

#[test]
fn a_form_that_dash_lacks_is_rejected_with_another_one() {
    for (text, wanted) in [
        ("set -euo pipefail; ls", "bash -c 'set -o pipefail; …'"),
        ("set -o pipefail", "bash -c 'set -o pipefail; …'"),
        ("set -o errtrace", "bash -c 'set -o errtrace; …'"),
        ("set -E", "bash -c '…'"),
        ("sh -o pipefail -c ls", "bash -c 'set -o pipefail; …'"),
        ("sh -c 'set -o pipefail; ls'", "bash -c 'set -o pipefail; …'"),
        ("bash -c \"sh -c 'set -o pipefail'\"", "bash -c 'set -o pipefail; …'"),
        ("[ \"$X\" == main ]", "write = for an equal text, and case"),
        ("if [ \"$X\" == main* ]; then ls; fi", "write = for an equal text, and case"),
        ("test \"$X\" == a", "write = for an equal text, and case"),
        ("[[ \"$X\" == main* ]]", "write [ \"$x\" = a ] for an equal text, and case"),
        ("diff <(sort a) <(sort b)", "a temporary file (mktemp)"),
        ("sort a | tee >(wc -l)", "a temporary file (mktemp)"),
        ("cat < <(sort a)", "a temporary file (mktemp)"),
        ("cat <<< x", "or a here-document"),
        ("sh -c 'cat <<< x'", "or a here-document"),
        ("cp a{,.bak}", "write each word"),
        ("for i in {1..3}; do echo \"$i\"; done", "write each word"),
        ("mkdir -p \"$(date)\"/{a,b}", "write each word"),
        ("source ./good.sh", "write . ./FILE"),
        ("pushd lab; ls", "write ( cd FOLDER && … )"),
        ("shopt -s nullglob", "bash -c '…'"),
        ("declare -A x", "write NAME=VALUE, or export NAME=VALUE"),
        ("mapfile -t x < a", "while IFS= read -r line"),
        ("read -a arr", "write IFS= read -r NAME"),
        ("trap 'ls' ERR", "write trap … EXIT"),
        ("type -P ls", "write command -v NAME"),
        ("exec -a x ls", "write the program without the option"),
        ("wait -n", "write wait, or wait PID"),
        ("printf -v x y", "write NAME=$(printf FORMAT …)"),
    ] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains(wanted), "{text}: {problem}");
    }
}

#[test]
fn a_form_of_bash_is_accepted_in_a_text_of_bash() {
    let mut wrong = Vec::new();
    for text in [
        "bash -c 'set -euo pipefail; ./x.sh | tee log'",
        "bash -eu -o pipefail -c './x.sh | tee log'",
        "bash -c 'diff <(sort a) <(sort b)'",
        "bash -c 'cp a{,.bak}'",
        "bash -c 'cat <<< x'",
        "bash -c '[ \"$X\" == main ]'",
        "bash -c 'source ./good.sh'",
        "bash -c 'shopt -s nullglob; ls'",
        "bash -c 'mapfile -t x < a'",
        "bash -c 'read -ra x < a'",
        "bash -c 'trap ls ERR'",
        "set -eu; ./x.sh | tee log",
        "[ \"$X\" = main ]",
        "case \"$X\" in main*) ls;; esac",
        "git log HEAD@{1} 'a{b,c}' \"{a,b}\" {}",
        "find . -name x -exec wc -l {} +",
        "trap ls EXIT",
        "read -r line < a",
        "wait; type ls; command -v ls; export -p",
    ] {
        wrong.extend(problem_of(&command(text)).map(|why| (text, why)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_command_that_sets_path_is_rejected_with_its_place() {
    for text in ["PATH=$HOME/.local/bin:$PATH; ls", "PATH=/x ls", "export PATH=\"/x:$PATH\"; ls"] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains("sets PATH"), "{text}: {problem}");
        assert!(problem.starts_with("2:"), "{text}: {problem}");
    }
}

#[test]
fn the_error_for_an_argument_of_a_program_that_runs_others_names_the_variable() {
    for text in ["npm test -- --grep \"{{data.s}}\"", "docker build -t app:{{data.s}} ."] {
        let problem = crate::closed::problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains("or write \"$WAYPOST_EVENT_DATA_key\""), "{text}: {problem}");
        let variable = text
            .replace("{{data.s}}", "$WAYPOST_EVENT_DATA_s")
            .replace("app:$WAYPOST_EVENT_DATA_s", "\"app:$WAYPOST_EVENT_DATA_s\"");
        assert_eq!(crate::closed::problem_of(&command(&variable)), None, "{variable}");
    }
}
