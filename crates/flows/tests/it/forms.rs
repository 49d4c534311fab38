//! Forms of commands: each is rejected when it is parsed, or run for real by dash and bash with
//! values that would do harm if anything read them as code.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex, Weak};

use proptest::prelude::*;
use waypost_flows::{ActionContext, Flow, Program, Task, parse, plan};

use crate::child::end_of;
use crate::world::event;

/// Values that would create the file `CANARY` if something read them as code.
const HOSTILE: [&str; 24] = [
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
    "-rf",
    "--checkpoint-action=exec=touch CANARY",
    "-exec touch CANARY ;",
    "--upload-pack=touch CANARY",
    "%n%s%d%c",
    "*",
    "~",
    "ends with \\",
    "() { :; }; touch CANARY",
    "touch CANARY",
];

/// Rejected with a text `{{data.x}}`, as commands.
const REFUSED: &[&str] = &[
    // Shells.
    "sh -c {{data.x}}",
    "sh -cu \"{{data.x}}\"",
    "sh -c 'echo {{data.x}}'",
    "sh -c 'printf %s \"$1\"' _ {{data.x}}",
    "sh {{data.x}}",
    "sh -s {{data.x}}",
    "sh -e {{data.x}}",
    "sh -o errexit -c {{data.x}}",
    "sh +e -c {{data.x}}",
    "sh - {{data.x}}",
    "sh -- {{data.x}}",
    "sh /dev/stdin {{data.x}}",
    "/bin/bash -lc \"echo {{data.x}}\"",
    "bash -ic {{data.x}}",
    "bash --rcfile {{data.x}}",
    "bash --init-file {{data.x}} -i",
    "dash -c {{data.x}}",
    "zsh -c {{data.x}}",
    "ksh -c {{data.x}}",
    "fish -c {{data.x}}",
    "busybox sh -c {{data.x}}",
    "'s'h -c {{data.x}}",
    "\"sh\" -c {{data.x}}",
    "$SHELL -c {{data.x}}",
    "\"$0\" -c {{data.x}}",
    "$(which sh) -c {{data.x}}",
    "/usr/bin/env sh -c {{data.x}}",
    "s{h,} -c {{data.x}}",
    // Builtins that read code, variable names or command names.
    "eval {{data.x}}",
    "eval \"echo {{data.x}}\"",
    "eval echo '{{data.x}}'",
    ". {{data.x}}",
    ". ./lib {{data.x}}",
    "source {{data.x}}",
    "exec {{data.x}}",
    "exec gh {{data.x}}",
    "command {{data.x}}",
    "command -v {{data.x}}",
    "builtin {{data.x}}",
    "builtin eval {{data.x}}",
    "trap {{data.x}} EXIT",
    "trap 'rm {{data.x}}' EXIT",
    "alias a={{data.x}}",
    "alias a=eval; a {{data.x}}",
    "read {{data.x}}",
    "unset {{data.x}}",
    "export {{data.x}}",
    "export A={{data.x}}",
    "declare {{data.x}}",
    "local a={{data.x}}",
    "typeset -i a={{data.x}}",
    "readonly A={{data.x}}",
    "let {{data.x}}",
    "let \"a={{data.x}}\"",
    "printf {{data.x}}",
    "printf \"$f\" {{data.x}}",
    "printf -v {{data.x}} x",
    "printf -v a %s {{data.x}}",
    "test -v {{data.x}}",
    "test {{data.x}} -eq 1",
    "[ -v {{data.x}} ]",
    "[ {{data.x}} -eq 1 ]",
    "[ {{data.x}} -gt 1 ]",
    "[ {{data.x}} ]",
    "[ -e {{data.x}} ]",
    "[ {{data.x}} = a -o -n b ]",
    "[ ! -n {{data.x}} ]",
    "[[ {{data.x}} -eq 1 ]]",
    "[[ {{data.x}} = a ]]",
    "[[ -v {{data.x}} ]]",
    "cd {{data.x}}",
    "kill {{data.x}}",
    "ulimit {{data.x}}",
    "set -- {{data.x}}",
    "set -- {{data.x}}; eval \"$1\"",
    "getopts {{data.x}} o",
    "mapfile -C {{data.x}} a",
    "enable -f {{data.x}} a",
    "hash -p {{data.x}} ls",
    "bind -x {{data.x}}",
    "complete -C {{data.x}} a",
    "true {{data.x}}",
    "wait {{data.x}}",
    // In place of a command's name.
    "{{data.x}}",
    "{{data.x}} --help",
    "true && {{data.x}}",
    "A=1 {{data.x}}",
    "./{{data.x}}",
    "\"{{data.x}}\" a",
    "if {{data.x}}; then :; fi",
    "! {{data.x}}",
    "echo $({{data.x}})",
    "gh-{{data.x}} a",
    // Expansions, assignments, redirections, here-documents.
    "echo `cat {{data.x}}`",
    "echo $(cat {{data.x}})",
    "echo \"$(printf %s {{data.x}})\"",
    "echo <(cat {{data.x}})",
    "cat >(sh {{data.x}})",
    "echo $(({{data.x}} + 1))",
    "echo $[{{data.x}} + 1]",
    "(( {{data.x}} ))",
    "((a = {{data.x}}))",
    "echo ${a:-{{data.x}}}",
    "echo ${a:={{data.x}}}",
    "echo ${a#{{data.x}}}",
    "echo \"${a:-{{data.x}}}\"",
    "echo ${{{data.x}}}",
    "echo ${!a} {{data.x}}",
    "echo ${a@P} {{data.x}}",
    "echo ${a[{{data.x}}]}",
    "a[{{data.x}}]=1",
    "a={{data.x}}",
    "a=\"{{data.x}}\"; sh -c \"$a\"",
    "a+={{data.x}}",
    "a=({{data.x}})",
    "BASH_ENV={{data.x}} bash x.sh",
    "PATH={{data.x}} ls",
    "LD_PRELOAD={{data.x}} ls",
    "cat < {{data.x}}",
    "echo a > {{data.x}}",
    "echo a >> dir/{{data.x}}",
    "echo a 2> {{data.x}}",
    "> {{data.x}} echo a",
    "cat <<< {{data.x}}",
    "sh <<< \"{{data.x}}\"",
    "sh <<EOF\n{{data.x}}\nEOF",
    "cat <<EOF\n{{data.x}}\nEOF",
    "cat <<-EOF\n{{data.x}}\n\tEOF",
    "cat <<'EOF'\n{{data.x}}\nEOF",
    "cat <<{{data.x}}",
    "a=$(cat <<EOF\nx\nEOF\n); eval {{data.x}}",
    "echo $(cat <<EOF\nEOF\n) {{data.x}}",
    "cat <<EOF; echo {{data.x}}\nEOF",
    "echo $'{{data.x}}'",
    "echo $\"{{data.x}}\"",
    // Words of commands that are not simple ones.
    "for a in {{data.x}}; do sh -c \"$a\"; done",
    "for a in {{data.x}}; do echo $a; done",
    "case {{data.x}} in *) ;; esac",
    "case a in {{data.x}}) ;; esac",
    "select a in {{data.x}}; do :; done",
    "for ((i = {{data.x}}; i < 1; i++)); do :; done",
    "f() { eval \"$1\"; }; f {{data.x}}",
    "f() { echo {{data.x}}; }; f",
    "function f { echo \"$1\"; }; f {{data.x}}",
    "coproc sh -c {{data.x}}",
    "coproc cat {{data.x}}",
    "time sh -c {{data.x}}",
    // Pipelines into programs that read code.
    "echo {{data.x}} | sh",
    "echo {{data.x}} |& sh",
    "echo {{data.x}} | bash -s",
    "echo {{data.x}} | cat | sh",
    "echo {{data.x}} | tee /dev/stderr | sh",
    "(echo {{data.x}}) | sh",
    "{ echo {{data.x}}; } | sh",
    "if true; then echo {{data.x}}; fi | sh",
    "echo {{data.x}} | (sh)",
    "echo {{data.x}} | { sh; }",
    "echo {{data.x}} | while read a; do eval \"$a\"; done",
    "echo {{data.x}} | if true; then sh; fi",
    "echo {{data.x}} | $SHELL",
    "echo {{data.x}} | A=1 sh",
    "echo {{data.x}} | python3",
    "echo {{data.x}} | python3 -",
    "echo {{data.x}} | xargs",
    "echo {{data.x}} | xargs -I _ sh -c _",
    "echo {{data.x}} | ssh host",
    "echo {{data.x}} | at now",
    "echo {{data.x}} | crontab -",
    "echo {{data.x}} | sudo sh",
    "echo {{data.x}} | env sh",
    "echo {{data.x}} | ed -",
    "echo {{data.x}} | bc",
    "echo {{data.x}} | dc",
    "echo {{data.x}} | awk 1",
    "echo {{data.x}} | sed -f -",
    "echo {{data.x}} | make -f -",
    "echo {{data.x}} | git apply",
    "echo {{data.x}} | sqlite3 db",
    "echo {{data.x}} | psql",
    "echo {{data.x}} | mail bob",
    "echo {{data.x}} | unknown-program",
    "echo {{data.x}} | read a",
    "echo {{data.x}} | . /dev/stdin",
    "echo {{data.x}} > f; sh f",
    "echo {{data.x}} > f; . ./f",
    "echo {{data.x}} > f && chmod +x f && ./f",
    "echo {{data.x}} | tee f; sh ./f",
    "echo {{data.x}} > f; cp f g; ./g",
    "echo {{data.x}} > f.py; python3 f.py",
    "echo {{data.x}} > Makefile; make",
    "echo {{data.x}} > f; find . -name f -exec sh {} +",
    "echo {{data.x}} > f; sh -c 'sh f'",
    "echo {{data.x}} > .bashrc",
    "echo {{data.x}} >> .git/config; git status",
    "echo {{data.x}} > .git/hooks/pre-commit",
    "echo {{data.x}}; sh",
    "sh & echo {{data.x}}",
    "echo {{data.x}}; bash -x",
    "echo {{data.x}}; sh -e",
    "echo {{data.x}}; bash -o errexit",
    "echo {{data.x}}; python3",
    "sh # {{data.x}}",
    "echo {{data.x}}; env sh",
    "echo {{data.x}}; timeout 5 bash",
    "echo {{data.x}}; busybox sh",
    "echo {{data.x}}; xargs sh -c",
    "echo {{data.x}}; bc",
    "echo {{data.x}} | tee .bashrc",
    "echo {{data.x}} | tee -a .git/config",
    "git merge -s {{data.x}} a",
    "git merge --strategy={{data.x}} a",
    "git merge --strat={{data.x}} a",
    // Options that run their argument, abbreviated or joined to it.
    "tar cf a b -I {{data.x}}",
    "tar cf a b -I{{data.x}}",
    "tar cIf a b {{data.x}}",
    "tar cf a b -vI {{data.x}}",
    "tar cf a b --use-compress-program={{data.x}}",
    "tar cf a b --use-compress-prog={{data.x}}",
    "tar cf a b --use {{data.x}}",
    "tar cf a b --info={{data.x}}",
    "split --filt={{data.x}} a",
    "split --fi {{data.x}} a",
    "sort --compress-prog={{data.x}} a",
    "sort --com {{data.x}} a",
    "pandoc -F {{data.x}} a",
    "pandoc --lua-filter={{data.x}} a",
    "curl -K {{data.x}}",
    "curl -sK {{data.x}}",
    "curl --conf={{data.x}}",
    "ip -b {{data.x}}",
    "ip -batch {{data.x}}",
    "aria2c --on-download-complete={{data.x}} a",
    // Commands that approve flows, or add more than one key to an event.
    "ctl {{data.x}}",
    "ctl flows {{data.x}}",
    "ctl allow {{data.x}}",
    "ctl allow --sha256 {{data.x}}",
    "ctl flows allow {{data.x}}",
    "echo {{data.x}} | ctl allow",
    "ctl emit {{data.x}}",
    "ctl emit -- {{data.x}}",
    "ctl emit a:{{data.x}}",
    "ctl emit a:b --set {{data.x}}",
    "ctl emit a:b --set=k{{data.x}}",
    "ctl emit a:b --idempotency-key {{data.x}}",
    "ctl --json emit a:b {{data.x}}",
    "ctl emit a:b --data k={{data.x}}",
    "ctl emit a:b --data {{data.x}}",
    "ctl emit a:b --data=k={{data.x}}",
    "ctl emit a:b --dat=k={{data.x}}",
    // Programs that write a file that something then runs.
    "echo {{data.x}} | sort -o w.sh; sh w.sh",
    "echo {{data.x}} | sort -uow.sh; sh w.sh",
    "echo {{data.x}} | sort --output=w.sh; sh ./w.sh",
    "echo {{data.x}} | uniq - w.sh; sh w.sh",
    "echo {{data.x}} | uniq -c - w.sh; ./w.sh",
    "echo {{data.x}} | cat | dd of=w.sh; sh w.sh",
    "echo {{data.x}} | tee -a w.sh; sh w.sh",
    "echo {{data.x}} | xxd - w.sh; sh w.sh",
    // Brace expansions.
    "./show {a,{{data.x}}}",
    "./show {{{data.x}},b}",
    "./show {a,b} {{data.x}}",
    // Interpreters.
    "python3 -c {{data.x}}",
    "python3 -c\"{{data.x}}\"",
    "python3 -uc {{data.x}}",
    "python3.11 -c 'print(\"{{data.x}}\")'",
    "python3 -m {{data.x}}",
    "python3 -m timeit {{data.x}}",
    "python3 {{data.x}}",
    "perl -e {{data.x}}",
    "perl -ne 'print {{data.x}}'",
    "perl -pe 1 {{data.x}}",
    "ruby -e {{data.x}}",
    "node -e {{data.x}}",
    "node --eval={{data.x}}",
    "node -p \"{{data.x}}\"",
    "php -r {{data.x}}",
    "lua -e {{data.x}}",
    "tclsh {{data.x}}",
    "expect -c {{data.x}}",
    "awk {{data.x}}",
    "awk '{print {{data.x}}}'",
    "awk -v a={{data.x}} 1",
    "gawk -e {{data.x}}",
    "awk 1 {{data.x}}",
    "sed {{data.x}}",
    "sed s/a/{{data.x}}/e",
    "sed -e {{data.x}}",
    "sed 1q {{data.x}}",
    "jq {{data.x}}",
    "jq -n \"{{data.x}}\"",
    "m4 {{data.x}}",
    "bc {{data.x}}",
    "vim -c {{data.x}}",
    "vim {{data.x}}",
    "emacs --eval {{data.x}}",
    "ed {{data.x}}",
    "less {{data.x}}",
    "man {{data.x}}",
    "gdb -ex {{data.x}}",
    "sqlite3 db {{data.x}}",
    "psql -c {{data.x}}",
    "mysql -e {{data.x}}",
    // Programs that run their arguments.
    "env {{data.x}}",
    "env -S {{data.x}}",
    "env A=1 {{data.x}}",
    "env sh -c {{data.x}}",
    "xargs {{data.x}}",
    "ls | xargs -I _ echo {{data.x}}",
    "timeout {{data.x}}",
    "timeout 5 {{data.x}}",
    "timeout 5 gh {{data.x}}",
    "flock f -c {{data.x}}",
    "flock f {{data.x}}",
    "nohup {{data.x}}",
    "nice {{data.x}}",
    "nice -n 5 sh -c {{data.x}}",
    "setsid {{data.x}}",
    "stdbuf -o0 {{data.x}}",
    "sudo {{data.x}}",
    "sudo -u bob gh {{data.x}}",
    "su -c {{data.x}}",
    "doas {{data.x}}",
    "su-exec nobody {{data.x}}",
    "nodemon --exec {{data.x}}",
    "nodemon {{data.x}}",
    "swipl -g {{data.x}}",
    "schroot -c x {{data.x}}",
    "systemd-inhibit {{data.x}}",
    "cross-env A=1 {{data.x}}",
    "toybox {{data.x}}",
    "clang {{data.x}}",
    "latexmk {{data.x}}",
    "run-mailcap {{data.x}}",
    "editor {{data.x}}",
    "mysqlsh --sql {{data.x}}",
    "maxima --batch-string {{data.x}}",
    "runuser -u bob -- {{data.x}}",
    "chroot / {{data.x}}",
    "unshare -r sh -c {{data.x}}",
    "strace {{data.x}}",
    "script -c {{data.x}}",
    "watch {{data.x}}",
    "parallel {{data.x}}",
    "entr {{data.x}}",
    "ssh host {{data.x}}",
    "ssh {{data.x}}",
    "ssh host run {{data.x}}",
    "scp {{data.x}} host:",
    "rsync -e {{data.x}} a b",
    "rsync a {{data.x}}",
    "rspec {{data.x}}",
    "x86_64 {{data.x}}",
    "i386 {{data.x}}",
    "uname26 {{data.x}}",
    "ppc64le {{data.x}}",
    "msgexec -i x.po {{data.x}}",
    "pydoc3 {{data.x}}",
    "perl5.36-x86_64-linux-gnu {{data.x}}",
    "x86_64-linux-gnu-gcc {{data.x}}",
    "aarch64-linux-gnu-gcc-12 {{data.x}}",
    "php-cgi {{data.x}}",
    "php8.2-cgi {{data.x}}",
    "phpdbg {{data.x}}",
    "python3.11-dbg {{data.x}}",
    "vim.basic {{data.x}}",
    "emacs-nox {{data.x}}",
    "dash.distrib -c {{data.x}}",
    "rename {{data.x}} a",
    "rg --hostname-bin {{data.x}} a",
    "x86_64-linux-gnu-nm --plugin {{data.x}} a",
    "gpg-connect-agent {{data.x}}",
    "varlinkctl call {{data.x}}",
    "rubocop -r {{data.x}}",
    "dart run {{data.x}}",
    "flutter run -t {{data.x}}",
    "v run {{data.x}}",
    "flask --app {{data.x}} run",
    "hypercorn {{data.x}}",
    "sphinx-build {{data.x}} out",
    "mkdocs build -f {{data.x}}",
    "webpack --config {{data.x}}",
    "vite --config {{data.x}}",
    "rollup --config {{data.x}}",
    "prettier --config {{data.x}} a",
    "stylelint --config {{data.x}} a",
    "eslint --config {{data.x}} a",
    "eslint {{data.x}}",
    "logrotate {{data.x}}",
    "hadoop jar {{data.x}}",
    "rclone copy {{data.x}} a",
    "restic -r {{data.x}} snapshots",
    "cookiecutter {{data.x}}",
    "exiftool -if {{data.x}} a",
    "mlr --icsv put {{data.x}} a",
    "modprobe {{data.x}}",
    "openvpn {{data.x}}",
    "ldd {{data.x}}",
    "asciidoctor -r {{data.x}} a",
    "asciidoctor --require={{data.x}} a",
    "asciidoctor --template-dir {{data.x}} a",
    "pylint --rcfile {{data.x}} a",
    "mypy --config-file={{data.x}} a",
    "openssl dgst -engine {{data.x}} a",
    "openssl req -config {{data.x}}",
    "openssl list -provider-path {{data.x}}",
    "tcpdump -z {{data.x}}",
    "iptables --modprobe={{data.x}}",
    "docker run image {{data.x}}",
    "kubectl exec pod -- {{data.x}}",
    "systemd-run {{data.x}}",
    "at -f {{data.x}} now",
    "crontab {{data.x}}",
    "make {{data.x}}",
    "make A={{data.x}}",
    "npm run x -- {{data.x}}",
    "npx {{data.x}}",
    "cargo run -- {{data.x}}",
    "go run {{data.x}}",
    "find {{data.x}}",
    "find . {{data.x}}",
    "find . -exec {{data.x}} ';'",
    "find . -name {{data.x}} -exec sh -c 'x' ';'",
    "find . -name a -exec sh -c {{data.x}} ';'",
    "git {{data.x}}",
    "git -c {{data.x}} status",
    "git -c alias.a={{data.x}} a",
    "git -c alias.a='!sh -c \"$1\"' a {{data.x}}",
    "git config alias.a {{data.x}}",
    "git clone {{data.x}}",
    "git ls-remote {{data.x}}",
    "git fetch {{data.x}}",
    "git pull --rebase {{data.x}}",
    "git bisect run {{data.x}}",
    "git rebase --exec {{data.x}}",
    "git submodule foreach {{data.x}}",
    "git filter-branch --tree-filter {{data.x}}",
    "git difftool -x {{data.x}}",
    "git remote add a {{data.x}}",
    "git push --receive-pack={{data.x}} origin",
    "git fetch origin --upload-pack {{data.x}}",
    "git --exec-path={{data.x}} status",
    "gh {{data.x}}",
    "gh alias set a {{data.x}}",
    "gh extension install {{data.x}}",
    "tar {{data.x}}",
    "tar cf {{data.x}} a",
    "tar cf a --checkpoint-action={{data.x}} b",
    "tar cf a --to-command {{data.x}} b",
    "socat - {{data.x}}",
    "nc -e {{data.x}} host",
    "zip -TT {{data.x}} a b",
    "sort --compress-program {{data.x}} a",
    "split --filter {{data.x}} a",
    "sort --compress-program={{data.x}} a",
    "unknown-runner sh -c {{data.x}}",
    "unknown-runner -x python3 {{data.x}}",
    "unknown --command {{data.x}}",
    "unknown --eval={{data.x}}",
    "unknown -c {{data.x}}",
    "unknown -e{{data.x}}",
    // Words before the text that are arguments of options, and so move what the text stands for.
    "git push -o ci.skip {{data.x}} main",
    "git push -o ci.skip -- {{data.x}}",
    "git push --push-option ci.skip {{data.x}}",
    "git push --recurse-submodules check {{data.x}}",
    "git push --unknown a {{data.x}}",
    "git push --forc a {{data.x}}",
    "git push $options origin {{data.x}}",
    "git push $remote {{data.x}}",
    "git fetch --depth 1 {{data.x}}",
    "git fetch -j 4 {{data.x}}",
    "git fetch -fj 4 {{data.x}}",
    "git fetch --multiple origin {{data.x}}",
    "git fetch origin {{data.x}} --mul",
    "git fetch -fm origin {{data.x}}",
    "git pull --depth 1 {{data.x}} main",
    "git pull -X ours {{data.x}}",
    "tar cbf 20 {{data.x}} a",
    "tar cf $archive {{data.x}}",
    "tar cz a b -f {{data.x}}",
    "tar cf a b --file={{data.x}}",
    "tar cf a -T {{data.x}}",
    "tar xgf snapshot {{data.x}}",
    "ctl $options {{data.x}} a.yaml --yes",
    "ctl flows --project . {{data.x}} a.yaml --yes",
    "ctl token --json {{data.x}} a",
    "awk -f a.awk -f {{data.x}}",
    "gawk -f a.awk --source={{data.x}}",
    "sed -f a.sed -e {{data.x}}",
    "sed -f a.sed in --expression={{data.x}}",
    "gnuplot a.gp {{data.x}}",
    "swipl a.pl {{data.x}}",
    "pwsh -w hidden {{data.x}}",
    "php -B a {{data.x}}",
    "jq --argjson --arg 1 {{data.x}}",
    "hub push {{data.x}}",
    // Cases that the parser and the shells could interpret differently.
    "echo \\{{data.x}}",
    "echo \\' {{data.x}} \\'",
    "echo a\\\n{{data.x}}",
    "echo é {{data.x}}",
    "echo\u{a0}{{data.x}}",
    "echo\r{{data.x}}",
    "echo\u{b}{{data.x}}",
    "echo ~{{data.x}}~ {a,b}$'x'",
    "echo {{data.x}} &> f",
    "echo {{data.x}} &>> f",
    "echo {{data.x}} >| f",
    "echo !(a) {{data.x}}",
    "echo 'open {{data.x}}",
    "echo \"open {{data.x}}",
    "echo (a {{data.x}}",
    "echo {{data.x}} <<",
    "echo {{data.x}} ;; eval",
];

