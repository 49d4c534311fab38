//! Programs other than shells that run what their words name.

use crate::deciding::{command, problem_of};

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
