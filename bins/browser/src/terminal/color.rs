//! Colours within the abilities of the terminal.

use ratatui::style::Color as Ink;
use waypost_browser::Color;

/// The number of colours that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// None, because the user disabled them, or the terminal has none.
    None,
    Sixteen,
    TwoHundredFiftySix,
    All,
}

/// The sixteen colours as most terminals show them.
const SIXTEEN: [(Color, Ink); 16] = [
    (Color(0, 0, 0), Ink::Black),
    (Color(170, 0, 0), Ink::Red),
    (Color(0, 170, 0), Ink::Green),
    (Color(170, 85, 0), Ink::Yellow),
    (Color(0, 0, 170), Ink::Blue),
    (Color(170, 0, 170), Ink::Magenta),
    (Color(0, 170, 170), Ink::Cyan),
    (Color(170, 170, 170), Ink::Gray),
    (Color(85, 85, 85), Ink::DarkGray),
    (Color(255, 85, 85), Ink::LightRed),
    (Color(85, 255, 85), Ink::LightGreen),
    (Color(255, 255, 85), Ink::LightYellow),
    (Color(85, 85, 255), Ink::LightBlue),
    (Color(255, 85, 255), Ink::LightMagenta),
    (Color(85, 255, 255), Ink::LightCyan),
    (Color(255, 255, 255), Ink::White),
];
/// The steps of each component in the cube of 216 colours.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Depth {
    /// Reads the depth from the environment: `NO_COLOR`, `COLORTERM` and `TERM`.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let is_unwanted = variable("NO_COLOR").is_some_and(|variable| !variable.is_empty());
        if is_unwanted || term == "dumb" || term.ends_with("-mono") {
            return Self::None;
        }
        let more = variable("COLORTERM").unwrap_or_default();
        if more == "truecolor" || more == "24bit" || term.ends_with("-direct") {
            Self::All
        } else if term.contains("256color") {
            Self::TwoHundredFiftySix
        } else {
            Self::Sixteen
        }
    }

    /// The nearest colour that the terminal has; `None` if it has no colours.
    pub(crate) fn ink(self, color: Color) -> Option<Ink> {
        match self {
            Self::None => None,
            Self::Sixteen => {
                SIXTEEN.iter().min_by_key(|named| distance(named.0, color)).map(|named| named.1)
            }
            Self::TwoHundredFiftySix => Some(Ink::Indexed(indexed(color))),
            Self::All => Some(Ink::Rgb(color.0, color.1, color.2)),
        }
    }
}

fn distance(a: Color, b: Color) -> u32 {
    let apart = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    apart(a.0, b.0) + apart(a.1, b.1) + apart(a.2, b.2)
}

/// The nearest colour of the cube of 216 and the 24 greys.
fn indexed(color: Color) -> u8 {
    let step = |part: u8| {
        let nearest = (0_u8..).zip(STEPS).min_by_key(|pair| pair.1.abs_diff(part));
        nearest.unwrap_or_default()
    };
    let (red, green, blue) = (step(color.0), step(color.1), step(color.2));
    let in_cube = Color(red.1, green.1, blue.1);
    let sum = u16::from(color.0) + u16::from(color.1) + u16::from(color.2);
    let shade = u8::try_from((sum / 3).saturating_sub(3) / 10).unwrap_or(u8::MAX).min(23);
    let grey = 8 + 10 * shade;
    if distance(Color(grey, grey, grey), color) < distance(in_cube, color) {
        232 + shade
    } else {
        16 + 36 * red.0 + 6 * green.0 + blue.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Color, Depth, Ink};

    #[test]
    fn the_environment_says_how_many_colours_there_are() {
        let cases: [(&[(&str, &str)], Depth); 7] = [
            (&[], Depth::Sixteen),
            (&[("TERM", "xterm")], Depth::Sixteen),
            (&[("TERM", "xterm-256color")], Depth::TwoHundredFiftySix),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], Depth::All),
            (&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")], Depth::None),
            (&[("COLORTERM", "24bit"), ("NO_COLOR", "")], Depth::All),
            (&[("TERM", "dumb")], Depth::None),
        ];
        for (set, expected) in cases {
            let variable =
                |name: &str| set.iter().find(|set| set.0 == name).map(|set| set.1.to_owned());
            assert_eq!(Depth::of(variable), expected, "{set:?}");
        }
    }

    #[test]
    fn a_colour_is_shown_by_the_nearest() {
        let shown =
            |color| [Depth::Sixteen, Depth::TwoHundredFiftySix, Depth::All].map(|it| it.ink(color));
        let cases = [
            (Color(255, 255, 255), [Ink::White, Ink::Indexed(231), Ink::Rgb(255, 255, 255)]),
            (Color(0, 0, 238), [Ink::Blue, Ink::Indexed(21), Ink::Rgb(0, 0, 238)]),
            (Color(18, 18, 18), [Ink::Black, Ink::Indexed(233), Ink::Rgb(18, 18, 18)]),
            (Color(250, 90, 80), [Ink::LightRed, Ink::Indexed(203), Ink::Rgb(250, 90, 80)]),
        ];
        for (color, expected) in cases {
            assert_eq!(shown(color), expected.map(Some), "{color:?}");
        }
        assert_eq!(Depth::None.ink(Color(1, 2, 3)), None);
    }
}