/// Rejected with a text, as `exec` lists.
const REFUSED_EXEC: &[&[&str]] = &[
    &["{{data.x}}"],
    &["sh", "-c", "{{data.x}}"],
    &["sh", "-c", "echo {{data.x}}"],
    &["/bin/sh", "-euc", "{{data.x}}"],
    &["bash", "-c", "echo \"$1\"", "_", "{{data.x}}"],
    &["sh", "{{data.x}}"],
    &["env", "{{data.x}}"],
    &["env", "A={{data.x}}", "ls"],
    &["python3", "-c", "{{data.x}}"],
    &["python3", "-c{{data.x}}"],
    &["perl", "-e", "print '{{data.x}}'"],
    &["node", "--eval={{data.x}}"],
    &["awk", "{print {{data.x}}}"],
    &["sed", "s/a/{{data.x}}/"],
    &["xargs", "{{data.x}}"],
    &["timeout", "5", "{{data.x}}"],
    &["sudo", "gh", "{{data.x}}"],
    &["ssh", "host", "{{data.x}}"],
    &["find", ".", "-exec", "{{data.x}}", ";"],
    &["git", "{{data.x}}"],
    &["git", "-c", "{{data.x}}", "status"],
    &["git", "clone", "{{data.x}}"],
    &["make", "A={{data.x}}"],
    &["npm", "run", "{{data.x}}"],
    &["tar", "cf", "{{data.x}}", "a"],
    &["docker", "run", "i", "{{data.x}}"],
    &["vim", "-c", "{{data.x}}"],
    &["test", "-v", "{{data.x}}"],
    &["printf", "{{data.x}}"],
    &["unknown", "sh", "-c", "{{data.x}}"],
    &["unknown", "--exec", "{{data.x}}"],
    &["tar", "cf", "a", "b", "-I", "{{data.x}}"],
    &["split", "--filt={{data.x}}", "a"],
    &["git", "push", "-o", "ci.skip", "{{data.x}}", "main"],
    &["git", "fetch", "--depth", "1", "{{data.x}}"],
    &["ctl", "flows", "--project", ".", "{{data.x}}", "a.yaml", "--yes"],
    &["ctl", "allow", "{{data.x}}"],
    &["ctl", "emit", "a:b", "--data", "k={{data.x}}"],
];

