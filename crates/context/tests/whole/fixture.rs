//! The project of the written cases: a small shop with journals, decisions, documents and code.

use crate::world::World;

/// Each file with its text.
pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "AGENTS.md",
        "# How to work here\n\nRun `just check` before you commit. Never edit generated files.\n",
    ),
    (
        "README.md",
        "# Shop\n\nA small shop: carts, payments, shipping labels.\n\nSee [the architecture](ARCHITECTURE.md) and [how to install](docs/guide/install.md).\n",
    ),
    (
        "ARCHITECTURE.md",
        "# Architecture\n\n## Layers\n\nThe web layer calls the core, the core calls the storage. Nothing calls upwards.\n\n## Queues\n\nMail is sent from a queue with retries and a dead letter table.\n",
    ),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## 1.2.0 - 2026-02-10\n\n- Vouchers can be combined with discounts.\n\n## 1.1.0 - 2025-11-02\n\n- Shipping labels are printed as PDF.\n",
    ),
    (
        "ROADMAP.md",
        "# Roadmap\n\n## Next quarter\n\nOpen a warehouse in Lisbon and offer same day delivery.\n",
    ),
    (
        "journal/2026-02-18.md",
        "# Wednesday\n\nThe payment gateway timed out again. Raised the timeout to nine seconds and wrote to the provider.\n",
    ),
    (
        "journal/2025-06-03.md",
        "# Tuesday\n\nThe payment gateway timed out for the first time. Restarted it, no idea why.\n",
    ),
    (
        "notes/HANDOFF.md",
        "# Handoff\n\n## 2026-02-19\n\nThe importer of suppliers is half done: CSV works, XML is missing. Continue in `importer.py`.\n",
    ),
    (
        "docs/adr/0001-keep-data-in-sqlite.md",
        "# 1. Keep the orders in SQLite\n\n## Status\n\nSuperseded by [4](0004-keep-data-in-postgres.md)\n\n## Decision\n\nWe keep the database of orders in one SQLite file.\n",
    ),
    (
        "docs/adr/0002-event-sourcing.md",
        "---\nstatus: proposed\ndate: 2026-01-05\n---\n# 2. Event sourcing for stock levels\n\nStock levels would be the sum of stock events.\n",
    ),
    (
        "docs/adr/0003-graphql.md",
        "---\nstatus: rejected\n---\n# 3. Offer a GraphQL interface\n\nPartners would query products by GraphQL.\n",
    ),
    (
        "docs/adr/0004-keep-data-in-postgres.md",
        "---\nstatus: accepted\nsupersedes: 0001\n---\n# 4. Keep the orders in Postgres\n\n## Decision\n\nWe keep the database of orders in Postgres, because two processes write.\n",
    ),
    (
        "docs/adr/0005-rest-interface.md",
        "---\nstatus: accepted\n---\n# 5. Offer a REST interface\n\nPartners query products by plain REST with pages of a hundred.\n",
    ),
    (
        "docs/guide/install.md",
        "# Installing\n\n## Requirements\n\nYou need Postgres 16 and Python 3.12.\n\n## Steps\n\nRun `./install --prefix /opt/shop` and start the unit.\n",
    ),
    (
        "docs/en/returns.md",
        "# Returns\n\nCustomers may return goods within thirty days. The label is in the parcel.\n",
    ),
    (
        "docs/de/returns.md",
        "# Returns\n\nKunden senden Waren binnen dreissig Tagen zurueck. Der Aufkleber liegt bei.\n",
    ),
    (
        "specs/payment.md",
        "# Payment\n\n## Refunds\n\nA refund is booked within one day and never exceeds what was paid.\n\n## Currencies\n\nAmounts are whole cents; conversion uses the rate of the order's day.\n",
    ),
    (
        "content/posts/launch.md",
        "---\ntitle: We are open\nslug: open\n---\n\nToday our shop for rare teas opens its doors to everybody.\n",
    ),
    (
        "drafts/spring-sale.md",
        "---\ntitle: Spring sale\ndraft: true\n---\n\nTwenty percent off all oolong until the end of April.\n",
    ),
    (
        "notes/suppliers.md",
        "---\ntype: spec\ntitle: Supplier files\ntags: [import, csv]\naliases: [vendor feed]\n---\n\nEach supplier sends a nightly file of prices and stock.\n",
    ),
    (
        "notes/ideas.md",
        "# Ideas\n\nA gift finder that asks three questions. See [[Supplier files]].\n",
    ),
    (
        "archive/old-plan.md",
        "# Old plan\n\nOpen a warehouse in Porto and offer delivery by bicycle.\n",
    ),
    (
        "src/cart.py",
        "\"\"\"Carts: what a customer wants to buy.\"\"\"\n\n\nclass Cart:\n    \"\"\"Holds lines until checkout.\"\"\"\n\n    def add_line(self, sku, count):\n        \"\"\"Adds some of a product; merges with a line of the same product.\"\"\"\n        self.lines[sku] = self.lines.get(sku, 0) + count\n\n    def total_cents(self):\n        \"\"\"What everything costs, vouchers taken off.\"\"\"\n        return sum(self.prices)\n",
    ),
    (
        "src/payment.py",
        "\"\"\"Payments through the gateway.\"\"\"\n\nGATEWAY_TIMEOUT_SECONDS = 9\n\n\ndef charge(order, amount_cents):\n    \"\"\"Charges the card of an order once, whatever the network does.\"\"\"\n    return retry_with_backoff(order, amount_cents)\n\n\ndef refund(order, amount_cents):\n    \"\"\"Gives money back; refuses more than was paid.\"\"\"\n    return order\n",
    ),
    (
        "src/importer.py",
        "\"\"\"Imports the nightly files of suppliers.\"\"\"\n\n\ndef read_csv_feed(path):\n    \"\"\"Reads a feed of prices and stock in CSV.\"\"\"\n    return []\n",
    ),
    (
        "src/labels.rs",
        "//! Shipping labels as PDF.\n\n/// A label for one parcel.\npub struct ShippingLabel {\n    pub barcode: String,\n}\n\nimpl ShippingLabel {\n    /// Draws the barcode with quiet zones at both ends.\n    pub fn draw_barcode(&self) -> Vec<u8> {\n        let width_of_quiet_zone = 11;\n        vec![0; width_of_quiet_zone]\n    }\n}\n",
    ),
    (
        "src/web/server.ts",
        "/** Serves the pages of the shop. */\nexport class PageServer {\n  /** Answers one request, from the cache if it can. */\n  handleRequest(path: string): string {\n    return path;\n  }\n}\n",
    ),
    (
        "src/queue.go",
        "// Package queue sends mail later.\npackage queue\n\n// DeadLetter keeps what could not be sent after five attempts.\ntype DeadLetter struct{}\n\n// Enqueue adds a message; it is sent by the worker.\nfunc Enqueue(message string) error { return nil }\n",
    ),
    (
        "tests/test_cart.py",
        "\"\"\"Tests of carts.\"\"\"\n\n\ndef test_total_cents_with_vouchers():\n    \"\"\"Vouchers are taken off what everything costs.\"\"\"\n    assert True\n",
    ),
    (
        "docs/operations.md",
        "# Operations\n\nThe mail password is in the vault.\n\n```\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n```\n\nRotate keys each month.\n",
    ),
    (".env", "PAYMENT_SECRET=swordfish-gateway\n"),
    (
        "deploy/id_rsa",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nswordfish\n-----END OPENSSH PRIVATE KEY-----\n",
    ),
    ("node_modules/left/index.js", "/** Pads swordfish to the left. */\nfunction leftPad() {}\n"),
    (".gitignore", "build-output/\n"),
    ("build-output/report.md", "# Report\n\nswordfish everywhere\n"),
];

/// The project, scanned.
pub(crate) fn shop() -> World {
    let world = World::new();
    for (path, text) in FILES {
        world.write(path, text);
    }
    world.scan();
    world
}
