//! Written cases: what must be found in the shop, for which task, and what must not.

use waypost_context::{Kind, Query, Source, TaskType};

use crate::fixture::shop;
use crate::world::World;

use TaskType::{Code, Content, General, Spec, Strategy};

/// A condition on an answer's distinct paths, in order.
enum Must<'a> {
    /// This one is first.
    First(&'a str),
    /// This one is among the first three.
    Top3(&'a str),
    /// The first is present, and before the second, which may be absent.
    Before(&'a str, &'a str),
    /// This one is absent.
    Never(&'a str),
}

use Must::{Before, First, Never, Top3};

#[rustfmt::skip]
const CASES: &[(&str, TaskType, Must<'_>)] = &[
    // Journals.
    ("why did the payment gateway time out", General, Top3("journal/2026-02-18.md")),
    ("payment gateway timed out", Strategy, First("journal/2026-02-18.md")),
    ("payment gateway timed out", General, Before("journal/2026-02-18.md", "journal/2025-06-03.md")),
    ("payment gateway timed out first time no idea why", Strategy, Top3("journal/2025-06-03.md")),
    ("what is left to do on the supplier importer", General, Top3("notes/HANDOFF.md")),
    ("XML missing in the importer", Strategy, First("notes/HANDOFF.md")),
    ("vouchers combined with discounts", General, Top3("CHANGELOG.md")),
    ("since when are labels printed as PDF", Content, Top3("CHANGELOG.md")),
    // Decisions, and what replaced them.
    ("where do we keep the database of orders", General, First("docs/adr/0004-keep-data-in-postgres.md")),
    ("database of orders", Spec, Before("docs/adr/0004-keep-data-in-postgres.md", "docs/adr/0001-keep-data-in-sqlite.md")),
    ("keep the orders decision", Strategy, Before("docs/adr/0004-keep-data-in-postgres.md", "docs/adr/0001-keep-data-in-sqlite.md")),
    ("0001-keep-data-in-sqlite.md", General, First("docs/adr/0001-keep-data-in-sqlite.md")),
    ("why was SQLite chosen", General, First("docs/adr/0001-keep-data-in-sqlite.md")),
    ("partners query products interface", Spec, Before("docs/adr/0005-rest-interface.md", "docs/adr/0003-graphql.md")),
    ("partners query products", General, Before("docs/adr/0005-rest-interface.md", "docs/adr/0003-graphql.md")),
    ("GraphQL for partners", General, Top3("docs/adr/0003-graphql.md")),
    ("stock events", Spec, First("docs/adr/0002-event-sourcing.md")),
    // Documents.
    ("how do I install the shop", General, Top3("docs/guide/install.md")),
    ("which version of Postgres is needed", Content, Top3("docs/guide/install.md")),
    ("refund within one day", Spec, First("specs/payment.md")),
    ("conversion of currencies", General, First("specs/payment.md")),
    ("what may call what between the layers", Spec, First("ARCHITECTURE.md")),
    ("mail queue with retries and dead letter", Spec, Top3("ARCHITECTURE.md")),
    ("new warehouse", Strategy, First("ROADMAP.md")),
    ("warehouse delivery", General, Before("ROADMAP.md", "archive/old-plan.md")),
    ("old plan with bicycles in Porto", General, Top3("archive/old-plan.md")),
    ("opening of the tea shop", Content, First("content/posts/launch.md")),
    ("oolong discount in spring", Content, First("drafts/spring-sale.md")),
    ("what to run before a commit", General, First("AGENTS.md")),
    ("never edit generated files", Code, First("AGENTS.md")),
    ("gift finder", General, First("notes/ideas.md")),
    ("customers return goods thirty days", General, First("docs/en/returns.md")),
    // Frontmatter.
    ("nightly file of a supplier", Spec, First("notes/suppliers.md")),
    ("Supplier files", General, Top3("notes/suppliers.md")),
    ("We are open", Content, First("content/posts/launch.md")),
    // Code.
    ("ShippingLabel", Code, First("src/labels.rs")),
    ("draw_barcode", General, First("src/labels.rs")),
    ("quiet zones of the barcode", Code, First("src/labels.rs")),
    ("width_of_quiet_zone", General, First("src/labels.rs")),
    ("retry_with_backoff", General, First("src/payment.py")),
    ("charge the card once", Code, First("src/payment.py")),
    ("src/payment.py", General, First("src/payment.py")),
    ("look into importer.py", General, First("src/importer.py")),
    ("GATEWAY_TIMEOUT_SECONDS", General, First("src/payment.py")),
    ("add a product to the cart", Code, First("src/cart.py")),
    ("Cart.total_cents", Code, First("src/cart.py")),
    ("total of a cart with vouchers", Code, Before("src/cart.py", "tests/test_cart.py")),
    ("test of the total with vouchers", Code, First("tests/test_cart.py")),
    ("handleRequest", General, First("src/web/server.ts")),
    ("PageServer answers from the cache", Code, First("src/web/server.ts")),
    ("DeadLetter", Code, First("src/queue.go")),
    ("read csv feed", Code, First("src/importer.py")),
    // One text, two tasks.
    ("refund", Code, First("src/payment.py")),
    ("refund", Spec, First("specs/payment.md")),
    ("suppliers", Code, Before("src/importer.py", "notes/ideas.md")),
    ("suppliers", Spec, First("notes/suppliers.md")),
    ("payment gateway timeout", Code, First("src/payment.py")),
    ("payment gateway timeout", Strategy, First("journal/2026-02-18.md")),
    // What must stay out.
    ("swordfish", General, Never(".env")),
    ("swordfish gateway secret", Code, Never(".env")),
    ("swordfish private key", General, Never("deploy/id_rsa")),
    ("swordfish", General, Never("build-output/report.md")),
    ("leftPad swordfish", Code, Never("node_modules/left/index.js")),
    // Empty queries.
    ("", General, First("AGENTS.md")),
    ("", Code, First("AGENTS.md")),
    (" \n", Strategy, Before("journal/2026-02-18.md", "journal/2025-06-03.md")),
    ("", Spec, Before("README.md", "docs/de/returns.md")),
    ("", General, Never("docs/adr/0003-graphql.md")),
];

fn paths(world: &World, text: &str, task: TaskType) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for item in world.items(text, task) {
        if !paths.contains(&item.path) {
            paths.push(item.path);
        }
    }
    paths
}

#[test]
fn every_written_case_holds() {
    let world = shop();
    let mut wrong = Vec::new();
    for (text, task, must) in CASES {
        let paths = paths(&world, text, *task);
        let place = |path: &str| paths.iter().position(|other| other == path);
        let (holds, what) = match must {
            First(path) => (place(path) == Some(0), format!("first {path}")),
            Top3(path) => {
                (place(path).is_some_and(|place| place < 3), format!("among three {path}"))
            }
            Before(a, b) => (
                place(a).is_some_and(|a| place(b).is_none_or(|b| a < b)),
                format!("{a} before {b}"),
            ),
            Never(path) => (place(path).is_none(), format!("never {path}")),
        };
        if !holds {
            let head: Vec<&String> = paths.iter().take(5).collect();
            wrong.push(format!("{text:?} for {task}: {what}, but {head:?}"));
        }
    }
    assert!(CASES.len() >= 60);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn an_item_says_what_it_is_and_where() {
    let world = shop();
    let item = world.items("draw_barcode", General).remove(0);
    assert_eq!((item.source, item.kind), (Source::Code, Kind::Function));
    assert_eq!(item.title, "src/labels.rs::ShippingLabel.draw_barcode");
    assert!(item.content.contains("quiet zones") && item.content.contains("pub fn draw_barcode"));
    assert!(!item.content.contains("width_of_quiet_zone"), "no bodies: {}", item.content);
    assert_eq!(item.line, 9, "the doc comment's first line");
    let item = world.items("conversion of currencies", General).remove(0);
    assert_eq!((item.kind, item.title.as_str()), (Kind::Spec, "Payment > Refunds; Currencies"));
    assert!((0.0..=1.0).contains(&item.score));
    assert_eq!(item.tokens as usize, (item.title.len() + item.content.len()).div_ceil(4));
}

#[test]
fn a_function_is_found_by_the_words_of_its_name() {
    let world = World::new();
    let function = |name: &str, calls: &str| {
        format!("fn {name}(table: &mut Table) {{\n    {calls}(table);\n}}\n\n")
    };
    // Other functions mention it more than the one that implements it.
    let text = function("shrink_quickly", "resize_hash_table")
        + &function("grow_table", "resize_hash_table")
        + &function("on_table_full", "resize_hash_table")
        + &function("resize_hash_table", "swap");
    world.write("src/table.rs", &text);
    world.scan();
    let items = world.items("Resizes the hash table to what is asked for", Code);
    let functions: Vec<&str> = items
        .iter()
        .filter(|item| item.kind == Kind::Function)
        .map(|item| item.title.as_str())
        .collect();
    assert_eq!(functions.first(), Some(&"src/table.rs::resize_hash_table"), "{functions:?}");
}

#[test]
fn secrets_are_in_no_answer_and_are_counted() {
    let world = shop();
    for text in ["AKIAIOSFODNN7EXAMPLE", "aws access key", "swordfish", "mail password vault"] {
        for item in world.items(text, General) {
            let whole = format!("{} {}", item.title, item.content);
            assert!(!whole.contains("AKIAIOSFODNN7"), "{text}: {whole}");
            assert!(!whole.contains("swordfish"), "{text}: {whole}");
        }
    }
    let status = world.context().status();
    assert_eq!(status.redactions.values().sum::<u64>(), 1, "{:?}", status.redactions);
    assert!(status.skipped["secret"] >= 2, "{:?}", status.skipped);
}

#[test]
fn sources_types_and_paths_shut_others_out() {
    let world = shop();
    let ask = |query: Query| world.ask(&query).items;
    let items = ask(Query::new("payment gateway").with_sources([Source::Journal]));
    assert!(!items.is_empty() && items.iter().all(|it| it.source == Source::Journal));
    let items = ask(Query::new("orders").with_kinds([Kind::Decision]));
    assert!(!items.is_empty() && items.iter().all(|it| it.kind == Kind::Decision));
    let items = ask(Query::new("payment").with_kinds([Kind::Function]));
    assert!(!items.is_empty() && items.iter().all(|it| it.kind == Kind::Function));
    let items = ask(Query::new("orders Postgres").with_paths(["docs/**"]));
    assert!(!items.is_empty() && items.iter().all(|it| it.path.starts_with("docs/")));
    let items = ask(Query::default().with_paths(["src"]));
    assert!(items.iter().all(|it| it.path.starts_with("src/")), "also if nothing is asked");
}

#[test]
fn neither_items_nor_tokens_exceed_what_was_asked_for() {
    let world = shop();
    for text in ["payment order", ""] {
        for max_items in [1, 3, 200] {
            let answer = world.ask(&Query::new(text).with_max_items(max_items));
            assert!((1..=max_items).contains(&answer.items.len()));
        }
        for max_tokens in [0, 20, 100, 400] {
            let query = Query::new(text).with_max_tokens(max_tokens);
            let answer = world.ask(&query);
            let used: u32 = answer.items.iter().map(|item| item.tokens).sum();
            assert!(used as usize <= max_tokens, "{used} of {max_tokens}");
            assert!(answer.truncated || max_tokens == 400);
        }
    }
}

#[test]
fn the_same_query_gives_the_same_answer_whatever_came_before() {
    let world = shop();
    let before = world.ask(&Query::new("payment gateway order refund"));
    for (path, text) in crate::fixture::FILES.iter().rev() {
        world.remove(path);
        world.scan();
        world.write(path, text);
    }
    world.scan();
    let mut after = world.ask(&Query::new("payment gateway order refund"));
    for (item, was) in after.items.iter_mut().zip(&before.items) {
        assert!((item.score - was.score).abs() < 1e-3, "dates apart nothing is another");
        item.score = was.score;
        item.updated_at = was.updated_at;
    }
    assert_eq!(after.items, before.items);
}

#[test]
fn translations_and_copies_do_not_crowd_an_answer() {
    let world = shop();
    let text = "# Packing\n\nWrap every cup twice and fill the box with straw.\n";
    world.write("docs/packing.md", text);
    world.write("docs/copy/packing.md", text);
    world.scan();
    let items = world.items("wrap every cup in straw", General);
    let packing = items.iter().filter(|item| item.title.contains("Packing")).count();
    assert_eq!(packing, 1, "one text is given once");
}
