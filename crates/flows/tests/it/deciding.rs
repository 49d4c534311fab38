//! A command says literally which programs it runs.

use std::fs;

use waypost_flows::Loader;

/// What is wrong with a flow with this action, as JSON.
pub(crate) fn problem_of(action: &serde_json::Value) -> Option<String> {
    let root = tempfile::tempdir().unwrap();
    let flows = root.path().join(".waypost/flows");
    fs::create_dir_all(&flows).unwrap();
    let text = format!(
        "flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\", data: {{ w: 'one of [sh, make]', n: integer }} }}, env: {{ TOOL: ./x.sh, SHELL_OPTION: -c, SH: sh }}, actions: [{action}] }}\n"
    );
    fs::write(flows.join("a.yaml"), text).unwrap();
    let home = ("HOME".to_owned(), "/home/me".to_owned());
    let mut loader = Loader::new(root.path(), &flows, None).with_environment([home]);
    loader.load();
    loader.status()[0].problem.as_ref().map(ToString::to_string)
}

pub(crate) fn command(text: &str) -> serde_json::Value {
    serde_json::json!({ "type": "command", "command": text })
}

#[test]
fn a_name_that_the_shell_computes_is_rejected() {
    let mut wrong = Vec::new();
    for text in [
        "./{x,y}.sh",
        "bash -c './{x,y}.sh'",
        "sh ./{x,y}.sh",
        "bash -eu -o pipefail -c './{x,y}.sh'",
        "bash --norc ./{x,y}.sh",
        "./x*.sh",
        "./x.s?",
        "./[x].sh",
        "sh ./*.sh",
        ". ./{x,y}.sh",
        "source ./x*",
        "~me/x.sh",
        "\"$(echo ./x.sh)\"",
        "`echo ./x.sh`",
        "$(echo ./x.sh) now",
        "$NONE",
        "\"$1\" x",
        "f() { \"$@\"; }; f ./x.sh",
        "T=$(echo ./x.sh); $T",
        "T=`echo ./x.sh`; $T",
        "T=./x; T+=.sh; $T",
        "T=./x.shh; ${T%h}",
        "T=(./x.sh); $T",
        "read T < name; $T",
        "printf -v T ./x%s .sh; $T",
        "T=a; for T in ./x*; do $T; done",
        "P=T; : ${!P:=./x.sh}; $T",
        "${NONE:-'./x.'sh}",
        "env ./{x,y}.sh",
        "env -i A=b nice -n 5 ./{x,y}.sh",
        "timeout 5 ./{x,y}.sh",
        "timeout --signal KILL -k 1 5 ./{x,y}.sh",
        "timeout $(cat a) ./x.sh",
        "sudo -u me ./{x,y}.sh",
        "xargs -n 1 ./{x,y}.sh",
        "ls | xargs -I{} {}",
        "ls | xargs -I F sh F",
        "find . -name '*.sh' -exec sh {} ';'",
        "find . -exec ./{x,y}.sh {} +",
        "command ./{x,y}.sh",
        "exec ./{x,y}.sh",
        "exec -a name ./{x,y}.sh",
        "builtin . ./{x,y}.sh",
        "time ./{x,y}.sh",
        "! ./{x,y}.sh",
        "A=b ./{x,y}.sh",
        "if ./{x,y}.sh; then a; fi",
        "echo $(./{x,y}.sh)",
        "echo \"$(./{x,y}.sh)\"",
        "cat <(./{x,y}.sh)",
        ">log ./{x,y}.sh",
        "sh >log ./{x,y}.sh",
        "sh <<END ./{x,y}.sh\nEND",
        "sh <<END\n./{x,y}.sh\nEND",
        "bash <<< './{x,y}.sh'",
        "eval \"$(cat a)\"",
        "eval ./{x,y}.sh",
        "eval './{x,y}.sh'",
        "trap './{x,y}.sh' EXIT",
        "alias a='./{x,y}.sh'; a",
        "\"${TOOL:-./y.sh}\" \"$1\"",
        "~+/x.sh",
        "cd a && ~-/x.sh",
        "~1/x.sh",
        "$SHELL -c true",
        "timeout \"$(cat limit)\" ./x.sh",
        "env DIR=tools sh -c '$DIR/x.sh'",
        "D=to; D=${D}ols; ./$D/x.sh",
        ": ${DIR:=./tools}; $DIR/x.sh",
        "hash -p ./{x,y}.sh ls; ls",
        "sh -c \"echo $(cat a)\"",
        "A=$(cat a); sh -c \"echo $A\"",
        "A=';./{x,y}.sh'; sh -c \"echo $A\"",
        "$SH ./{x,y}.sh",
        "sh $SHELL_OPTION './{x,y}.sh'",
        "{{data.w}} ./{x,y}.sh",
        "python3 ./{x,y}.py",
        "python3 -W ignore ./{x,y}.py",
        "python3 -m {x,y}",
        "node -r ./a.js ./{x,y}.js",
        "awk -f {x,y}.awk",
        "sed -f{x,y}.sed",
        "flock lock ./{x,y}.sh",
        "flock lock -c './{x,y}.sh'",
        "env -S './x.sh\\c'",
        "env -vS'sh\\_./x.sh'",
        "env --split-string='./x.sh'",
        "{./x,y}",
        "cd \"$(cat a)\" && ./x.sh",
        "busybox sh ./{x,y}.sh",
        "fish -c './{x,y}.sh'",
        "git -c alias.p='!./{x,y}.sh' p",
        "mapfile -C './{x,y}.sh' -c 1 a < list",
        "compgen -C './{x,y}.sh'",
        "A='./{x,y}.sh'; sh <<END\n$A\nEND",
        "# don't\n./{x,\"y z\"}.sh; ((",
        "cd su* && sh x.sh",
        "for d in */; do (cd \"$d\" && ./x.sh); done",
        "D=$(pwd -P)/lab; cd $D; python3 tool.py",
        "env -C \"$(cat a)\" ./x.sh",
        "pushd {lab,a}; . ./x.sh",
    ] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        if !problem.starts_with("2:164: flows[0].actions[0].command: ") {
            wrong.push((text, problem));
        }
    }
    assert_eq!(wrong, []);
    let exec = serde_json::json!({ "type": "exec", "exec": ["bash", "-c", "./{x,y}.sh"] });
    assert_eq!(
        problem_of(&exec).unwrap(),
        "2:162: flows[0].actions[0].exec[0]: \"./{x,y}.sh\" is a brace expansion, where it decides which program runs; name the program literally, or put the command into a script of the project"
    );
}