/// Accepted. `./show` writes its arguments to `args`; `V` in the expected result is the value.
const ACCEPTED: &[(&str, &[&str])] = &[
    ("./show {{data.x}}", &["V"]),
    ("./show \"{{data.x}}\"", &["V"]),
    ("./show '{{data.x}}'", &["V"]),
    ("./show -- {{data.x}}", &["--", "V"]),
    ("./show a {{data.x}} b", &["a", "V", "b"]),
    ("./show a{{data.x}}", &["aV"]),
    ("./show \"a {{data.x}} b\"", &["a V b"]),
    ("./show 'a {{data.x}} b'", &["a V b"]),
    ("./show 'it'\"'s\"' {{data.x}}'", &["it's V"]),
    ("./show \"\"{{data.x}}''", &["V"]),
    ("./show {{data.x}}{{data.x}}", &["VV"]),
    ("./show --title={{data.x}}", &["--title=V"]),
    ("./show --title=\"{{data.x}}\" --body '{{data.x}}'", &["--title=V", "--body", "V"]),
    ("./show \\\n  --title {{data.x}} \\\n  b", &["--title", "V", "b"]),
    ("./show \"\\\"{{data.x}}\\\"\"", &["\"V\""]),
    ("./show \"\\$a {{data.x}}\"", &["$a V"]),
    ("./show \"$HOME\" {{data.x}}", &["", "V"]),
    ("A=1 ./show {{data.x}}", &["V"]),
    ("A=$(echo b); ./show \"$A\" {{data.x}}", &["b", "V"]),
    ("./show \"$(echo b)\" {{data.x}}", &["b", "V"]),
    ("./show \"${none:-b}\" {{data.x}} # and {{data.x}}", &["b", "V"]),
    ("./show \"{{data.x}} {{data.x}}\"", &["V V"]),
    ("./show \"a $HOME  {{data.x}} \" ' {{data.x}}'", &["a   V ", " V"]),
    ("./show {{data.x}} > out", &["V"]),
    ("./show {{data.x}} >> out 2>&1", &["V"]),
    ("./show {{data.x}} < in", &["V"]),
    ("./show {{data.x}} 2> /dev/null", &["V"]),
    ("true && ./show {{data.x}}", &["V"]),
    ("false || ./show {{data.x}}", &["V"]),
    ("set -eu; ./show {{data.x}}", &["V"]),
    ("set -e\n./show {{data.x}}\n", &["V"]),
    ("cd . && ./show {{data.x}}", &["V"]),
    ("export A=1; ./show {{data.x}}", &["V"]),
    ("( ./show {{data.x}} )", &["V"]),
    ("{ ./show {{data.x}}; }", &["V"]),
    ("! ./show {{data.x}} || true", &["V"]),
    ("if true; then ./show {{data.x}}; fi", &["V"]),
    ("if false; then :; elif true; then ./show {{data.x}}; else :; fi", &["V"]),
    ("if ./show {{data.x}}; then :; fi", &["V"]),
    ("for a in 1; do ./show $a {{data.x}}; done", &["1", "V"]),
    ("while true; do ./show {{data.x}}; break; done", &["V"]),
    ("until ./show {{data.x}}; do :; done", &["V"]),
    ("case a in a) ./show {{data.x}};; *) ;; esac", &["V"]),
    ("case a in a|b) ./show \"{{data.x}}\" ;; esac", &["V"]),
    ("./show {{data.x}} & wait", &["V"]),
    ("./show {{data.x}} | cat", &["V"]),
    ("./show {{data.x}} | cat | sort > out", &["V"]),
    ("printf '%s' {{data.x}} | ./stdin", &["V"]),
    ("printf %s \"{{data.x}}\" | ./stdin", &["V"]),
    ("printf -- '%s' {{data.x}} | ./stdin", &["V"]),
    ("printf '%s' '{{data.x}}' | cat | ./stdin", &["V"]),
    ("printf '%s' {{data.x}} | tee copy | ./stdin", &["V"]),
    ("( printf '%s' {{data.x}} ) | ./stdin", &["V"]),
    ("{ printf '%s' {{data.x}}; } | ./stdin", &["V"]),
    ("printf '%s' {{data.x}} | sh ./stdin", &["V"]),
    ("printf '%s' {{data.x}} > file; ./show {{data.x}}", &["V"]),
    ("echo {{data.x}}", &[]),
    ("echo \"a {{data.x}}\" >> log.txt", &[]),
    ("[ {{data.x}} = open ] || ./show {{data.x}}", &["V"]),
    ("[ {{data.x}} != open ] && ./show {{data.x}}", &["V"]),
    ("[ \"{{data.x}}\" != \"\" ] && ./show '{{data.x}}'", &["V"]),
    ("[ -n {{data.x}} ] && ./show {{data.x}}", &["V"]),
    ("[ -z {{data.x}} ] || ./show {{data.x}}", &["V"]),
    ("[ -n \"{{data.x}}\" ] && [ a = a ] && ./show {{data.x}}", &["V"]),
    ("test {{data.x}} = open || ./show {{data.x}}", &["V"]),
    ("test -n {{data.x}} && ./show {{data.x}}", &["V"]),
    ("if [ {{data.x}} = open ]; then :; else ./show {{data.x}}; fi", &["V"]),
    ("sh ./show {{data.x}}", &["V"]),
    ("sh -eu ./show {{data.x}}", &["V"]),
    ("bash show {{data.x}}", &["V"]),
    ("/bin/sh show a \"b {{data.x}}\"", &["a", "b V"]),
    ("python3 -u show.py {{data.x}}", &["V"]),
    ("python3 show.py {{data.x}} > out.txt", &["V"]),
    ("gh pr merge {{data.x}} --squash", &[]),
    ("gh issue create --title {{data.x}} --body=\"{{data.x}}\"", &[]),
    ("git log --oneline -- {{data.x}}", &[]),
    ("git -C . branch --force \"x/{{data.x}}\" main", &[]),
    ("git commit --allow-empty -m {{data.x}}", &[]),
    ("git push origin {{data.x}}", &[]),
    ("git push -o ci.skip --force -u origin {{data.x}}", &[]),
    ("git push --push-option=a origin -- {{data.x}}", &[]),
    ("git fetch --depth 1 origin {{data.x}}", &[]),
    ("git fetch --depth=1 -q -- origin {{data.x}}", &[]),
    ("git pull --rebase --prune origin {{data.x}}", &[]),
    ("git checkout {{data.x}}", &[]),
    ("tar cf a in {{data.x}}", &[]),
    ("tar cf a -- in {{data.x}}", &[]),
    ("tar -czf a {{data.x}}", &[]),
    ("tar cf a -- {{data.x}}", &[]),
    ("tar cbf 20 a {{data.x}}", &[]),
    ("find . -name {{data.x}}", &[]),
    ("jq -n --arg a {{data.x}} '$a'", &[]),
    ("grep -e {{data.x}} in", &[]),
    ("grep -c -- {{data.x}} in", &[]),
    ("mkdir -p dir/{{data.x}}", &[]),
    ("cp in {{data.x}}", &[]),
    ("cat {{data.x}}", &[]),
    ("sort {{data.x}}", &[]),
    ("curl --data \"{{data.x}}\" http://127.0.0.1:1/", &[]),
    ("logger {{data.x}}", &[]),
    ("unknown-program {{data.x}} --label \"{{data.x}}\"", &[]),
    ("awk -f prog.awk {{data.x}}", &[]),
    ("awk -f prog.awk -v a=b -- in {{data.x}}", &[]),
    ("ctl --project . flows list {{data.x}}", &[]),
    ("ctl add --tags events --title {{data.x}}", &[]),
    ("hub issue create -m {{data.x}}", &[]),
    ("ctl emit a:b --set k={{data.x}}", &[]),
    ("ctl emit a:b --set=k={{data.x}}", &[]),
    ("ctl search emit {{data.x}}", &[]),
    ("printf '%s' {{data.x}} | sort -o w.txt; ./show {{data.x}}", &["V"]),
    ("git commit --allow-empty -m -- {{data.x}}", &[]),
];

