//! The service from outside: over sockets, in this process or as the program.

#![expect(clippy::panic, reason = "functions of tests fail the test")]

mod add;
mod answered;
mod auth;
mod batch;
mod body;
#[path = "../../../../tests/child.rs"]
mod child;
mod client;
mod context;
mod crash;
mod dashboard;
mod disk;
mod events;
mod example;
mod flow_crash;
mod flow_disk;
mod flow_hooks;
mod flow_routes;
mod flows;
mod framing;
mod gate;
mod index;
mod keys;
mod limits;
mod link;
mod load;
mod mcp;
mod meaning;
mod mesh;
mod mixed_crash;
mod namespace;
mod near;
mod outbox;
mod power;
mod private;
mod program;
mod recall;
mod rerank;
mod restore;
mod search;
mod service;
mod sessions;
mod space;
mod status;
mod stop;
mod suggestions;
mod time;
#[path = "../../../../crates/embedding/tests/it/tiny.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "embedding's own tests use more of it")]
mod tiny;
mod tls;
mod transfer;
#[path = "../../../../tests/unshare.rs"]
mod unshare;
#[path = "../../../../tests/wait.rs"]
mod wait;
