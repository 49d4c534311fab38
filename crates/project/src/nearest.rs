//! Finds the known name that a mistyped one most likely meant.

/// The nearest of the names, if one is near enough. `-`, `_` and case are ignored.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = plain(given);
    names
        .into_iter()
        .map(|name| (distance(&given, &plain(name)), name))
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .map(|(_, name)| name)
}

fn plain(name: &str) -> Vec<char> {
    // Names are short; longer input is noise, and comparing costs the product of the lengths.
    let chars = name.chars().take(64).filter(|it| !matches!(it, '-' | '_'));
    chars.flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, replacements and swaps of adjacent characters (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut best =
                (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