/// Accepted for values of closed types, whatever the shell makes of them.
const CLOSED: &[&str] = &[
    "./show {{data.n}} {{data.s}} \"{{data.c}}\" '{{data.m}}' {{data.b}} {{data.f}}",
    "{{data.c}} {{data.n}}",
    "echo $(( {{data.n}} + 1 ))",
    "[ {{data.n}} -gt 1 ]",
    "[ {{data.n}} -gt 1 ] && [ {{data.s}} = a ]",
    "a={{data.s}}; b=\"{{data.n}}\"; ./show \"$a$b\"",
    "export A={{data.s}}",
    "echo $(echo {{data.s}}) $(echo {{data.n}}) \"$(echo \"{{data.m}}\")\"",
    "echo ${none:-{{data.s}}} \"${none:-{{data.n}}}\"",
    "cat <<EOF\n{{data.s}}\n{{data.n}} {{data.m}}\nEOF",
    "cat <<EOF | ./stdin\n{{data.s}}\nEOF",
    "cat < in > dir/{{data.s}}",
    "sh -c \"echo {{data.n}}\"",
    "sh -c 'echo {{data.s}}'",
    "sh -c 'echo \"$1\"' _ {{data.s}}",
    "eval \"echo {{data.n}}\"",
    "echo {{data.n}} | sh",
    "echo \"echo {{data.s}}\" | sh",
    "for a in {{data.s}} {{data.n}}; do ./show $a; done",
    "case {{data.s}} in {{data.m}}) echo a;; *) echo b;; esac",
    "timeout {{data.n}} ./show {{data.s}}",
    "timeout 5 ./show {{data.s}}",
    "python3 -c \"print('{{data.s}}', {{data.n}})\"",
    "awk 'BEGIN { print \"{{data.s}}\" }'",
    "xargs -n {{data.n}} echo a {{data.s}}",
    "find . -name {{data.s}} -exec echo {} +",
    "env A=1 B=2 ./show {{data.s}}",
    "timeout 5 env A=1 ./show {{data.s}}",
    "perl -we 'print shift' a {{data.s}}",
    "git -C . log --oneline {{data.m}}",
    "sh ./show {{data.s}}/{{data.n}}",
    "python3 show.py dir/{{data.s}}",
    "./show a[{{data.s}}] {{data.s}}~ {{{data.s}}}",
];

