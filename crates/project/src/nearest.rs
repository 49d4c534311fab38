//! Finds the known name that a mistyped one most likely meant.

/// The nearest of the names, if one is near enough. `-`, `_` and case are ignored.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = plain(given);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&given, &plain(name)), name))
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .map(|(_, name)| name)
}

fn plain(name: &str) -> String {
    // Names are short; longer input is noise, and comparing costs the product of the lengths.
    let chars = name.chars().take(64).filter(|c| !matches!(c, '-' | '_'));
    chars.flat_map(char::to_lowercase).collect()
}
