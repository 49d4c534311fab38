use super::*;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms as i64)
}

/// The types of three blocks and a bit: one frequent, one in each block once, one in the second
/// block only.
fn filled() -> (Index, Vec<String>) {
    let mut index = Index::new(0, Vec::new(), 1);
    let mut kinds = vec![String::new()];
    for id in 1..=3 * BLOCK_EVENTS + 500 {
        let kind = match id {
            it if it % BLOCK_EVENTS == 77 => "rare:once".to_owned(),
            it if block_of(it) == 1 && it % 3 == 0 => format!("many:k{it}"),
            it => format!("common:k{}", it % 2),
        };
        index.push(id, &kind, at(id * 10));
        kinds.push(kind);
    }
    (index, kinds)
}

#[test]
fn a_block_says_what_is_in_it() {
    let (index, kinds) = filled();
    let last = kinds.len() as u64 - 1;
    for pattern in ["rare:*", "common:k1", "common:*", "ra*", "none:*", "many:k65538", "many:k1*"] {
        let pattern: Pattern = pattern.parse().unwrap();
        for number in 0..=block_of(last) {
            for (from, to, count, newest) in
                [(1, last, 10, true), (1, last, 10, false), (70_000, 140_000, 100_000, false)]
            {
                let wanted = Wanted { pattern: Some(&pattern), from, to, count, newest };
                let ids = ids_of(number);
                let mut expected: Vec<u64> = (from.max(*ids.start())..=to.min(*ids.end()))
                    .filter(|number| pattern.matches_text(&kinds[*number as usize]))
                    .collect();
                if newest {
                    expected.reverse();
                }
                expected.truncate(count);
                match index.look(number, &wanted) {
                    Look::Nothing => assert!(expected.is_empty(), "{pattern} {number}"),
                    Look::Ids(ids) => assert_eq!(ids, expected, "{pattern} {number}"),
                    Look::Stored(_) => unreachable!("the block store is empty"),
                    Look::All => assert!(pattern.to_string() == "many:k1*" && number == 1),
                }
            }
        }
    }
}

#[test]
fn very_many_types_are_not_merged() {
    let (index, kinds) = filled();
    let pattern: Pattern = "many:*".parse().unwrap();
    let last = kinds.len() as u64 - 1;
    let wanted = Wanted { pattern: Some(&pattern), from: 1, to: last, count: 5, newest: true };
    assert!(matches!(index.look(1, &wanted), Look::All));
    assert!(matches!(index.look(2, &wanted), Look::Nothing));
}

#[test]
fn spans_know_their_latest_time() {
    let (index, kinds) = filled();
    let last = kinds.len() as u64 - 1;
    for id in [1, SPAN_EVENTS, SPAN_EVENTS + 1, 2 * BLOCK_EVENTS, last] {
        assert!(index.may_be_since(id, at(id * 10)), "{id}");
        assert!(!index.may_be_since(id, at((id + SPAN_EVENTS) * 10)), "{id}");
    }
}

#[test]
fn counts_are_of_whole_blocks_and_go_with_them() {
    let (mut index, kinds) = filled();
    let (counts, others) = index.counts();
    assert_eq!(counts.values().sum::<u64>() + others, kinds.len() as u64 - 1);
    assert_eq!(counts["rare:once"], 3, "the second block has 64 types as frequent");
    index.forget_before(2 * BLOCK_EVENTS + 9);
    let (counts, others) = index.counts();
    assert_eq!(counts["rare:once"], 2);
    assert_eq!(counts.values().sum::<u64>() + others, kinds.len() as u64 - 1 - 2 * BLOCK_EVENTS);
    let wanted = Wanted {
        pattern: Some(&"rare:*".parse().unwrap()),
        from: 1,
        to: 100,
        count: 5,
        newest: true,
    };
    assert!(matches!(index.look(0, &wanted), Look::Nothing));
}
