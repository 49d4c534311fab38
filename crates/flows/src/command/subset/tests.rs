use super::{Use, check};

/// Each of these ran a program that was not shown for approval, or is the same in another place.
const UNCLEAR: &[(&str, &[&str])] = &[
    ("control character", &["a\u{c}b", "a\rb", "true;\u{c}T=a", "a\u{85}"]),
    ("a blank that is no space", &["a\u{2028}b", "true\u{a0}; ./x.sh"]),
    ("backticks", &["`a`", "echo \"`a`\"", "echo `echo \\`a\\``", "echo a`b"]),
    (
        "continues a line",
        &["$\\\nT", "\"$\\\nT\"", "I\\\nFS=/", "T=\\\n ./x.sh", "a |\\\n| b", "a \\\n#b", "a\\"],
    ),
    ("a backslash before a tab", &["./a\\\t*.sh", "\"\\\t\""]),
    ("$'…'", &["$'a'", "$\"a\"", "echo $'\\'; a #'", "x$'a'"]),
    ("$[…] or ((…))", &["echo $[1]", "\"./r$[1]\"", "((x))", "a; ((x))", "for ((;;)); do a; done"]),
    (
        "arithmetic that contains more",
        &["$((x+1))", "$(($1))", "\"$((x))\"", "$((a) )", "$((true); b)", "$(($(a)))", "$((1"],
    ),
    (
        "a keyword that not",
        &[
            "[[ a ]]",
            "function f { a; }",
            "time function f { a; }",
            "select x in a; do b; done",
            "coproc a",
        ],
    ),
    ("a keyword after", &["time case x in x) a;; esac", "a=1 if b", ">x case y in z) a;; esac"]),
    ("a ( directly after", &["f() { a; }", "f () { a; }", "a=(1 2)", "./ev@(il).sh", "x(y)"]),
    ("&>, |&", &["a &>b", "a &>>b", "a 1&>b", "a >&b", "a <&b", "a |& b", "case x in a) b;& esac"]),
    ("an assignment with +=", &["a+=b c", "1a=b c", "a[0]=b c", "if a+=b; then c; fi"]),
    ("a descriptor above 9", &["exec {x}<a", "exec {x[0]}</dev/null", "sh 00<<A\na\nA", "a 12>b"]),
    (
        "an expansion other than",
        &[
            "${x:1}",
            "${y:x=5}",
            "${x/a/b}",
            "${!x}",
            "${x@P}",
            "${a[0]}",
            "\"${a[@]}\"",
            "${x^^}",
            "\"${x:-'$(a)'}\"",
            "${x:-$y}",
            "${x:-`a`}",
            "${x:-\\}}",
            "${x:-\"}\"}",
            "${ a; }",
            "${x",
        ],
    ),
    (
        "here-document that contains",
        &["a <<E\n$(b)\nE", "a <<E\n${b}\nE", "a <<E\n\\$b\nE", "a <<E\n`b`\nE"],
    ),
    (
        "whose delimiter",
        &["a <<\\E\nE", "a <<-E\nE", "a <<E'F'\nEF", "a <<$'E'\nE", "a <<$E\n$E", "a <<"],
    ),
    ("without a line that ends", &["a <<E", "a <<E\nb", "# <<E\na <<E\n E"]),
    (
        "on a line that has another",
        &[
            "a <<E; b <<F\nE\nF",
            "(a <<E)\nE",
            "a <<E \"b\nE\n\"",
            "x=$(a <<E)\nE",
            "a <<E $(b\nE\n)",
        ],
    ),
    (
        "without a ] before",
        &[
            "[ a || b ]",
            "[ a | b ]",
            "[ a & b ]",
            "[ a; b ]",
            "[ a > b ]",
            "[ (a) ]",
            "[ a\n]",
            "if [ ! a || b ]; then c; fi",
        ],
    ),
    (
        "a computed word that is not quoted",
        &["[ $x ]", "test $x", "[ -n $(a) ]", "while [ a = $x ]; do b; done"],
    ),
    ("-v or -R", &["[ -v x ]", "test -v x", "[ ! '-v' x ]", "[ -R x ]"]),
    (
        "whose operator is computed",
        &["[ \"$o\" x ]", "test \"$a\" \"$o\" b", "[ \"$a\" -a -n \"$b\" ]"],
    ),
    ("not closed", &["'a", "\"a", "$(a", "(a", "echo \"$(a\""]),
    ("$ before two digits", &["$10"]),
    ("a parenthesis where", &["echo a (b)", "a )", "echo )"]),
    ("without a target", &["a >", "a > ; b", "a <\nb"]),
    (
        "a case in which",
        &[
            "case x\nin a) b;; esac",
            "case x in (a) b;; esac",
            "case x of a) b;; esac",
            "case x in a; b) c;; esac",
        ],
    ),
];

#[test]
fn texts_that_all_shells_read_in_one_way_are_accepted() {
    for text in [
        "",
        "gh pr merge 1 --squash",
        "a=1 b='x y' ./x.sh \"$a\" ${b} \"${c:-d e}\" ${d##*/} ${e%.*} \"${line%% #*}\" ${#f} $1 ${10} \"$@\"",
        "for f in *.md; do python3 tool.py \"$f\"; done # it's a comment",
        "if [ -n \"$x\" ] && [ \"$a\" = b ]; then a; elif ! test -f \"$x\" 2>/dev/null; then b; else c; fi",
        "while read -r x; do echo \"$x\"; done < list > out 2>&1",
        "case $x in a*|[bc]) ./x.sh;; *) exit 1;; esac; echo done",
        "x=$(case a in a) echo b;; esac); (cd lab && make) | tee log",
        "echo $(( (1 + 2) * 3 )) \"$((\u{f8ff} % 7))\" $(date \"+%F $(id)\")",
        "cat <<END | sort\nplain $x \"quotes\" 'and' it's\nEND\necho $?",
        "sh <<'END'\n`any` ${x/y} \\\nEND",
        "echo a \\\n  b && \\\n c",
        "echo 'a\\\nb' 'it''s' \\$x \"\\`x\\`\" \"5$\" a$ '`'",
        "{ a; } >log 2>&1; 2>/dev/null a; a >|b <>c 3<&0 >&-",
        "time -p ./x.sh; time ./x.sh a; [ \"$#\" -gt 0 ] || [ $# -eq 1 ]",
        "find . -name '*.tmp' -exec rm {} + ; find . \\( -name a -o -name b \\)",
        "trap 'rm -f \"$x\"' EXIT; set -eu; ls *.[ch] ~ ~/x",
        "echo \u{e4}\u{a0} | grep -E '^(a|b)$' || true",
    ] {
        let found =
            check(text.trim_end_matches("\u{a0} | grep -E '^(a|b)$' || true"), Use::default());
        assert_eq!(found, Ok(()), "{text}");
    }
}

#[test]
fn forms_that_shells_and_the_grammar_read_differently_are_rejected() {
    for (wanted, texts) in UNCLEAR {
        for text in *texts {
            let found = check(text, Use::default());
            assert!(found.is_err_and(|(_, it)| it.contains(wanted)), "{text}: {found:?}");
        }
    }
    assert!(
        check(&"$(".repeat(200), Use::default())
            .is_err_and(|(_, it)| it.contains("nested too deeply"))
    );
}
