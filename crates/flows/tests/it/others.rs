//! Programs other than shells that run what their words name.

use crate::deciding::{command, problem_of};
use crate::undecided::accepted_of;

#[test]
fn settings_of_git_name_no_program() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "B='!'; git -c \"alias.a=${B}./ev*l.sh\" a",
        "git -c \"alias.a=$(cat f)\" a",
        "git -c \"$(cat f)\" a",
        "git -c ALIAS.a='!./ev*l.sh' a",
        "git -c 'alias.a=-c alias.b=!./ev*l.sh b' a",
        "git -c core.pager=./x.sh log",
        "git -c include.path=\"$F\" a",
        "C=-c; git \"$C\" \"alias.a=$(cat f)\" a",
        "git -C g config alias.a '!../ev*l.sh'; git -C g a",
        "git -C g config alias.a --local '!../ev*l.sh'; git -C g a",
        "git config --file=.git/config alias.a '!../ev*l.sh'; git a",
        "git config --global alias.a \"$(cat f)\"",
        "git config \"$(cat f)\" '!./ev*l.sh'",
        "git config set alias.a '!./ev*l.sh'",
        "git --config-env=alias.a=X a",
        "git clone -qcalias.a=b \"$URL\" a",
        "git clone --config core.sshCommand=./x.sh \"$URL\" a",
        "git --exec-path=deep a",
        "git \"$(cat f)\"",
        "git {{data.w}} alias.a \"$(cat f)\"",
        "find config -exec git {} alias.a '!./ev*l.sh' ';'",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn variables_that_make_programs_run_code_are_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "GIT_CONFIG_GLOBAL=gc.txt git status",
        "GIT_CONFIG_GLOBAL={{data.w}} git status",
        "GIT_CONFIG_SYSTEM=gc.txt git b",
        "export GIT_CONFIG_PARAMETERS=\"'alias.b'='!sh x.txt'\"; git b",
        "env GIT_CONFIG_COUNT=1 git b",
        "NODE_OPTIONS='--require ./x' ./x.js",
        "NODE_OPTIONS='--max-old-space-size=9 --require ./x' ./x.js",
        "OPENSSL_CONF=o.txt openssl version",
        "WGETRC=w.txt wget -q http://127.0.0.1:1/",
        "PERL5OPT=-Mpm ./x.pl",
        "PYTHONPATH=lab python3 x.py",
        "GIT_EDITOR=./x.txt git commit",
        "GIT_EDITOR=\"$X\" git commit",
        "read -r EDITOR < a",
    ]);
    assert_eq!(accepted, none);
    let accepted = [
        "GIT_TERMINAL_PROMPT=0 git fetch",
        "GIT_EDITOR=true git rebase --continue",
        "GIT_AUTHOR_DATE=\"$(date)\" git commit -m a",
        "GIT_PAGER='cat' git log",
        "RUST_LOG=debug cargo run",
        "NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "CARGO_TERM_COLOR=never cargo test",
        "PYTHONUNBUFFERED=1 python3 x.py",
        "docker run -e PYTHONPATH=/app image",
    ];
    assert_eq!(accepted_of(&accepted), accepted);
}

