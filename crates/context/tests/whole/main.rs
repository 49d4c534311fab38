//! A context over projects that the tests create.

mod aside;
mod cases;
mod faults;
mod fixture;
mod fresh;
mod saved;
mod vectors;
mod world;
