//! Random changes on several machines, with delays, crashes and repetitions.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_auth::{NewToken, Scope, Secret, TokenChange, TokenId};

use crate::machines::{Journal, Machine};
use crate::{NOW, Place, after};

const MACHINES: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Create {
        parent: Option<usize>,
        lifetime: Option<i64>,
    },
    Revoke(usize),
    Rotate {
        which: usize,
        grace: u64,
    },
    Follow(usize),
    /// The machine stops, and reads so many changes again.
    Crash(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (proptest::option::of(0_usize..50), proptest::option::of(1_i64..60))
            .prop_map(|(parent, lifetime)| Step::Create { parent, lifetime }),
        2 => (0_usize..50).prop_map(Step::Revoke),
        2 => (0_usize..50, 0_u64..30).prop_map(|(which, grace)| Step::Rotate { which, grace }),
        3 => (1_usize..6).prop_map(Step::Follow),
        1 => (0_usize..6).prop_map(Step::Crash),
    ]
}

/// What happened, apart from what the machines know.
struct Run {
    journal: Journal,
    machines: Vec<Option<Machine>>,
    secrets: BTreeMap<TokenId, Secret>,
    /// Where in the journal each token was revoked first.
    revoked: BTreeMap<TokenId, usize>,
    /// The end of what each machine has ever applied without a gap.
    reached: [usize; MACHINES],
    now_ms: i64,
}

impl Run {
    fn new() -> Self {
        let journal = Journal::default();
        let mut machines = vec![Some(Machine::first(Place::new(), &journal, NOW))];
        machines.extend((1..MACHINES).map(|_| Some(Machine::join(&journal, NOW))));
        let reached = [journal.len(); MACHINES];
        let (secrets, revoked) = (BTreeMap::new(), BTreeMap::new());
        Self { journal, machines, secrets, revoked, reached, now_ms: 0 }
    }

    fn take(&mut self, at: usize, step: &Step) {
        self.now_ms += 3;
        let now = after(self.now_ms);
        let mut machine = self.machines[at].take().unwrap();
        let ids: Vec<TokenId> = self.secrets.keys().copied().collect();
        let pick = |which: usize| (!ids.is_empty()).then(|| ids[which % ids.len()]);
        match step {
            Step::Create { parent, lifetime } => {
                let mut new = NewToken::new([Scope::MemoryRead]);
                new.parent = parent.and_then(pick);
                new.expires = lifetime.map(|lifetime| after(self.now_ms + lifetime));
                if let Ok((secret, made)) = machine.store.create(new, now) {
                    self.secrets.insert(made.id, secret);
                }
            }
            Step::Revoke(which) => {
                let Some(id) = pick(*which) else { return self.machines[at] = Some(machine) };
                let before = self.journal.len();
                if machine.store.revoke(id, now).is_ok() && self.journal.len() > before {
                    self.revoked.entry(id).or_insert(before);
                }
            }
            Step::Rotate { which, grace } => {
                let Some(id) = pick(*which) else { return self.machines[at] = Some(machine) };
                if let Ok((secret, made)) =
                    machine.store.rotate(id, Duration::from_millis(*grace), now)
                {
                    self.secrets.insert(made.id, secret);
                }
            }
            Step::Follow(count) => machine.follow(*count, now),
            Step::Crash(back) => {
                let applied = machine.applied.saturating_sub(*back);
                drop(machine.store);
                machine = Machine::start(machine.place, &self.journal, applied);
            }
        }
        self.reached[at] = self.reached[at].max(machine.applied);
        self.machines[at] = Some(machine);
    }

    /// A revocation that a machine has ever applied holds there, also while it reads again.
    fn check(&self, at: usize) {
        let machine = self.machines[at].as_ref().unwrap();
        for (id, position) in &self.revoked {
            if *position < self.reached[at] {
                let secret = &self.secrets[id];
                let checked = machine.store.verify(secret.expose(), NOW);
                assert!(checked.is_err(), "machine {at} accepts {id}");
                assert!(!machine.store.works(*id, NOW));
            }
        }
    }
}

fn run(steps: &[(usize, Step)]) -> Run {
    let mut run = Run::new();
    for (at, step) in steps {
        run.take(*at, step);
        run.check(*at);
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn machines_that_read_the_whole_journal_have_the_same_tokens(
        steps in vec((0..MACHINES, step()), 1..60),
    ) {
        let mut run = run(&steps);
        for at in 0..MACHINES {
            run.take(at, &Step::Follow(usize::MAX));
            run.check(at);
        }
        let late = Machine::join(&run.journal, after(run.now_ms));
        for (id, secret) in &run.secrets {
            let expected = late.store.verify(secret.expose(), after(run.now_ms));
            for machine in run.machines.iter().flatten() {
                let checked = machine.store.verify(secret.expose(), after(run.now_ms));
                prop_assert_eq!(&checked, &expected, "{}", id);
            }
        }
        for machine in run.machines.iter().flatten() {
            prop_assert_eq!(machine.shared(), late.shared());
        }
        for child in late.shared() {
            let Some(parent) = child.parent else { continue };
            if !late.store.works(parent, after(run.now_ms)) {
                prop_assert!(!late.store.works(child.id, after(run.now_ms)), "{}", child.id);
            }
        }
    }

    #[test]
    fn no_order_and_no_repetition_of_changes_makes_a_difference(
        steps in vec((0..MACHINES, step()), 1..40),
        order in vec(any::<u32>(), 60),
        again in vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let run = run(&steps);
        let now = after(run.now_ms);
        let changes = run.journal.read(0);
        let mut keyed: Vec<(u32, &TokenChange)> =
            changes.iter().enumerate().map(|(idx, it)| (order[idx], it)).collect();
        keyed.sort_by_key(|it| it.0);
        let repeated = again.iter().map(|it| it.get(&changes));

        let place = Place::new();
        place.open().adopt(&[], now).unwrap();
        let shuffled = Machine::start(place, &run.journal, 0);
        for change in keyed.into_iter().map(|it| it.1).chain(repeated) {
            shuffled.store.apply(change, now).unwrap();
        }
        let in_order = Machine::join(&run.journal, now);
        prop_assert_eq!(shuffled.shared(), in_order.shared());
        for id in run.revoked.keys() {
            prop_assert!(!shuffled.store.works(*id, NOW));
        }
    }
}