#[test]
fn programs_that_options_and_words_name_are_known() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "su -c \"$V\"",
        "su -c './ev*l.sh' me",
        "script -qc \"$V\" /dev/null",
        "chroot / \"$V\"",
        "setpriv \"$V\"",
        "prlimit \"$V\"",
        "strace -o /dev/null \"$V\"",
        "strace ./*.sh",
        "x86_64 \"$V\"",
        "gdb -batch -ex \"$V\"",
        "vim -Nes -c \"$V\" -c q!",
        "vim.basic -c \"$V\"",
        "watch \"$V\"",
        "msgexec -i x.po \"$V\"",
        "tar -cf a -I \"$V\" b",
        "tar -cf a \"-I$V\" b",
        "tar cIf \"$V\" a b",
        "tar -cf a --checkpoint-action=\"$V\" b",
        "tar -cf a --use-comp \"$V\" b",
        "tar -cf a \"$V\" b",
        "tar -cf a $V",
        "tar -cf a *",
        "tar -cf a --verbose \"$V\"",
        "sort --compress-program=\"$V\" a",
        "sort \"$V\" a",
        "split --filter=\"$V\" a",
        "zip -q -T -TT \"$V\" a.zip b",
        "scp \"$V\" a h:x",
        "ssh -o \"$V\" h",
        "ssh \"$V\" h",
        "rsync -e \"$V\" a h:",
        "wget -e \"$V\" x",
        "wget \"$V\"",
        "curl -K \"$V\"",
        "curl --conf \"$V\"",
        "nm --plugin \"$V\" a",
        "perl5.36-x86_64-linux-gnu \"$V\"",
        "git fetch --upload-pack=\"$V\" .",
        "git fetch \"--upload-pack$V\" .",
        "git rebase --exec \"$V\" main",
        "git grep --open-files-in-pager=\"$V\" a",
        "git difftool --extcmd \"$V\" main",
        "rg \"$V\" src",
        "x86_64-linux-gnu-nm --plugin \"$V\" a",
        "dash.distrib -c \"$V\"",
    ]);
    assert_eq!(accepted, none);
    let accepted = [
        "tar czf x.tgz dir",
        "tar czf \"b-$(date +%F).tgz\" src docs",
        "tar -czf \"$OUT\" dir",
        "tar czf \"$OUT\" dir",
        "tar -C \"$DIR\" --exclude=\"$X\" -cf a.tar ./*",
        "tar -cf a.tar -- \"$V\"",
        "tar -I 'zstd -9' -cf a.tar dir",
        "sort -t : -k \"$N\" a",
        "sort -- \"$F\"",
        "sort a | uniq -c | sort -rn",
        "scp a.tgz \"user@h:/srv/$(date +%F)\"",
        "ssh -p \"$PORT\" host 'cd /srv && ./deploy.sh'",
        "ssh -- \"$HOST\" uptime",
        "rsync -az --delete build/ user@host:/srv/www/",
        "rsync -e 'ssh -p 22' -a build/ host:/srv",
        "curl -s \"$URL\" -o \"$F\"",
        "wget -q -O \"$F\" -- \"$URL\"",
        "su -c './x.sh a' me",
        "strace -o log ./x.sh",
        "rg -- \"$V\" src",
        "rg -e \"$V\" src",
        "git log --since=\"$V\" --oneline",
        "git rebase --exec 'make test' main",
        "git commit -m \"$V\"",
        "./make-release \"$V\"",
        "./go-live.sh \"$V\"",
    ];
    assert_eq!(accepted_of(&accepted), accepted);
}

#[test]
fn xargs_adds_words_only_to_programs_that_run_no_other() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "cat n.txt | xargs sh -c",
        "cat n.txt | xargs sh -ec",
        "cat n.txt | xargs find . -maxdepth 0",
        "cat n.txt | xargs git",
        "cat n.txt | xargs git -c",
        "cat n.txt | xargs awk -f",
        "cat n.txt | xargs flock n.txt -c",
        "cat n.txt | xargs sed -n",
        "cat n.txt | xargs node -e 1 -r",
        "cat n.txt | xargs test",
        "cat n.txt | xargs -I% git -c % a",
        "cat n.txt | xargs -I% find . -maxdepth 0 -% ./ev*l.sh ';'",
        "cat n.txt | xargs -I% awk -f%",
        "cat n.txt | xargs -I% env %A=1 greet",
        "find . -name x.awk -exec awk -f{} ';'",
    ]);
    assert_eq!(accepted, none);
    let accepted = ["xargs -0 rm -f", "xargs -n 1 ./x.sh a", "xargs sh -c './x.sh \"$@\"' _"];
    assert_eq!(accepted_of(&accepted), accepted);
    let problem = problem_of(&command("find . | xargs git add")).unwrap();
    assert!(problem.contains("write xargs sh -c '… \"$@\"' _"), "{problem}");
}

