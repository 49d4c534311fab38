use waypost_cli::visible::{Lines, visible};

#[test]
fn what_a_terminal_obeys_is_shown_instead() {
    for (text, folded) in [
        ("plain größe 漢字 👍🏽", "plain größe 漢字 👍🏽"),
        ("\u{1b}[2J\u{1b}]0;x\u{7}", "\\u{1b}[2J\\u{1b}]0;x\\u{7}"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("a\u{8}\u{8}b\u{7f}", "a\\u{8}\\u{8}b\\u{7f}"),
        ("safe\rover", "safe\\u{d}over"),
        ("two\r\nlines\tand", "two lines and"),
        ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
        ("\u{2066}x\u{2069}\u{200f}", "\\u{2066}x\\u{2069}\\u{200f}"),
        ("soft\u{ad}hy\u{34f}phen", "soft\\u{ad}hy\\u{34f}phen"),
        (
            "\u{180e}\u{2065}\u{206a}\u{3164}\u{ffa0}\u{115f}",
            "\\u{180e}\\u{2065}\\u{206a}\\u{3164}\\u{ffa0}\\u{115f}",
        ),
        (
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} می\u{200c}خواهم",
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} می\u{200c}خواهم",
        ),
        ("hid\u{200b}den\u{feff}\u{e0041}", "hid\\u{200b}den\\u{feff}\\u{e0041}"),
    ] {
        assert_eq!(visible(text, Lines::Fold), folded);
    }
    assert_eq!(visible("a\n\tb\r\n\u{1b}", Lines::Keep), "a\n\tb\n\\u{1b}");
}
