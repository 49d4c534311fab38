//! A page is read, shown and used in time in proportion to it, whatever is in it.

use scraper::ElementRef;
use url::Url;

use super::extract::option_named;
use super::flow::lay_out;
use super::frame::Look;
use super::input::find;
use super::page::{Page, all_text_of};
use super::parse::parse;
use crate::doubling::assert_proportional;
use crate::protocol::ReadScope;

/// How pages begin, and what they repeat; `#` is the number of the repetition.
const WIDE: &[(&str, &str)] = &[
    (
        "<ol>",
        "<li><a href=/x>link</a><p id=same><label for=f#>label</label><input id=f#></p>
         <form id=g#><input form=g#><button>send</button></form><table><tr><td>cell</table>",
    ),
    ("<form><label>", "<input name=a><input type=password>"),
    ("<table><tr>", "<td>cell"),
    ("<select multiple name=s>", "<option value=# selected>text"),
];
const DEEP: &[&str] = &[
    "<div><a href=/x>link</a>",
    "<form><div></form><input>",
    "<label>text",
    "<table><tr><div>text",
    "<b>",
    "<p><b class=#>",
    "<p><font size=#>text",
    "<a href=/x><table><tr><td>",
    "<div><a href=/x><p></a>",
    "<b><p></b>",
    "<svg><g>",
    "<template>",
];

fn repeated(part: &str, times: usize) -> String {
    (0..times).map(|at| part.replace('#', &at.to_string())).collect()
}

fn page(html: String) -> Page {
    Page::new(Url::parse("https://a.example/").expect("a URL"), 200, html, 1)
}

fn use_page(page: &Page) {
    let open = page.open();
    let reach = ReadScope {
        scope: None,
        viewport: false,
        items_max: 5_000,
        characters_max: 100_000,
        tokens_max: None,
        known: Vec::new(),
    };
    open.extract(None, &reach);
    if let Some(field) = open.select("form input").first() {
        drop(open.submission(*field, None));
    }
    if let Some(list) = open.select("select").first() {
        option_named(*list, "none");
    }
    for field in open.select("input") {
        open.form_of(field);
    }
    find(&mut Look::default(), &lay_out(&open, 80), "none", false);
}

#[test]
fn a_page_is_used_in_time_in_proportion_to_it() {
    for (start, part) in WIDE {
        let make = |times: usize| page(format!("{start}{}", repeated(part, times)));
        let size = 6_000 / part.len();
        assert_proportional(&format!("{start}{part}"), size, make, use_page);
    }
}

#[test]
fn the_depth_and_the_nodes_of_a_page_are_bounded() {
    for part in DEEP {
        let html = repeated(part, 600);
        let document = parse(&html);
        let depths = document.tree.nodes().map(|node| node.ancestors().count());
        let (depth, nodes) = (depths.max().unwrap_or_default(), document.tree.values().len());
        assert!(depth <= 1_100 && nodes <= html.len() + 200, "{part}: {depth} {nodes}");
    }
}

#[test]
fn attributes_that_are_added_to_an_element_are_bounded() {
    let document = parse(&repeated("<body a#>", 1_000));
    let body = document.root_element().children().filter_map(ElementRef::wrap).last();
    assert_eq!(body.map(|body| body.value().attrs().count()), Some(8));
}

#[test]
fn a_tag_is_parsed_in_time_in_proportion_to_it() {
    for start in ["<x", "<script></script", "<x =", "<x a='>'", "<svg><style><x", "<!--<x a='--><x"]
    {
        let make = |times: usize| format!("{start}{}", repeated(" a#", times));
        assert_proportional(start, 4_000, make, |html| parse(html));
    }
}

#[test]
fn what_is_beyond_the_bounds_of_a_page_is_left_out() {
    let deep = format!("{}<a href=/x>link</a>{}end", "<div>".repeat(600), "</div>".repeat(600));
    let deep = page(deep);
    let open = deep.open();
    assert_eq!(open.select("a[href]").len(), 1);
    assert_eq!(all_text_of(open.html.root_element()), "linkend");

    let names = repeated(" a#", 2_000);
    let long = page(format!("<p>before<x{names}>after"));
    assert_eq!(all_text_of(long.open().html.root_element()), "before");
    let script = format!("<script>a<b{names}</script><p title='{names}'>after");
    assert_eq!(page(script).open().select("p").len(), 1);
}