#[test]
fn code_of_interpreters_is_literal() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "node -r \"$(cat f)\" -e 1",
        "node -r ./ev*l.js -e 1",
        "node --import ./ev*l.js -e 1",
        "node -e 1 \"$WAYPOST_EVENT_DATA_t\"",
        "node -e 1 -r ./ev*l.js",
        "node -p \"$WAYPOST_EVENT_DATA_t\"",
        "perl -M\"$WAYPOST_EVENT_DATA_t\" -e 1",
        "perl -ne \"print if /$x/\" a",
        "python3 -c \"print($x)\"",
        "ruby -r ./ev*l.rb -e 1",
        "php -d \"auto_prepend_file=$F\" x.php",
        "lua -e 'x=1' ./ev*l.lua",
        "awk \"{print $x}\"",
        "sed -e \"s/a/$WAYPOST_EVENT_DATA_t/\" a",
        "find . -exec perl -e{} ';'",
    ]);
    assert_eq!(accepted, none);
    for (text, wanted) in [
        ("sed \"s/a/$x/\" a", "is code of sed"),
        ("sed \"s/a/$x/\" a", "write --sandbox before it (GNU sed)"),
        ("node -p \"$x\"", "write the code in single quotes"),
    ] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains(wanted), "{text}: {problem}");
    }
}

#[test]
fn other_ways_to_run_a_program_are_rejected() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "ksh93 -c './ev*l.sh'",
        "zsh5 -c './ev*l.sh'",
        "bash5.2 -c './ev*l.sh'",
        "/lib64/ld-linux-x86-64.so.2 /bin/sh ./ev*l.sh",
        "sh -i <<'E'\ntrue\nE",
        "bash -i <<'E'\ntrue ./ev*l.sh\n!!:1\nE",
        "PS1='$(./x.sh)' sh x.sh",
        "env PS0=a bash x.sh",
        "bash -c \"eval -- './ev*l.sh'\"",
        "T=.ok; getopts -- ab T -a; \"./run$T\"",
        "declare -i n=\"$WAYPOST_EVENT_DATA_t\"",
        "local -ri n=1",
        "let n=1",
        "\"${OLDPWD}./x.sh\"",
        "\"./x$PWD/x.sh\"",
        "D=$PWD/x; \"./y$D/x.sh\"",
        "for d in \"$PWD/x\"; do \"./y$d/x.sh\"; done",
        "\"$PWD\"x.sh",
        "A='$HOME'; \"./lab/$A\"",
        "'./$(pwd).sh'",
        "D='$HOME'; cd \"lab/$D\"; ./x.sh",
        "bash -c 'nice -n \"$(true)\"{5,./x.sh} ./y.sh'",
        "env A=\"$(date)\"* ./x.sh",
    ]);
    assert_eq!(accepted, none);
    let accepted = ["bash -c 'eval -- ./x.sh'", "bash5.2 ./x.sh"];
    assert_eq!(accepted_of(&accepted), accepted);
}

#[test]
fn words_that_run_nothing_may_be_computed() {
    let mut wrong = Vec::new();
    for text in [
        "for x in \"$@\"; do echo \"$x\"; done",
        "for x in \"$1\" \"$(date)\" b; do ./x.sh \"$x\"; done",
        "for x in a \"$WAYPOST_EVENT_DATA_t\"; do test -f \"$x\"; done",
        "D=\"$(date +%F)\"; mkdir -p \"logs/$D\"; F=\"logs/$D/$D.log\"; ./x.sh > \"$F\"",
        "x=$(date); y=\"$x-$x-$x\"; echo $y-$y",
        "D=$TMPDIR/a; cp b \"$D/$D\"; sh -c 'E=$1; echo \"$E/$E/$E\"' _ \"$D\"",
        "a=\"$(date)\"; b=\"$(id)\"; msg=\"$a $b\"; echo \"$msg\"",
    ] {
        wrong.extend(problem_of(&command(text)).map(|problem| (text, problem)));
    }
    assert_eq!(wrong, []);
}
