//! What serves the product without being part of it: tests, their helpers, empty change logs.

use waypost_context::TaskType::{Code, General};

use crate::world::World;

/// A ledger that says little, and tests of it that say all.
fn ledger() -> World {
    let world = World::new();
    world.write("src/ledger.rs", "pub fn carry() {}\n");
    world.write("src/paper.rs", "/// The balances of a page.\npub fn page() {}\n");
    let tests = "/// Balances are carried forward at midnight.\n\
                 fn balances_are_carried_forward_at_midnight() {}\n";
    world.write("tests/ledger.rs", tests);
    world.write("src/ledger/tests.rs", tests);
    world.scan();
    world
}

#[test]
fn a_test_comes_after_what_it_tests_unless_it_is_asked_for() {
    let world = ledger();
    let paths = world.paths("ledger: balances are carried forward at midnight");
    let place = |path: &str| paths.iter().position(|other| other == path).expect("it is found");
    assert!(place("src/ledger.rs") < place("tests/ledger.rs"), "{paths:?}");
    assert!(place("src/ledger.rs") < place("src/ledger/tests.rs"), "{paths:?}");
    for query in
        ["tests that balances are carried forward at midnight", "balances in tests/ledger.rs"]
    {
        assert!(world.paths(query)[0].contains("tests"), "{query}");
    }
}

#[test]
fn a_test_is_known_by_the_names_of_each_language() {
    for (product, test) in [
        ("src/cart.cc", "src/cart_unittest.cc"),
        ("src/cart.cc", "src/cart_unittests.cc"),
        ("src/cart.h", "src/cart_gtest.h"),
        ("src/cart.js", "src/cart-test.js"),
        ("src/cart.c", "src/cart-test.c"),
        ("src/cart.ts", "src/cart.e2e.ts"),
        ("src/cart.ts", "src/cart.cy.ts"),
        ("src/cart.ts", "src/cart.test-d.ts"),
        ("src/Cart.java", "src/TestCart.java"),
        ("src/Cart.java", "src/CartIT.java"),
        ("src/Cart.cs", "src/CartTests.cs"),
        ("src/cart.rb", "src/cart_spec.rb"),
        ("src/cart.py", "src/test_cart.py"),
    ] {
        let world = World::new();
        let comment = if [".py", ".rb"].iter().any(|it| test.ends_with(it)) { "#" } else { "//" };
        // Every word of the query is in the test, and one in the product.
        world.write(product, &format!("{comment} The cart.\n"));
        let words = "The cart totals vouchers and delivery: totals of vouchers, delivery.";
        world.write(test, &format!("{comment} {words}\n"));
        world.scan();
        let found = world.paths("cart totals with vouchers and delivery");
        let place = |path: &str| found.iter().position(|found| found == path);
        assert!(place(product).is_some() && place(product) < place(test), "{test}: {found:?}");
    }
}

#[test]
fn what_only_tests_use_comes_after_the_product() {
    let world = World::new();
    let text = "/// Opens a port on the loopback interface.\npub fn open_port() {}\n";
    world.write("crates/shop-test-support/src/lib.rs", text);
    world.write("src/testutil.rs", text);
    let product = "/// Opens a port.\npub fn open() {}\n\n#[cfg(test)]\n\
                   fn opens_a_port_on_the_loopback_interface() {}\n";
    world.write("src/port.rs", product);
    world.scan();
    let items = world.items("open a port on the loopback interface", Code);
    assert_eq!(items[0].title, "src/port.rs::open");
    let is_for_tests = |title: &str| title.contains("loopback");
    assert!(!items.iter().any(|it| is_for_tests(&it.title)));
}

#[test]
fn a_command_in_backticks_finds_its_manual_page() {
    let world = World::new();
    let page = "# shop-test\n\n## Synopsis\n\nRuns the tests of a shop.\n\n## Targets\n\n\
                It builds the library, and examples, so that they are known to compile.\n";
    world.write("doc/man/shop-test.md", page);
    world.write("doc/man/shop-build.md", "# shop-build\n\nBuilds examples, if asked to.\n");
    world.write("doc/examples.md", "# Examples\n\nHow to build examples: build them all.\n");
    world.write("src/layout.rs", "/// Where examples are built.\npub fn examples() {}\n");
    world.write("tests/build.rs", "/// A test builds examples.\nfn test_builds_examples() {}\n");
    world.scan();
    let items = world.items("why does `shop test` build examples", General);
    let first = (items[0].path.as_str(), items[0].content.contains("known to compile"));
    assert_eq!(first, ("doc/man/shop-test.md", true), "{}", items[0].title);
}

#[test]
fn without_a_query_a_change_log_without_entries_is_no_answer() {
    let world = World::new();
    world.write("CHANGELOG.md", "# Changelog\n\nSee [the releases](https://a.example/).\n");
    world.write("web/CHANGELOG.md", "# Changelog\n");
    world.write("core/CHANGELOG.md", "# Changelog\n\n## 1.0.0\n\n- It starts.\n");
    world.write("README.md", "# Shop\n\nA shop.\n");
    world.scan();
    let paths = world.paths("");
    let logs: Vec<&String> = paths.iter().filter(|path| path.ends_with("CHANGELOG.md")).collect();
    assert_eq!(logs, ["core/CHANGELOG.md"], "{paths:?}");
}
