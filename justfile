# Prints the recipes.
default:
    @just --list

# Installs what the tests need and passes them.
test:
    ./scripts/test

# Builds and starts the service for this folder.
serve *arguments:
    ./scripts/start {{arguments}}

# Begins the browser there, for this folder.
browse url *arguments:
    ./bins/browser/launch.sh {{url}} {{arguments}}

# Everything that must hold before a change lands.
check: test outside deny

# Whether the packages outside the workspace compile: the fuzz targets and the comparison with peers.
outside:
    cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz
    cargo check --locked --manifest-path benches/peers/Cargo.toml --target-dir target/peers

# Licences, bans and advisories.
deny:
    cargo deny check

# How well search finds, over the collections in a folder, beside tantivy, SQLite's FTS5 and the model alone.
quality data="../shared/eval":
    cargo run --release --locked --manifest-path benches/peers/Cargo.toml --target-dir target/peers --bin quality-peers -- {{data}} > target/peers.jsonl
    cargo run --release --locked --package waypost-benches --bin quality -- --data {{data}} --peers target/peers.jsonl

# The same without tantivy and FTS5, which take minutes to build.
quality-alone data="../shared/eval":
    cargo run --release --locked --package waypost-benches --bin quality -- --data {{data}}

# How well a project's context is found: commits as queries, in the repositories of a folder.
quality-context repos data="../shared/eval" *arguments:
    cargo run --release --locked --package waypost-benches-context -- --data {{data}} --repos {{repos}} {{arguments}}

# How fast it is beside tantivy, onnxruntime, Redis and a plain vector scan.
speed *arguments:
    ./scripts/speed {{arguments}}

# What agents wait for: MCP calls beside the plain route, the start of `ctl mcp`, the hook for a prompt.
speed-agents *arguments:
    ./scripts/speed-agents {{arguments}}

# What the service uses when it has nothing to do: its share of a core, and its log lines.
idle seconds="60" files="5000":
    ./scripts/idle {{seconds}} {{files}}

# How fast pages are read and the mesh answers.
speed-browser *arguments:
    cargo run --release --locked --package waypost-benches-browser -- {{arguments}}

# The same pages read by others, from npm, beside it: how much they say, and how long it takes.
browser-rivals *arguments:
    cargo build --release --locked --package waypost-benches-browser --package waypost-browser-cli
    node benches/browser/rivals.mjs target/release/speed-browser target/release/browser {{arguments}}

# The dashboard in Chromium with 100,000 memories, 1,000,000 events and 200 more a second, for ten minutes.
speed-dashboard *arguments:
    cargo build --release --locked --package waypost-service --package waypost-benches --bin service --bin dashboard
    target/release/dashboard live {{arguments}}

# The pictures of docs/dashboard.md.
pictures:
    cargo build --release --locked --package waypost-service --package waypost-benches --bin service --bin dashboard
    target/release/dashboard pictures docs/dashboard

# Services that share one store, beside PostgreSQL alone: adds, changes of others, searches, joining. Needs PostgreSQL.
speed-cluster *arguments:
    cargo build --release --locked --package waypost-service --package waypost-ctl --package waypost-benches-cluster --bin service --bin ctl --bin cluster
    ${CARGO_TARGET_DIR:-target}/release/cluster {{arguments}}

# 10,000 stores on 40 machines, simulated: placement, loading on demand, lost and added machines, journals.
scale-simulation seed="1":
    cargo run --release --locked --package waypost-benches-placement -- {{seed}}

# The documentation of the crates.
docs:
    cargo doc --workspace --no-deps --open

# Kills the service N times under publishers and flows, and compares what is left with what it acknowledged.
kills rounds="50":
    WAYPOST_TEST_KILLS={{rounds}} cargo test --release --locked --package waypost-service --test it -- --nocapture every_answered_event_is_there_and_its_flows_ran

# Three services and a database under Patroni, with kills, cut networks and pauses, judged by a checker. `short` takes minutes, `long` hours; `--self-test` shows what the checker finds.
chaos *arguments="short":
    ./examples/cluster/chaos {{arguments}}

# A rolling upgrade of three services from the programs in one folder to those in another, while agents work.
upgrade old new:
    ./examples/cluster/upgrade {{old}} {{new}}

# The randomised tests in their long form: histories with crashes, flipped bytes, random commands, kills, power cuts. Takes hours.
long histories="20000" flips="2000" cases="20000" kills="1000" cuts="100":
    WAYPOST_TEST_HISTORIES={{histories}} WAYPOST_TEST_FLIPS={{flips}} WAYPOST_TEST_CASES={{cases}} WAYPOST_TEST_KILLS={{kills}} WAYPOST_TEST_MIXED_KILLS={{kills}} WAYPOST_TEST_OUTBOX_ROUNDS={{kills}} WAYPOST_TEST_CUTS={{cuts}} cargo test --release --locked --workspace --lib --tests
