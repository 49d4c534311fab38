//! The bus's behaviour through its public interface.

mod concurrency;
mod damage;
mod index;
mod keys;
mod kill;
mod lifecycle;
mod model;
mod publish;
mod read;
mod retention;
mod spaces;
mod world;
