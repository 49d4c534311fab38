//! A light stemmer for Hindi: removes the longest ending (Ananthakrishnan Ramanathan and Durgesh D.
//! Rao, *A Lightweight Stemmer for Hindi*, 2003).

/// Endings by their length in characters, longest first. The nasal vowel sign is written as the
/// dot, see [`usual_form`].
const ENDINGS: [(usize, &[&str]); 5] = [
    (5, &["ाएंगी", "ाएंगे", "ाऊंगी", "ाऊंगा", "ाइयां", "ाइयों"]),
    (
        4,
        &[
            "ाएगी",
            "ाएगा",
            "ाओगी",
            "ाओगे",
            "एंगी",
            "ेंगी",
            "एंगे",
            "ेंगे",
            "ूंगी",
            "ूंगा",
            "ातीं",
            "नाओं",
            "नाएं",
            "ताओं",
            "ताएं",
            "ियां",
            "ियों",
        ],
    ),
    (
        3,
        &[
            "ाकर",
            "ाइए",
            "ाईं",
            "ाया",
            "ेगी",
            "ेगा",
            "ोगी",
            "ोगे",
            "ाने",
            "ाना",
            "ाते",
            "ाती",
            "ाता",
            "तीं",
            "ाओं",
            "ाएं",
            "ुओं",
            "ुएं",
            "ुआं",
        ],
    ),
    (2, &["कर", "ाओ", "िए", "ाई", "ाए", "ने", "नी", "ना", "ते", "ीं", "ती", "ता", "ां", "ों", "ें"]),
    (1, &["ो", "े", "ू", "ु", "ी", "ि", "ा"]),
];

pub(super) fn stem(word: &str) -> String {
    let mut word: String = word.chars().filter_map(usual_form).collect();
    let length = word.chars().count();
    for (count, endings) in ENDINGS {
        // At least two characters stay.
        let ends =
            endings.iter().find(|ending| word.ends_with(**ending)).filter(|_| length > count + 1);
        if let Some(ending) = ends {
            word.truncate(word.len() - ending.len());
            break;
        }
    }
    word
}

/// One spelling of what is spelled in two ways: without the dot below for sounds of other
/// languages, and one sign for nasal vowels.
fn usual_form(c: char) -> Option<char> {
    match c {
        '\u{93C}' | '\u{200C}' | '\u{200D}' => None,
        '\u{901}' => Some('\u{902}'),
        '\u{958}' => Some('क'),
        '\u{959}' => Some('ख'),
        '\u{95A}' => Some('ग'),
        '\u{95B}' => Some('ज'),
        '\u{95C}' => Some('ड'),
        '\u{95D}' => Some('ढ'),
        '\u{95E}' => Some('फ'),
        '\u{95F}' => Some('य'),
        other => Some(other),
    }
}
