//! Text between fences.

/// Text between fences that are longer than any run of backticks in it. `label` says what it is.
pub fn fenced(label: &str, text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{label}\n{text}\n{fence}")
}
