//! Writes when it began: what flows and peers start to be measured. A program of its own, linked
//! statically, so that its first statement is not what a dynamic linker makes of it.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    let now = SystemTime::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pipe, number] = arguments.as_slice() else { panic!("mark PIPE NUMBER") };
    let nanoseconds = now.duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos();
    // One write of so few bytes is not mixed with those of others.
    let line = format!("{number} {nanoseconds}\n");
    let mut pipe = OpenOptions::new().write(true).open(pipe).expect("the pipe is there");
    pipe.write_all(line.as_bytes()).expect("somebody reads the pipe");
}
