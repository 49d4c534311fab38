use expect_test::expect_file;

/// `UPDATE_EXPECT=1` rewrites the file.
#[test]
fn the_committed_reference_is_fresh() {
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ctl.md")]
        .assert_eq(&waypost_ctl::reference());
}

#[test]
fn every_command_has_an_example() {
    let reference = waypost_ctl::reference();
    let sections: Vec<_> = reference.split("\n## `").skip(1).collect();
    assert!(sections.len() >= 26, "{}", sections.len());
    for section in sections {
        assert!(
            section.contains("\n```sh\nctl ") || section.contains("| ctl "),
            "no example:\n{section}"
        );
    }
}