#[test]
fn an_assignment_of_a_path_is_rejected_however_its_name_is_written() {
    for text in [
        "export P''ATH=.; x.sh",
        "export P\\ATH=.; x.sh",
        "export $'\\x50ATH'=.; x.sh",
        "P=PATH; export $P=.; x.sh",
        "P=PATH; export \"$P=.\"; x.sh",
        "export {PATH,A}=.; x.sh",
        "export $(cat vars); x.sh",
        "readonly \"$(echo PATH)=.\"; x.sh",
        "declare -n a=PATH; a=.; x.sh",
        "f() { local -n a=PATH; a=.; x.sh; }; f",
        "typeset -gn a=PATH; a=.; x.sh",
        "declare P''ATH=.; x.sh",
        "\"export\" P''ATH=.; x.sh",
        "A=b export P''ATH=.; x.sh",
        "command export P''ATH=.; x.sh",
        "P=PATH; env \"$P=.\" x.sh",
        "env P''ATH=. x.sh",
        "env -i -u A $'PA\\x54H=.' x.sh",
        "P=PATH; read $P <a; x.sh",
        "((PATH=1)); x.sh",
        ": $((PATH=1)); x.sh",
        "P=PATH; : $(($P=1)); x.sh",
        "P=$(cat a); : $((${P}=1)); x.sh",
        "E='PATH=1'; : $((E)); x.sh",
        "let PATH=1; x.sh",
        "a[PATH=1]=2; x.sh",
        "P=PATH; printf -v \"$P\" .; x.sh",
        "F=-vPATH; printf \"$F\" .; x.sh",
        "printf \"$(cat a)\" .; x.sh",
        "sh -c \"export P''ATH=.; x.sh\"",
        "eval \"export P''ATH=.\"; x.sh",
    ] {
        assert!(problem_of(&command(text)).is_some(), "{text} is accepted");
    }
}

