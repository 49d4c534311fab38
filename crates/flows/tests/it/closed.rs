//! A value of a closed type is one word of data: it decides nothing, wherever it is.

use std::fs;

use waypost_flows::Loader;

use crate::deciding::command;

/// What is wrong with a flow with this action, whose values have types of each kind.
pub(crate) fn problem_of(action: &serde_json::Value) -> Option<String> {
    let root = tempfile::tempdir().unwrap();
    let flows = root.path().join(".waypost/flows");
    fs::create_dir_all(&flows).unwrap();
    let types = "{ s: slug, n: integer, o: 'one of [ab, cd]', m: 'matches [a-z./]+', k: 'matches [A-Z]+', e: 'matches [a-z]*', t: text }";
    let text = format!(
        "flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\", data: {types} }}, actions: [{action}] }}\n"
    );
    fs::write(flows.join("a.yaml"), text).unwrap();
    let mut loader = Loader::new(root.path(), &flows, None);
    loader.load();
    loader.status()[0].problem.as_ref().map(ToString::to_string)
}

fn exec(words: &[&str]) -> serde_json::Value {
    serde_json::json!({ "type": "exec", "exec": words })
}

fn accepted_of(commands: &[&'static str]) -> Vec<&'static str> {
    commands.iter().copied().filter(|it| problem_of(&command(it)).is_none()).collect()
}

fn rejected_of(commands: &[&'static str]) -> Vec<(&'static str, String)> {
    commands.iter().filter_map(|it| problem_of(&command(it)).map(|why| (*it, why))).collect()
}

#[test]
fn a_closed_value_chooses_no_program_and_no_script() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "T={{data.m}}; \"$T\"",
        "T={{data.m}}; $T",
        "T={{data.n}}; \"$T\"",
        "T={{data.m}}; sh \"$T\"",
        "T={{data.m}}; sh -c \"$T\"",
        "T={{data.m}}; eval \"$T\"",
        "T={{data.m}}; . \"$T\"",
        "T={{data.m}}; trap \"$T\" EXIT",
        "T={{data.m}}; python3 \"$T\"",
        "T={{data.s}}; python3 -m \"$T\"",
        "T={{data.m}}; node \"$T\"",
        "T={{data.m}}; exec \"$T\"",
        "T={{data.m}}; find . -exec \"$T\" ';'",
        "T={{data.m}}; xargs \"$T\"",
        "T={{data.m}}; timeout 5 \"$T\"",
        "T={{data.m}}; env \"$T\"",
        "T={{data.m}}; awk -f \"$T\"",
        "T={{data.s}}; git \"$T\"",
        "T=./lab/{{data.s}}.sh; \"$T\"",
        "T=./lab/{{data.s}}; sh \"$T\"",
        "export T={{data.m}}; sh -c '\"$T\"'",
        "for x in {{data.m}}; do sh $x; done",
        "for x in a {{data.m}}; do \"$x\"; done",
        "./lab/{{data.s}}.sh",
        "sh < {{data.m}}",
        "sh <<E\n{{data.m}}\nE",
        "bash <<E\necho $(( {{data.s}} ))\nE",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_closed_value_is_data_in_a_text_that_a_shell_reads() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "bash -c 'echo $(( {{data.s}} ))'",
        "sh -c ': $(( {{data.s}} ))'",
        "eval 'echo $(( {{data.s}} ))'",
        "sh -c 'sh -c \"echo $(( {{data.s}} ))\"'",
        "sh -c 'echo ${{data.s}}'",
        "sh -c 'sh -c \"echo ${{data.s}}\"'",
        "sh -c 'sh -c \"echo \\${{data.s}}\"'",
        "sh -c 'trap \"echo ${{data.s}}\" EXIT'",
        "sh -c 'eval echo ${{data.s}}'",
        "eval 'eval echo ${{data.s}}'",
        "sh -c 'echo $X{{data.s}}'",
        "sh -c 'echo \"$X{{data.s}}\"'",
        "sh -c ': ; {{data.m}}'",
        "sh -c 'echo hi | {{data.m}}'",
        "sh -c '. {{data.m}}'",
        "sh -c 'exec {{data.m}}'",
        "sh -c 'sh {{data.m}}'",
        "sh -c 'if true; then {{data.m}}; fi'",
        "sh -c 'cd {{data.m}} && ./good.sh'",
        "sh -c 'T={{data.m}}; $T'",
        "sh -c ': ; {{data.k}}=.; ls'",
        "sh -c 'X{{data.k}}=.; ls'",
        "sh -c 'export {{data.k}}=.; ls'",
        "sh -c 'read {{data.k}}'",
        "sh -c 'for {{data.s}} in a; do ls; done'",
        "sh -c 'case x in {{data.s}}) ls;; esac'",
        "sh -c 'cat <<E\n{{data.s}}\nls\nE'",
        "sh -c 'echo {{data.n}}>x'",
        "sh -c 'tar -I {{data.m}} -xf a.tar'",
        "sh -c 'PAGER={{data.m}} git log'",
        "sh -c 'cp {{data.e}} a b'",
        "find good -exec sh -c ': ; {{data.m}}' ';'",
        "flock l sh -c ': ; {{data.m}}'",
        "xargs sh -c ': ; {{data.m}}' _",
        "trap ': ; {{data.m}}' EXIT",
    ]);
    assert_eq!(accepted, none);
    for text in
        ["echo $(( {{data.s}} ))", ": ; {{data.m}}", "echo ${{data.s}}", "cd {{data.s}} && ./x.sh"]
    {
        for shell in ["sh", "bash"] {
            let problem = problem_of(&exec(&[shell, "-c", text]));
            assert!(problem.is_some(), "{shell}: {text}");
        }
    }
}

