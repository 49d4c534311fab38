//! The command line, run as a program.

mod alone;
mod backup;
mod browser;
#[path = "../../../../tests/child.rs"]
mod child;
#[path = "../../../../tests/chrome.rs"]
mod chrome;
mod context;
mod ctl;
mod damage;
mod dashboard;
mod disk;
mod events;
mod filters;
mod flows;
mod hook;
mod install;
mod lifespan;
mod mcp;
mod mesh;
mod messages;
mod near;
mod operator;
mod recall;
mod recall_at_rest;
mod reference;
mod refused;
mod replaced;
mod sdk;
mod service;
mod start;
mod state;
mod suggestions;
mod together;
mod trust;
#[path = "../../../../tests/unshare.rs"]
mod unshare;
mod visible;
#[path = "../../../../tests/wait.rs"]
mod wait;
