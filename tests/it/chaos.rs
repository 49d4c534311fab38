//! The checker of `examples/cluster/chaos` accepts valid histories and finds injected faults.

use crate::output_of;

#[test]
fn the_checker_of_the_chaos_run_finds_each_injected_fault() {
    let said = output_of("python3", &["examples/cluster/chaos", "--self-test"]);
    assert!(said.contains("valid histories: accepted"), "{said}");
    let found = said.lines().filter(|line| line.contains(" found in 8 of 8")).count();
    assert_eq!(found, 18, "{said}");
}