/// Declares only the keys that an action names: an event without the others would not match.
fn flow(action: &serde_json::Value) -> Result<Flow, String> {
    let types = [
        ("n", "integer"),
        ("f", "number"),
        ("b", "boolean"),
        ("s", "slug"),
        ("c", "one of [echo, printf]"),
        ("m", "matches [a-z0-9/.-]+"),
    ];
    let is_used = |key: &str| action.to_string().contains(&format!("data.{key}"));
    let types: serde_json::Map<String, serde_json::Value> = types
        .into_iter()
        .filter(|(key, _)| is_used(key))
        .map(|(key, kind)| (key.to_owned(), kind.into()))
        .collect();
    let types = serde_json::Value::Object(types);
    let text = format!(
        "flows:\n  - name: a\n    trigger:\n      pattern: \"a:*\"\n      data: {types}\n    actions:\n      - {action}\n"
    );
    parse(&text).map(|mut it| it.remove(0)).map_err(|it| it.to_string())
}

fn command(text: &str) -> Result<Flow, String> {
    flow(&serde_json::json!({ "type": "command", "command": text }))
}

fn exec(words: &[&str]) -> Result<Flow, String> {
    flow(&serde_json::json!({ "type": "exec", "exec": words }))
}

/// Files for the commands in their project.
const FILES: [(&str, &str); 5] = [
    ("show", "#!/bin/sh\nprintf '%s\\0' \"$@\" > args\n"),
    ("stdin", "#!/bin/sh\ncat > args; printf '\\0' >> args\n"),
    (
        "show.py",
        "import sys\nopen('args', 'w').write(''.join(it + '\\0' for it in sys.argv[1:]))\n",
    ),
    ("prog.awk", "{ print }\n"),
    ("in", "a\n"),
];