#[test]
fn commands_that_say_what_they_run_are_accepted() {
    let mut wrong = Vec::new();
    for text in [
        "gh pr merge {{data.n}} --squash",
        "gh pr list --state merged > summary.txt",
        "cat >> .waypost/training.jsonl && echo >> .waypost/training.jsonl",
        "done=$(grep -c x training.jsonl || true)\nprintf '%s\\t%s\\n' {{data.s}} \"$done\" >> sessions.tsv",
        "ctl emit kanban:done --idempotency-key \"$WAYPOST_IDEMPOTENCY_KEY\"",
        "echo \"{{data.x | default(\"\")}}\" | tee a",
        "./scripts/fix --service {{data.service}} --change \"$WAYPOST_EVENT_DATA_x\"",
        "$TOOL a *.txt \"$(date)\"",
        "DIR=$(pwd)/tools; \"$DIR/x.sh\" \"$(date)\"",
        "for n in x z; do \"./tools/$n.sh\" *.md; done",
        "for f in *.md; do python3 tool.py \"$f\"; done",
        "for f in *.md; do sh tools/a.sh \"$f\"; done",
        "rm -f *.tmp; cp [ab].txt \"$TMPDIR\"; ls ~me",
        "x=$(mktemp); trap 'rm -f \"$x\"' EXIT; date > \"$x\"",
        "sh -c 'echo \"$1\"' x \"$(date)\"",
        "bash -euo pipefail -c 'for f in *; do echo \"$f\"; done'",
        "env A=\"$(date)\" B=\"{c,d}\" ./x.sh",
        "env -u A ~/bin/x.sh \"$B\"",
        "~/x.sh; \"$HOME/x.sh\"; \"$PWD/x.sh\"; \"${TOOL}\"",
        "timeout -- \"$(cat limit)\" ./x.sh \"$(date)\"",
        "timeout --signal=KILL -k 1 5m ./x.sh",
        "flock --nonblock \"/tmp/$USER.lock\" ./x.sh; flock a -c './x.sh b'",
        "D=tools\nT=$D/x.sh\n(cd lab; \"$T\")",
        "cd lab && T=./x.sh && \"$T\"",
        "T=./x.sh; export T; if \"$T\" a; then { $T; }; fi",
        "sh -c 'T=./x.sh; \"$T\" \"$1\"' _ \"$(date)\"; sh -c '$TOOL'",
        "sh -eu < lab/x.txt; bash -s a b <<'END'\n./x.sh \"$1\"\nEND",
        "true && sh <<END\n./x.sh\nEND",
        "git config user.name \"$(id -un)\"; git --no-pager -C \"$D\" log $RANGE",
        "git config remote.origin.url; git config --file .gitmodules --get-regexp \"$p\"",
        "git -c user.name=\"$(id -un)\" -c http.extraHeader=\"$H\" clone -q \"$URL\" a",
        "find \"$D\" -execdir rm {} ';'; find . -exec ./x.sh {} +",
        "perl -i.bak -pe 's/a/b/' a; ruby -ne 'print' \"./$x\"; python3 -uc 'import sys' \"$x\"",
        "node --max-old-space-size=4096 tool.js \"$(date)\"",
        "bash -c 'set -eu -o pipefail; shopt -s nullglob globstar; set -- $(ls)'",
        "n=$(( (2 + 1) * 3 )); i=$((7 + {{data.n}}))",
        "curl -fsS https://a.example/#b; echo '#' \"#\" a#b $# ${#x} # c",
        "HOME=$PWD/lab ./x.sh",
        "HOME=$(mktemp -d) npm test",
        "export DIR=tools A=\"$(date)\"; \"$DIR/x.sh\"",
        "find . -print0 | xargs -0 -n 1 -P 4 ./x.sh; ls | xargs; ls | xargs -n 1",
        "echo \"${line%% #*}\" \"${x## }\" # a",
        "env A=\"$(date \"+%F %T\")\" B=\"$A$B\" ./x.sh; awk -v n=\"$n\" '{print n}' *.txt",
        "nice -n \"$N\" ./x.sh; xargs -n \"$N\" ./x.sh < list; env T=\"$TOOL\" ./x.sh",
        "x=1; eval 'y=2'; read -r q; ./x.sh $x",
        "sudo -u me -- ./x.sh; nice -n 10 ./x.sh; nice -5 ./x.sh; time -p ./x.sh",
        "env -i A=\"$(date)\" sh -c './x.sh'; env - ./x.sh",
        "xargs -I{} cp {} b < list",
        "find . -name '*.tmp' -exec rm {} +",
        "find \"$DIR\" -name '*.sh' -exec sh -c 'wc -l \"$1\"' x {} ';'",
        "python3 -u tool.py \"$(date)\" *.md",
        "python3 -c 'print(1)' *.md; node -r ./hook.js -e 1 -- \"$x\"; lua -e 'x=1' x.lua",
        "perl -MPOSIX -ne 'print if /a/' a",
        "awk '{print $1}' *.txt",
        "sed --sandbox \"s/$a/$b/\" ./[ab].txt; sed -n 1p -- \"$a\" *.txt",
        "docker inspect -f '{{.Id}}' $(docker ps -q)",
        "make -C \"$DIR\" CC=$(which cc)",
        "git -C \"$(git rev-parse --show-toplevel)\" log --format='%h' *.md",
        "export A=\"$(date)\" B=$C D=e; local e=\"$1\"",
        "bash -c 'declare -A map; declare -r c=\"$(date)\"'",
        "read -r -p \"$prompt\" line; IFS= read -r x",
        "printf '%s\\n' \"$x\"; printf \"a $x\"",
        "[ -n \"$x\" ] && [ \"$x\" = a ] && test -f x.md",
        "case $x in a*|[bc]) ./x.sh;; *) exit 1;; esac",
        "command -v \"$x\" >/dev/null || exit 1",
        "while read -r x; do echo \"$x\"; done < list",
        "echo a # ./{x,y}.sh",
        "cat <<END\n./{x,y}.sh $WAYPOST_EVENT_DATA_x\nEND\ndate | cat - a",
        "sh <<'END'\ncd sub && ./x.sh \"$1\"\nEND",
        "echo $(( {{data.n}} + 1 )) {{data.w}} >> typed",
        "n=$(expr \"$n\" + 1); [ \"$n\" -eq 2 ] || x=$((2 >= 3))",
        "git log --format='!%h' --grep=!a -c a.b='!git fetch'",
        "exec 3>&1; exec > log",
        "set -- a b; shift; echo \"$@\"",
        "curl -fsS \"$WAYPOST_URL/healthz\" | jq -r .status",
        "cd \"$(git rev-parse --show-toplevel)\" && git pull",
        "cd lab && ./x.sh; cd \"$PWD/lab\"; cd -",
        "for d in */; do (cd \"$d\" && make); done",
        "ssh host \"cd /srv && git pull\"",
    ] {
        wrong.extend(problem_of(&command(text)).map(|problem| (text, problem)));
    }
    assert_eq!(wrong, []);
}