#[test]
fn a_closed_value_chooses_no_folder_of_a_relative_program() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "cd tools2/{{data.s}} && ./go.sh",
        "cd {{data.m}} && ./good.sh",
        "T=./tools2/{{data.s}}; cd \"$T\" && ./go.sh",
        "T={{data.s}}; cd ./$T && ./go.sh",
        "env -C {{data.s}} ./go.sh",
        "sh -c 'cd {{data.s}} && ./go.sh'",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn a_closed_value_is_no_argument_of_an_option_that_names_a_program() {
    let none: [&str; 0] = [];
    let accepted = accepted_of(&[
        "tar -I {{data.m}} -xf a.tar",
        "tar -I{{data.m}} -xf a.tar",
        "tar --to-command={{data.m}} -xf a.tar",
        "tar --to-comm {{data.m}} -xf a.tar",
        "T={{data.m}}; tar -I \"$T\" -xf a.tar",
        "sort --compress-program={{data.m}} x",
        "sort --compress-program {{data.m}} x",
        "split --filter={{data.m}} x",
        "wget --use-askpass={{data.m}} x",
        "curl -K {{data.m}}",
        "rsync -e {{data.m}} a b:c",
        "scp -S {{data.m}} a b:c",
        "git grep -O{{data.m}} x",
        "git grep --open-files-in-pager={{data.m}} x",
        "git rebase -x {{data.m}} main",
        "git rebase --exec={{data.m}} main",
        "git difftool -x {{data.m}}",
        "git bisect run {{data.m}}",
        "git submodule foreach {{data.m}}",
        "git fetch --upload-pack={{data.m}} .",
        "git clone -u {{data.m}} a b",
        "git clone --template={{data.m}} a b",
        "GIT_CONFIG_GLOBAL={{data.m}} git status",
        "GIT_SSH_COMMAND={{data.m}} git fetch",
        "PAGER={{data.m}} git -p log",
        "EDITOR={{data.m}} git commit",
        "NODE_OPTIONS=--require={{data.m}} ./good2.js",
        "PYTHONPATH={{data.m}} python3 -m tool",
        "export PAGER={{data.m}}; git log",
        "env PAGER={{data.m}} git log",
        "T={{data.m}}; PAGER=$T git log",
        "T={{data.m}}; PAGER=${T:-x} git log",
        "PAGER=\"$(echo {{data.m}})\" git log",
    ]);
    assert_eq!(accepted, none);
}

#[test]
fn closed_values_are_arguments() {
    let rejected = rejected_of(&[
        "echo {{data.s}} {{data.m}} {{data.n}} {{data.o}}",
        "./x.sh {{data.s}} --name={{data.m}}",
        "./x.sh -c {{data.s}}",
        "sh ./x.sh {{data.s}}",
        "python3 good.py {{data.m}}",
        "sh -c 'echo {{data.s}} a{{data.n}}'",
        "sh -c 'echo {{data.s}} > out/{{data.s}}.txt'",
        "sh -c 'echo \"$X {{data.s}} ${X}{{data.s}}\"'",
        "sh -c 'echo $(( {{data.n}} + 1 ))'",
        "bash -c 'for x in {{data.s}}; do echo \"$x\"; done'",
        "sh -c '\"./ab.sh\" \"$1\"' _ {{data.m}}",
        "sh -c './{{data.o}}.sh'",
        "sh <<E\necho {{data.s}}\nE",
        "echo $(( {{data.n}} + 1 ))",
        "T={{data.s}}; echo \"$T\" > log/{{data.s}}.txt",
        "for x in {{data.s}} b; do echo \"$x\"; done",
        "case {{data.s}} in a*) echo a ;; esac",
        "./{{data.o}}.sh",
        "cd ./{{data.s}} && make",
        "cd ./{{data.o}} && ./x.sh",
        "git log {{data.s}} -n {{data.n}}",
        "git checkout -b exp/{{data.s}}",
        "timeout {{data.n}} ./x.sh",
        "awk '{print $1}' {{data.m}}",
        "sed 's/a/b/' {{data.s}}",
        "grep -c {{data.s}} log.txt",
        "grep -e {{data.m}} log.txt",
        "head -c {{data.n}} log.txt",
        "find . -name {{data.s}}",
        "tar -cf {{data.s}}.tar src",
        "GIT_AUTHOR_NAME={{data.s}} git commit -m {{data.s}}",
        "X={{data.s}} ./x.sh",
    ]);
    assert!(rejected.is_empty(), "{rejected:#?}");
}

#[test]
fn the_error_for_a_closed_value_names_it() {
    for (text, wanted) in [
        ("T={{data.m}}; \"$T\"", "a variable whose value is not known"),
        ("sh -c ': ; {{data.m}}'", "\"{{data.m}}\" is a value of the event"),
        ("cd lab/{{data.s}} && ./x.sh", "\"lab/{{data.s}}\" is a value of the event"),
        ("tar -I {{data.m}} -xf a.tar", "declare it as one of [a, b] in trigger.data"),
        ("sh -c 'echo $(( {{data.s}} ))'", "declare the value as integer"),
        ("sh -c 'cp {{data.e}} a b'", "declare it as slug"),
    ] {
        let problem = problem_of(&command(text)).unwrap_or_default();
        assert!(problem.contains(wanted), "{text}: {problem}");
    }
}
