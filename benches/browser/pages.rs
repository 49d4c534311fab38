//! Made-up pages.

use std::fmt::Write as _;

/// Words that texts are made of.
const WORDS: &[&str] = &[
    "harbour", "lantern", "granite", "winter", "letters", "quietly", "captain", "window", "garden",
    "silver", "morning", "between", "remember", "village", "shadow", "northern", "story", "water",
];

/// Words by a sequence that is the same every time.
struct Words(u32);

impl Words {
    fn some(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(WORDS[(self.0 >> 16) as usize % WORDS.len()]);
            text.push(' ');
        }
        text
    }
}

/// A long article as encyclopedias have them: 25,000 elements, links in every paragraph, notes.
pub(crate) fn article() -> String {
    let mut words = Words(7);
    let mut page = "<!doctype html><title>Article</title><main><h1>The harbour</h1>".to_owned();
    page.push_str(
        "<form action=/search><input name=q aria-label=Search><button>Go</button></form>",
    );
    for section in 0..120 {
        write!(page, "<section><h2 id=s{section}>{}</h2>", words.some(3)).expect("a string");
        for paragraph in 0..10 {
            page.push_str("<p>");
            for link in 0..10 {
                let to = format!("/wiki/{section}-{paragraph}-{link}");
                let (before, text) = (words.some(8), words.some(2));
                write!(page, "{before}<a href={to}>{text}</a> <i>{}</i>", words.some(1))
                    .expect("a string");
            }
            page.push_str("</p>");
        }
        page.push_str("</section>");
    }
    page.push_str("</main>");
    page
}

/// A page of a shop: 3,000 elements, of which most are in cards.
pub(crate) fn shop() -> String {
    let mut words = Words(11);
    let mut page = "<!doctype html><title>Shop</title><style>
        .grid { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px }
        .card { border: 1px solid #ccc; padding: 8px } .price { color: #a00 }
        .picture { height: 120px; background: #dde } button { cursor: pointer }
        </style><header><h1>Shop</h1><nav>"
        .to_owned();
    for entry in 0..20 {
        write!(page, "<a href=/c/{entry}>{}</a> ", words.some(1)).expect("a string");
    }
    page.push_str("</nav><form action=/s><input name=q aria-label=Search><button>Find</button></form></header><div class=grid>");
    for card in 0..150 {
        let (name, text) = (words.some(3), words.some(12));
        write!(
            page,
            "<article class=card><a href=/p/{card}><div class=picture></div></a>
             <h3><a href=/p/{card}?t>{name}</a></h3><p class=text><span>{text}</span></p>
             <div class=stars><i>*</i><i>*</i><i>*</i><i>*</i><span>{card} ratings</span></div>
             <div class=price><span>{card}</span><sup>99</sup></div>
             <label>Size <select name=size{card}><option>S<option>M<option>L</select></label>
             <button data-sku={card}>Add to cart</button></article>"
        )
        .expect("a string");
    }
    page.push_str("</div><footer><p>All prices with tax</p></footer>");
    page
}

/// One table of 60,000 rows.
pub(crate) fn rows() -> String {
    let mut page =
        "<!doctype html><title>Rows</title><h1>Measurements</h1><table id=all><tr><th>Nr<th>Value</tr>"
            .to_owned();
    for row in 1..60_000 {
        write!(page, "<tr><td>{row}<td>{}</tr>", row * 7 % 1_000).expect("a string");
    }
    page.push_str("</table>");
    page
}