/// The folder of the files, while a project uses it. They are not written while a project exists: a
/// program that another thread still has open for writing cannot be run.
static SCRIPTS: Mutex<Weak<tempfile::TempDir>> = Mutex::new(Weak::new());

fn scripts() -> Arc<tempfile::TempDir> {
    let mut shared = SCRIPTS.lock().unwrap();
    if let Some(folder) = shared.upgrade() {
        return folder;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    for (name, text) in FILES {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let folder = Arc::new(folder);
    *shared = Arc::downgrade(&folder);
    folder
}

/// A project in which values would find something to harm.
struct Project {
    folder: tempfile::TempDir,
    _scripts: Arc<tempfile::TempDir>,
}

impl Project {
    fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn project() -> Project {
    let scripts = scripts();
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for (name, _) in FILES {
        std::os::unix::fs::symlink(scripts.path().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    Project { folder, _scripts: scripts }
}

fn task(flow: &Flow, data: &serde_json::Value, project: &Path) -> Result<Program, String> {
    let inherited = [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
    let around = ActionContext {
        project,
        programs: Path::new("/nowhere"),
        inherited: &inherited,
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

/// Runs a program as the service does, but with this shell.
fn run(program: &Program, shell: &[&str]) {
    run_with(program, shell, |_| {});
}

/// Runs it with few permissions. A random command may write to any path, and what one leaves in `/`
/// would be run by another.
fn run_random(program: &Program, shell: &[&str]) {
    const NOBODY: u32 = 65534;
    run_with(program, shell, |process| {
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(&program.folder, Permissions::from_mode(0o777)).unwrap();
            process.uid(NOBODY).gid(NOBODY);
        }
    });
}

fn run_with(program: &Program, shell: &[&str], prepare: impl FnOnce(&mut Process)) {
    let (path, arguments) = match shell.split_first() {
        Some((shell, options)) => (PathBuf::from(shell), options),
        None => (program.path.clone(), shell),
    };
    let mut process = Process::new(path);
    process.args(arguments).args(&program.arguments).current_dir(&program.folder).env_clear();
    // Without the key that identifies a step's processes: another test, about ending steps by it,
    // uses the same one.
    let variables = program.variables.iter().filter(|(name, _)| name != "WAYPOST_IDEMPOTENCY_KEY");
    process.envs(variables.map(|(name, value)| (name, value))).process_group(0);
    process.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::piped());
    prepare(&mut process);
    let mut child = process.spawn().unwrap();
    // A program that does not read its input closes it.
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &program.input).unwrap_or_default();
    end_of(&mut child);
}

fn canaries(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            // A hostile value may itself be a file name: that file was not created by a command.
            if entry.file_name() == "CANARY" {
                found.push(path);
            } else if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// bash parses some things differently when it runs as `sh`.
const BASH: [&[&str]; 2] = [&["/usr/bin/bash"], &["/usr/bin/bash", "--posix"]];

/// dash, and bash in one of its modes.
fn shells(number: usize) -> [&'static [&'static str]; 2] {
    [&["/usr/bin/dash"], BASH[number % 2]]
}

/// Whether the run was stopped because a value starts with `-`.
fn is_dash(why: &str, value: &str) -> bool {
    value.starts_with('-') && why.contains("starts with -")
}

fn check(flow: &Flow, form: &str, wanted: &[&str], number: usize) -> usize {
    let (mut runs, value) = (0, HOSTILE[number]);
    for shell in shells(number) {
        let project = project();
        let data = serde_json::json!({ "x": value });
        let program = match task(flow, &data, project.path()) {
            Ok(program) => program,
            Err(why) => {
                assert!(is_dash(&why, value), "{form} with {value:?}: {why}");
                return runs;
            }
        };
        run(&program, shell);
        let place = format!("{shell:?}: {form} with {value:?} as {:?}", program.arguments);
        assert!(canaries(project.path()).is_empty(), "{place}");
        if !wanted.is_empty() {
            let written = std::fs::read(project.path().join("args")).unwrap_or_default();
            let wanted: Vec<String> = wanted.iter().map(|it| it.replace('V', value)).collect();
            let mut found: Vec<String> =
                String::from_utf8_lossy(&written).split('\0').map(str::to_owned).collect();
            found.pop();
            assert_eq!(found, wanted, "{place}");
        }
        runs += 1;
    }
    runs
}

#[test]
fn there_are_at_least_as_many_forms_as_promised() {
    let count = REFUSED.len() + REFUSED_EXEC.len() + ACCEPTED.len() + CLOSED.len();
    assert!(count >= 400, "{count}");
    let mut all: Vec<&str> = REFUSED.to_vec();
    all.extend(ACCEPTED.iter().map(|(form, _)| *form));
    let len = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), len, "each form is there once");
}

#[test]
fn a_command_that_would_run_a_text_as_code_is_rejected() {
    let accepted: Vec<&&str> = REFUSED.iter().filter(|it| command(it).is_ok()).collect();
    assert!(accepted.is_empty(), "{accepted:#?}");
    let accepted: Vec<_> = REFUSED_EXEC.iter().filter(|it| exec(it).is_ok()).collect();
    assert!(accepted.is_empty(), "{accepted:#?}");
}

#[test]
fn a_name_that_a_publisher_chooses_is_no_part_of_a_script_s_path() {
    for form in [
        "sh ./tools/{{data.s}}.sh",
        "sh -e tools/{{data.n}}.sh",
        "python3 -u tools/{{data.m}}",
        "awk -f tools/{{data.s}}.awk in",
        "timeout 5 env A=1 sh tools/{{data.s}}",
        "ctl {{data.s}}",
        "ctl flows {{data.s}} a.yaml --yes",
        "ctl flows --project . {{data.s}} a.yaml --yes",
        "env A=1 B=2 {{data.s}}",
        "sudo A=1 B=2 {{data.s}}",
        "timeout 5 nice {{data.s}}",
        "timeout 5 env A=1 {{data.s}}",
        "ruby -r json ./{{data.s}}.rb",
        "perl -Ilike ./{{data.s}}.pl",
        "gnuplot a.gp {{data.s}}.gp",
    ] {
        let error = command(form).unwrap_err();
        assert!(error.contains("one of [a, b]"), "{form}: {error}");
    }
    command("sh ./tools/{{data.c}}.sh").unwrap();
}

#[test]
fn two_dashes_that_may_be_an_option_s_argument_end_no_options() {
    let project = project();
    let data = serde_json::json!({ "x": "-rf" });
    for (form, is_run) in
        [("git commit -m -- {{data.x}}", false), ("git log a -- {{data.x}}", true)]
    {
        assert_eq!(task(&command(form).unwrap(), &data, project.path()).is_ok(), is_run, "{form}");
    }
}

#[test]
fn a_url_with_a_value_names_a_host() {
    let post = |url: &str| flow(&serde_json::json!({ "type": "http", "url": url }));
    for url in [
        "http:///{{data.x}}",
        "https://?{{data.x}}",
        "http://a@/{{data.x}}",
        "http://:1/{{data.x}}",
        "http:///{{data.c}}",
    ] {
        assert!(post(url).is_err(), "{url}");
    }
    for url in [
        "http://localhost/{{data.x}}",
        "https://{{data.c}}/{{data.x}}",
        "http://[::1]:1/{{data.x}}",
    ] {
        post(url).unwrap_or_else(|it| panic!("{url}: {it}"));
    }
}

#[test]
fn a_refusal_says_what_to_write_instead() {
    for form in ["sh -c {{data.x}}", "echo {{data.x}} | sh", "a={{data.x}}", "env {{data.x}}"] {
        let error = command(form).unwrap_err();
        assert!(error.starts_with("7:"), "{form}: {error}");
        assert!(error.contains("declare its type in trigger.data"), "{form}: {error}");
        assert!(error.contains("script of the project"), "{form}: {error}");
    }
}

#[test]
fn a_text_arrives_as_one_argument_and_is_never_code() {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let idx = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some((form, wanted)) = ACCEPTED.get(idx) else { break };
                    let flow = command(form).unwrap_or_else(|it| panic!("{form}: {it}"));
                    let runs: usize =
                        (0..HOSTILE.len()).map(|it| check(&flow, form, wanted, it)).sum();
                    assert!(runs >= 30, "{form}: {runs} runs");
                }
            });
        }
    });
}