/// Each of these could take minutes, or the stack.
#[test]
fn long_commands_are_checked_quickly_or_rejected() {
    for (text, is_accepted) in [
        (format!("env {} ./x.sh", "a=b ".repeat(10_000)), true),
        (format!("env {} ./{{x,y}}.sh", "a=b ".repeat(10_000)), false),
        (format!("{} ./x.sh", "env ".repeat(10_000)), false),
        (format!("A=; sh {} ./x.sh", "$A ".repeat(10_000)), false),
        (format!("A=-u; python3 {} ./x.py", "$A ".repeat(10_000)), false),
        (format!("A=a; {}", "$A".repeat(10_000)), true),
        (format!("./{}", "x".repeat(60_000)), true),
        (format!("find . {}", "-exec a ".repeat(7_000)), false),
        ("a=b;".repeat(10_000), true),
        (format!("{}a", "eval ".repeat(10_000)), false),
        (format!("let {}", "a=b+".repeat(10_000)), false),
        (format!("T={}", "+".repeat(60_000)), true),
        (format!("env A={} true", "-".repeat(60_000)), true),
        (format!("A={}", "a[".repeat(400)), true),
        (format!("{}b", "a=1&&".repeat(12_000)), false),
        (format!("{}b", "a=1||".repeat(12_000)), false),
        (format!("{}b", "a=1 &&\n".repeat(7_000)), false),
        (format!("{}b", "a=1 && ".repeat(400)), true),
    ] {
        let problem = problem_of(&command(&text));
        assert_eq!(
            problem.is_none(),
            is_accepted,
            "{text:.40}: {:.200}",
            problem.unwrap_or_default()
        );
    }
    for value in ["+", "-", "+=", "=", "a[]=", "++ ", "PATH "] {
        let action = serde_json::json!({
            "type": "command",
            "command": "true",
            "env": { "A": value.repeat(60_000 / value.len()) },
        });
        let problem = problem_of(&action).unwrap_or_default();
        let is_fine = problem.is_empty() || problem.contains("nested too deeply");
        assert!(is_fine, "{value}: {problem:.200}");
    }
}