#[test]
fn closed_values_stand_anywhere_and_do_no_harm() {
    for form in CLOSED {
        let flow = command(form).unwrap_or_else(|it| panic!("{form}: {it}"));
        for (n, s, m) in [
            ("412", "a", "a/b"),
            ("0", "touch", "../x"),
            ("1", "WAYPOST_EVENT_DATA_x", "/etc/passwd"),
            ("3", "EOF", "eof"),
        ] {
            let data = serde_json::json!({
                "n": n, "s": s, "m": m, "f": "1e3", "b": "true", "c": "echo",
                "x": "a[$(touch CANARY)]", "touch": "CANARY",
            });
            for shell in shells(n.len()) {
                let project = project();
                let program = task(&flow, &data, project.path()).unwrap();
                run(&program, shell);
                assert!(canaries(project.path()).is_empty(), "{shell:?}: {form} with {data}");
            }
        }
    }
}

#[test]
fn a_value_of_another_type_starts_nothing() {
    let project = project();
    for (key, value) in [
        ("n", "1; touch CANARY"),
        ("n", "0x1"),
        ("n", "a[$(touch CANARY)]"),
        ("s", "a b"),
        ("s", "-rf"),
        ("c", "touch"),
        ("m", "a\n"),
        ("b", "yes"),
        ("f", "1 "),
    ] {
        let flow = command(&format!("echo {{{{data.{key}}}}}")).unwrap();
        let data = serde_json::json!({ key: value });
        let why = task(&flow, &data, project.path()).unwrap_err();
        assert!(why.contains("as declared in trigger.data"), "{key}: {why}");
        let event = event(7, "a:x", &data.to_string());
        let why = waypost_flows::Why::of(&flow, &event);
        assert!(!why.wants());
        assert!(why.stopped.unwrap().contains("does not match the declared types"));
    }
}

#[test]
fn a_value_that_makes_a_word_begin_with_a_dash_stops_the_run() {
    let project = project();
    let data = serde_json::json!({ "x": "-rf", "n": -5, "e": "" });
    for (form, allow_dash, is_stopped) in [
        ("./show {{data.x}}", false, true),
        ("./show \"{{data.x}} b\"", false, true),
        ("./show \"$none\"{{data.x}}", false, true),
        ("./show {{data.e}}{{data.x}}", false, true),
        ("./show {{data.n}}", false, true),
        ("echo {{data.x}}", false, true),
        ("sh ./show {{data.x}}", false, true),
        ("./show {{data.x}}", true, false),
        ("./show -- {{data.x}}", false, false),
        ("./show a{{data.x}}", false, false),
        ("./show --a={{data.x}}", false, false),
        ("./show ' '{{data.x}}", false, false),
        ("printf %s {{data.x}}", false, false),
        ("[ {{data.x}} = a ]", false, false),
        ("echo $(( {{data.n}} + 1 ))", false, false),
        ("find . -name {{data.x}}", false, true),
    ] {
        let action =
            serde_json::json!({ "type": "command", "command": form, "allow_dash": allow_dash });
        let done = task(&flow(&action).unwrap(), &data, project.path());
        assert_eq!(done.is_err(), is_stopped, "{form}: {done:?}");
        let Err(why) = done else { continue };
        assert!(why.contains("allow_dash: true"), "{form}: {why}");
    }
}

/// Parts of commands, for combinations that nobody thought of.
const BITS: &[&str] = &[
    "{{data.x}}",
    "{{data.x}}",
    "\"{{data.x}}\"",
    "'{{data.x}}'",
    "a{{data.x}}",
    " ",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    "; }",
    "echo ",
    "./show ",
    "printf %s ",
    "cat ",
    "sh ",
    "sh -c ",
    "eval ",
    "[ ",
    " ]",
    "= ",
    "-n ",
    "test ",
    "if ",
    "; then ",
    "; fi",
    "while ",
    "; do ",
    "; done",
    "for a in ",
    "case a in ",
    ") ",
    ";;",
    "esac",
    "!",
    "$(",
    "`",
    "${a:-",
    "}",
    "$((",
    "))",
    "<<EOF\n",
    "\nEOF\n",
    "<<< ",
    ">",
    ">>",
    "<",
    "2>&1",
    "\"",
    "'",
    "\\",
    "\\\n",
    "#",
    "$",
    "$a",
    "a=",
    "a=b ",
    "export ",
    "f() ",
    "f ",
    "exec ",
    "command ",
    "xargs ",
    "env ",
    "time ",
    "-c ",
    "-- ",
    "*",
    "~",
    "{a,b}",
    "$'",
    "$\"",
    "[[ ",
    " ]]",
    "((",
    "é",
    "\t",
    "tee f ",
    "./f ",
    "sh ./f ",
    "read a ",
    "set -- ",
    "\"$1\"",
    "$@",
    ". ",
    "trap ",
];

fn bits() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(BITS), 1..14).prop_map(|it| it.concat())
}

/// A word with mostly balanced quotes.
fn word() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "{{data.x}}",
        "{{data.x}}",
        "\"{{data.x}}\"",
        "'{{data.x}}'",
        "a",
        "--a=",
        "-c",
        "-e",
        "\"a b\"",
        "'a b'",
        "\"a {{data.x}}\"",
        "'a {{data.x}}'",
        "\"$(echo a)\"",
        "\"$a\"",
        "${a:-b}",
        "\"\\$\"",
        "\"\\\"\"",
        "\"'\"",
        "'\"'",
        "/",
        "x.sh",
        "=",
    ]);
    prop::collection::vec(part, 1..4).prop_map(|it| it.concat())
}

/// Mostly valid commands.
fn built() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec![
        "./show",
        "echo",
        "printf %s",
        "printf '%s %b'",
        "cat",
        "sh ./show",
        "bash show",
        "python3 show.py",
        "gh issue create",
        "git log",
        "git commit -m",
        "unknown",
        "test -n",
        "sh",
        "sh -c",
        "eval",
        "env",
        "xargs",
        "find . -name",
        "tee",
        "sort",
        "A=b ./show",
        "./f",
        "sed",
        "exec",
        "set --",
        "read",
        "timeout 5 sh",
        "tar cf a",
        "awk -f prog.awk",
        "jq -n --arg a",
    ]);
    let simple = (
        program,
        prop::collection::vec(word(), 0..4),
        prop::sample::select(vec![
            "",
            "",
            "",
            "",
            " > f",
            " >> f",
            " 2>&1",
            " < in",
            " > .f",
            " # {{data.x}}",
        ]),
    )
        .prop_map(|(program, words, end)| format!("{program} {}{end}", words.join(" ")));
    simple.prop_recursive(3, 12, 3, |inner| {
        let joined = prop::sample::select(vec!["; ", " && ", " || ", " | ", " | ", " & ", "\n"]);
        prop_oneof![
            (inner.clone(), joined, inner.clone()).prop_map(|(a, b, c)| format!("{a}{b}{c}")),
            inner.clone().prop_map(|it| format!("( {it}\n)")),
            inner.clone().prop_map(|it| format!("{{ {it}\n}}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("if {a}\nthen {b}\nelse {a}\nfi")),
            inner.clone().prop_map(|it| format!("for a in 1; do {it}\ndone")),
            inner.clone().prop_map(|it| format!("case a in a) {it}\n;; esac")),
            inner.prop_map(|it| format!("a=$({it}\n)")),
        ]
    })
}

/// The cases of a property: more in a long run.
#[expect(clippy::disallowed_methods, reason = "how long a test runs is not a setting")]
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("WAYPOST_TEST_CASES").ok().and_then(|it| it.parse().ok());
    ProptestConfig::with_cases(wanted.unwrap_or(usual))
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn no_accepted_command_executes_a_text(text in prop_oneof![bits(), built(), built()], pick in 0..HOSTILE.len()) {
        let Ok(flow) = command(&text) else { return Ok(()) };
        if !text.contains("{{data.x}}") {
            return Ok(());
        }
        // Accepted: it is run, whatever it is. The shell's own limit ends endless ones.
        let data = serde_json::json!({ "x": HOSTILE[pick] });
        for shell in shells(pick) {
            let project = project();
            let Ok(mut program) = task(&flow, &data, project.path()) else { return Ok(()) };
            let script = program.arguments.pop().unwrap();
            program.arguments.push(format!("ulimit -t 1\n{script}"));
            run_random(&program, shell);
            prop_assert!(canaries(project.path()).is_empty(), "{shell:?}: {text:?} as {script:?}");
        }
    }
}
