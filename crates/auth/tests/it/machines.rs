//! Several machines that share their tokens by a journal, here a list in memory.

use std::fs;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use waypost_auth::{
    AdminToken, Append, AppendError, Contact, Error, ErrorKind, NewToken, Rejected, Scope, Secret,
    Timestamp, TokenChange, TokenId, TokenInfo, TokenStore, ensure_admin_token_file,
    read_token_file,
};

use crate::{DAY, MINUTE, NOW, Place, after};

/// The bytes that machines appended, in order.
#[derive(Clone, Default)]
pub(crate) struct Journal(pub(crate) Arc<Mutex<Vec<Vec<u8>>>>);

impl Journal {
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn read(&self, from: usize) -> Vec<TokenChange> {
        let entries = self.0.lock().unwrap();
        entries[from..].iter().map(|entry| TokenChange::decode(entry).unwrap()).collect()
    }

    fn publish(&self, changes: &[TokenChange]) {
        self.0.lock().unwrap().extend(changes.iter().map(TokenChange::encode));
    }

    /// Appends behind whatever others have appended.
    pub(crate) fn append(&self) -> Arc<Append> {
        let journal = self.clone();
        Arc::new(move |change| {
            journal.publish(std::slice::from_ref(change));
            Ok(())
        })
    }
}

pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) store: TokenStore,
    pub(crate) applied: usize,
    journal: Journal,
}

impl Machine {
    /// The first machine publishes its tokens.
    pub(crate) fn first(place: Place, journal: &Journal, now: Timestamp) -> Self {
        let store = place.open();
        journal.publish(&store.share(now).unwrap());
        Self::start(place, journal, journal.len())
    }

    pub(crate) fn join(journal: &Journal, now: Timestamp) -> Self {
        let place = Place::new();
        place.open().adopt(&journal.read(0), now).unwrap();
        Self::start(place, journal, journal.len())
    }

    pub(crate) fn start(place: Place, journal: &Journal, applied: usize) -> Self {
        let store = place.open().with_shared(journal.append());
        store.set_contact(Contact::Kept);
        Self { place, store, applied, journal: journal.clone() }
    }

    pub(crate) fn follow(&mut self, count: usize, now: Timestamp) {
        for change in self.journal.read(self.applied).iter().take(count) {
            self.store.apply(change, now).unwrap();
            self.applied += 1;
        }
    }

    /// Its tokens that others have, too.
    pub(crate) fn shared(&self) -> Vec<TokenInfo> {
        let list = self.store.list().unwrap();
        let shared = list.into_iter().filter(|item| !item.local);
        shared.map(|shared| TokenInfo { last_used: None, ..shared }).collect()
    }

    fn admin(&self) -> (Secret, TokenId) {
        let file = self.place.0.path().join("token");
        ensure_admin_token_file(&file, &self.store, NOW).unwrap();
        let secret = read_token_file(&file).unwrap().secret;
        let id = self.store.verify(secret.expose(), NOW).unwrap().id;
        (secret, id)
    }
}

fn two() -> (Journal, Machine, Machine) {
    let journal = Journal::default();
    let a = Machine::first(Place::new(), &journal, NOW);
    let b = Machine::join(&journal, NOW);
    (journal, a, b)
}

fn reader() -> NewToken {
    NewToken::new([Scope::MemoryRead])
}

fn version(place: &Place) -> String {
    let text = fs::read_to_string(place.file()).unwrap();
    text.lines().find(|line| line.contains("\"version\"")).unwrap().trim().to_owned()
}

#[test]
fn a_token_and_its_revocation_apply_to_every_machine() {
    let (journal, a, mut b) = two();
    let new = reader().with_space("notes").with_note("for the editor").with_expires(after(DAY));
    let (secret, made) = a.store.create(new, NOW).unwrap();
    assert_eq!(b.store.verify(secret.expose(), NOW), Err(Rejected::Unknown));
    b.follow(usize::MAX, NOW);
    let verified = b.store.verify(secret.expose(), NOW).unwrap();
    assert!(verified.allows(Scope::MemoryRead) && !verified.allows(Scope::Admin));
    assert_eq!(verified.space.as_deref(), Some("notes"));
    assert_eq!(b.store.get(made.id).unwrap().created, NOW);
    assert!(b.store.works(made.id, NOW));

    let len = journal.len();
    assert_eq!(b.store.revoke(made.id, after(1)).unwrap().token.revoked, Some(after(1)));
    b.store.revoke(made.id, after(2)).unwrap();
    assert_eq!(journal.len(), len + 1, "revoking again tells others nothing");
    let mut a = a;
    a.follow(usize::MAX, after(1));
    for machine in [a, b] {
        let revoked = Err(Rejected::Revoked { at: after(1) });
        assert_eq!(machine.store.verify(secret.expose(), after(1)), revoked);
        assert!(!machine.store.works(made.id, after(1)));
    }
}

/// As on a full disk.
#[test]
fn a_revoked_token_is_rejected_also_if_the_file_cannot_be_written() {
    let (journal, a, mut b) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    b.follow(usize::MAX, NOW);
    a.store.revoke(made.id, after(1)).unwrap();
    let obstacle = b.place.file().with_extension("json.tmp");
    fs::create_dir(&obstacle).unwrap();
    let change = journal.read(b.applied).remove(0);
    b.store.apply(&change, after(1)).unwrap_err();
    let revoked = Err(Rejected::Revoked { at: after(1) });
    assert_eq!(b.store.verify(secret.expose(), after(1)), revoked);
    assert!(!b.store.works(made.id, after(1)));
    assert_eq!(b.store.get(made.id).unwrap().revoked, Some(after(1)));
    assert!(b.store.list().unwrap().iter().any(|it| it.revoked == Some(after(1))));
    fs::remove_dir(&obstacle).unwrap();
    b.follow(usize::MAX, after(1));
    assert_eq!(b.store.verify(secret.expose(), after(1)), revoked);
    assert_eq!(b.place.open().verify(secret.expose(), after(1)), revoked);
}

#[test]
fn tokens_from_before_are_published_and_replace_those_of_a_machine_that_joins() {
    let journal = Journal::default();
    let place = Place::new();
    let (kept, _) = place.open().create(reader(), NOW).unwrap();
    let (revoked, made) = place.open().create(reader(), NOW).unwrap();
    place.open().revoke(made.id, NOW).unwrap();
    let a = Machine::first(place, &journal, NOW);

    let other = Place::new();
    let (own, _) = other.open().create(reader(), NOW).unwrap();
    let file = other.0.path().join("token");
    ensure_admin_token_file(&file, &other.open(), NOW).unwrap();
    let admin = read_token_file(&file).unwrap().secret;
    other.open().adopt(&a.store.shared_state(NOW).unwrap(), NOW).unwrap();
    let b = Machine::start(other, &journal, journal.len());
    assert!(b.store.verify(kept.expose(), NOW).is_ok());
    let refused = Err(Rejected::Revoked { at: NOW });
    assert_eq!(b.store.verify(revoked.expose(), NOW), refused);
    assert_eq!(b.store.verify(own.expose(), NOW), Err(Rejected::Unknown));
    assert!(b.store.verify(admin.expose(), NOW).is_ok(), "its own admin token stays");
    assert_eq!(a.shared(), b.shared());
}

#[test]
fn local_tokens_stay_on_their_machine() {
    let (journal, a, mut b) = two();
    let len = journal.len();
    let (of_a, id_of_a) = a.admin();
    let (of_b, _) = b.admin();
    let child = NewToken::new([Scope::Admin]).with_parent(id_of_a);
    let (page, child) = a.store.create(child, NOW).unwrap();
    let grandchild = reader().with_parent(child.id);
    let (below, grandchild) = a.store.create(grandchild, NOW).unwrap();
    assert!(child.local && grandchild.local);
    assert_eq!(journal.len(), len, "others are not told");
    let state = a.store.shared_state(NOW).unwrap();
    assert!(state.iter().all(|it| it.ids().count() == 0), "{state:?}");
    b.follow(usize::MAX, NOW);
    for secret in [&of_a, &page, &below] {
        assert!(a.store.verify(secret.expose(), NOW).is_ok());
        assert_eq!(b.store.verify(secret.expose(), NOW), Err(Rejected::Unknown));
    }
    assert!(b.store.verify(of_b.expose(), NOW).is_ok());

    let (rotated, next) = a.store.rotate(id_of_a, Duration::ZERO, after(1)).unwrap();
    assert!(next.local && a.store.get(next.id).unwrap().local);
    assert!(a.place.open().verify(rotated.expose(), after(1)).unwrap().allows(Scope::Admin));
    let revoked = Err(Rejected::Revoked { at: after(1) });
    assert_eq!(a.store.verify(below.expose(), after(1)), revoked);
    a.store.revoke(next.id, after(2)).unwrap();
    assert_eq!(journal.len(), len);
}

#[test]
fn a_machine_without_contact_accepts_only_its_own_tokens() {
    let (_, a, b) = two();
    let (admin, id) = a.admin();
    let (page, child) = a.store.create(reader().with_parent(id), NOW).unwrap();
    let (shared, made) = a.store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let (elsewhere, _) = b.store.create(reader(), NOW).unwrap();
    let (expired, _) = a.store.create(reader().with_expires(after(1)), NOW).unwrap();
    let (revoked, over) = a.store.create(reader(), NOW).unwrap();
    a.store.revoke(over.id, NOW).unwrap();

    // A start may follow a long stop.
    let a = a.place.open().with_shared(Arc::new(|_: &TokenChange| Ok(())));
    assert_eq!(a.contact(), Contact::Lost);
    for round in 0..2 {
        assert!(a.verify(admin.expose(), NOW).is_ok() && a.works(id, NOW), "round {round}");
        assert!(a.verify(page.expose(), NOW).is_ok() && a.works(child.id, NOW));
        for secret in [&shared, &elsewhere] {
            assert_eq!(a.verify(secret.expose(), NOW), Err(Rejected::OutOfContact));
        }
        assert!(!a.works(made.id, NOW));
        assert_eq!(a.verify(expired.expose(), after(1)), Err(Rejected::Expired { at: after(1) }));
        assert_eq!(a.verify(revoked.expose(), NOW), Err(Rejected::Revoked { at: NOW }));
        assert!(matches!(a.verify("wp_", NOW), Err(Rejected::Malformed(_))));

        a.set_contact(Contact::Kept);
        assert!(a.verify(shared.expose(), NOW).is_ok() && a.works(made.id, NOW));
        assert_eq!(a.verify(elsewhere.expose(), NOW), Err(Rejected::Unknown));
        a.set_contact(Contact::Lost);
    }
    let message = Rejected::OutOfContact.to_string();
    assert!(
        message.contains("has not followed the journal of its cluster for 5 minutes"),
        "{message}"
    );
    assert!(message.contains("use the machine's own admin token"), "{message}");
}

#[test]
fn a_start_without_contact_keeps_the_admin_token_file() {
    let (_, a, _) = two();
    let file = a.place.0.path().join("token");
    let (_, own) = a.admin();
    a.store.set_contact(Contact::Lost);
    let kept = ensure_admin_token_file(&file, &a.store, NOW).unwrap();
    assert_eq!(kept, AdminToken::Kept { id: own, was_open: None });
    let (shared, made) = a.store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    fs::write(&file, shared.expose()).unwrap();
    let kept = ensure_admin_token_file(&file, &a.store, NOW).unwrap();
    assert!(matches!(kept, AdminToken::Kept { id, .. } if id == made.id), "{kept:?}");
}

#[test]
fn a_token_derived_from_one_that_another_machine_revokes_meanwhile_ends_everywhere() {
    let (journal, mut a, mut b) = two();
    let (_, root) = a.store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    b.follow(usize::MAX, NOW);
    a.store.revoke(root.id, after(1)).unwrap();
    let (child, made) = b.store.create(reader().with_parent(root.id), after(1)).unwrap();
    let (below, _) = b.store.create(reader().with_parent(made.id), after(1)).unwrap();
    assert!(b.store.verify(child.expose(), after(1)).is_ok(), "not known yet");
    a.follow(usize::MAX, after(1));
    b.follow(usize::MAX, after(1));
    let late = Machine::join(&journal, after(1));
    for machine in [&a, &b, &late] {
        for secret in [&child, &below] {
            let revoked = Err(Rejected::Revoked { at: after(1) });
            assert_eq!(machine.store.verify(secret.expose(), after(1)), revoked);
        }
    }
    assert!(a.shared() == b.shared() && b.shared() == late.shared());
}

#[test]
fn a_change_that_others_are_not_told_of_changes_nothing() {
    let (journal, a, _) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    let before = a.store.list().unwrap();
    let kinds = [
        (AppendError::Unavailable("no database".to_owned()), ErrorKind::Unavailable),
        (AppendError::Unknown("the connection ended".to_owned()), ErrorKind::Unknown),
        (AppendError::Unstored("the disk is full".to_owned()), ErrorKind::Unstored),
        (AppendError::Moved, ErrorKind::Unavailable),
    ];
    for (refusal, kind) in kinds {
        let answer = refusal.clone();
        let a = a.place.open().with_shared(Arc::new(move |_: &TokenChange| Err(answer.clone())));
        a.set_contact(Contact::Kept);
        let errors = [
            a.create(reader(), NOW).unwrap_err(),
            a.revoke(made.id, NOW).unwrap_err(),
            a.rotate(made.id, Duration::ZERO, NOW).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), kind, "{error}");
            let says = match kind {
                ErrorKind::Unknown => "may have been changed or not",
                ErrorKind::Unstored => "the other machines have the change",
                _ => "nothing was changed",
            };
            assert!(error.to_string().contains(says), "{error}");
        }
        assert_eq!(a.list().unwrap(), before);
        assert!(a.verify(secret.expose(), NOW).is_ok());
    }
    assert_eq!(journal.len(), 2);
}

#[test]
fn a_change_with_an_unknown_outcome_applies_when_it_is_read() {
    let (journal, a, mut b) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    let written = journal.clone();
    let cut = a.place.open().with_shared(Arc::new(move |change: &TokenChange| {
        written.publish(std::slice::from_ref(change));
        Err(AppendError::Unknown("the connection ended".to_owned()))
    }));
    cut.set_contact(Contact::Kept);
    cut.revoke(made.id, after(1)).unwrap_err();
    assert!(cut.verify(secret.expose(), after(1)).is_ok());
    let mut a = Machine::start(a.place, &journal, a.applied);
    a.follow(usize::MAX, after(1));
    b.follow(usize::MAX, after(1));
    for store in [&cut, &a.store, &b.store] {
        let revoked = Err(Rejected::Revoked { at: after(1) });
        assert_eq!(store.verify(secret.expose(), after(1)), revoked);
    }
}

#[test]
fn a_change_is_decided_again_on_what_others_appended() {
    let (journal, mut a, b) = two();
    let (_, made) = a.store.create(reader(), NOW).unwrap();
    // Appends only behind what this machine has applied, as a database would check it.
    let place = b.place;
    let slot: Arc<OnceLock<Weak<TokenStore>>> = Arc::default();
    let (own, shared, applied) = (Arc::clone(&slot), journal.clone(), Mutex::new(b.applied));
    let conditional = move |change: &TokenChange| {
        let mut applied = applied.lock().unwrap();
        if *applied == shared.len() {
            shared.publish(std::slice::from_ref(change));
            return Ok(());
        }
        let store = own.get().unwrap().upgrade().unwrap();
        for change in shared.read(*applied) {
            store.apply(&change, NOW).unwrap();
            *applied += 1;
        }
        Err(AppendError::Moved)
    };
    let store = Arc::new(place.open().with_shared(Arc::new(conditional)));
    slot.set(Arc::downgrade(&store)).unwrap();
    let (_, of_b) = store.create(reader(), NOW).unwrap();
    assert!(store.get(made.id).is_ok(), "it had to apply that first");
    a.follow(usize::MAX, NOW);
    assert_eq!(a.store.get(of_b.id).unwrap(), of_b);

    a.store.revoke(of_b.id, NOW).unwrap();
    let len = journal.len();
    let error = store.rotate(of_b.id, Duration::from_secs(60), NOW).unwrap_err();
    assert!(matches!(error, Error::Ended { id } if id == of_b.id), "{error:?}");
    assert_eq!(journal.len(), len);
}

#[test]
fn another_program_does_not_change_shared_tokens_alone() {
    let (journal, a, _) = two();
    let (_, made) = a.store.create(reader(), NOW).unwrap();
    let ctl = a.place.open();
    assert!(ctl.is_shared().unwrap());
    let before = ctl.list().unwrap();
    let shared = |error: Error| matches!(error, Error::Shared { .. });
    assert!(shared(ctl.create(reader(), NOW).unwrap_err()));
    assert!(shared(ctl.revoke(made.id, NOW).unwrap_err()));
    let error = ctl.rotate(made.id, Duration::ZERO, NOW).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("start the service"), "{error}");
    assert_eq!(ctl.list().unwrap(), before);
    // Local tokens are its own business.
    let (_, own) = a.admin();
    ctl.create(reader().with_parent(own), NOW).unwrap();
    ctl.revoke(own, NOW).unwrap();

    let left = a.place.open().without_shared().unwrap();
    assert!(!left.is_shared().unwrap() && left.contact() == Contact::Kept);
    left.revoke(made.id, NOW).unwrap();
    a.place.open().create(reader(), NOW).unwrap();
    assert_eq!(journal.len(), 2);
}

#[test]
fn a_lost_file_is_not_continued_without_the_tokens_of_the_others() {
    let (journal, a, b) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    fs::remove_file(a.place.file()).unwrap();
    a.admin();
    let lost = |error: Error| matches!(error, Error::NotAdopted { .. });
    assert!(lost(a.store.create(reader(), NOW).unwrap_err()));
    assert!(lost(a.store.apply(&journal.read(0)[0], NOW).unwrap_err()));
    assert_eq!(journal.len(), 2);
    let mut b = b;
    b.follow(usize::MAX, NOW);
    a.store.adopt(&b.store.shared_state(NOW).unwrap(), NOW).unwrap();
    assert!(a.store.verify(secret.expose(), NOW).is_ok());
    a.store.revoke(made.id, NOW).unwrap();
}

/// As after a `leave` that was interrupted, and a start.
#[test]
fn what_has_ended_stays_ended_when_an_older_state_is_restored() {
    let (_, a, mut b) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    b.follow(usize::MAX, NOW);
    let older = b.store.shared_lines().unwrap();
    a.store.revoke(made.id, after(1)).unwrap();
    b.follow(usize::MAX, after(1));
    let alone = b.place.open().without_shared().unwrap();
    alone.restore(&older, after(2)).unwrap();
    assert!(alone.is_shared().unwrap());
    let revoked = Err(Rejected::Revoked { at: after(1) });
    assert_eq!(alone.verify(secret.expose(), after(2)), revoked);
    fs::remove_file(b.place.file()).unwrap();
    let damaged = [older[0].replace('{', "[")];
    let error = alone.restore(&damaged, after(2)).unwrap_err();
    assert!(matches!(error, Error::InvalidChange(_)), "{error}");
}

#[test]
fn times_of_use_stay_on_their_machine() {
    let (journal, a, mut b) = two();
    let (secret, made) = a.store.create(reader(), NOW).unwrap();
    b.follow(usize::MAX, NOW);
    a.store.verify(secret.expose(), after(MINUTE)).unwrap();
    b.store.verify(secret.expose(), after(2 * MINUTE)).unwrap();
    let len = journal.len();
    assert!(a.store.flush().unwrap());
    assert_eq!(journal.len(), len);
    a.store.rotate(made.id, Duration::from_secs(60), after(3 * MINUTE)).unwrap();
    b.follow(usize::MAX, after(3 * MINUTE));
    assert_eq!(a.store.get(made.id).unwrap().last_used, Some(after(MINUTE)));
    assert_eq!(b.store.get(made.id).unwrap().last_used, Some(after(2 * MINUTE)));
    b.store.adopt(&a.store.shared_state(NOW).unwrap(), NOW).unwrap();
    assert_eq!(b.store.get(made.id).unwrap().last_used, Some(after(2 * MINUTE)));
}

#[test]
fn ended_tokens_are_forgotten_by_the_time_of_a_change_and_not_by_a_wrong_clock() {
    let (_, mut a, mut b) = two();
    let (_, made) = a.store.create(reader(), NOW).unwrap();
    a.store.revoke(made.id, NOW).unwrap();
    let month = after(30 * DAY);
    // The clock of A is a month ahead of that of B.
    a.store.create(reader(), month).unwrap();
    a.follow(usize::MAX, month);
    b.follow(usize::MAX, NOW);
    assert!(a.store.get(made.id).is_err());
    assert!(b.store.get(made.id).is_ok(), "its own clock decides, too");
    // And so does the time of the change, also on a machine that reads it late.
    b.store.create(reader(), after(1)).unwrap();
    assert!(b.store.get(made.id).is_ok());
    b.store.create(reader(), month).unwrap();
    a.follow(usize::MAX, month);
    assert!(b.store.get(made.id).is_err());
    assert_eq!(a.shared(), b.shared());
}

#[test]
fn the_file_has_the_version_that_says_that_it_is_shared() {
    let (_, a, _) = two();
    assert_eq!(version(&a.place), "\"version\": 4,");
    let text = fs::read_to_string(a.place.file()).unwrap();
    for earlier in ["1", "2", "3"] {
        fs::write(
            a.place.file(),
            text.replace("\"version\": 4", &format!("\"version\": {earlier}")),
        )
        .unwrap();
        let error = TokenStore::open(&a.place.file()).unwrap_err().to_string();
        assert!(error.contains(&format!("format {earlier} lacks what is in it")), "{error}");
    }
    fs::write(a.place.file(), text).unwrap();
    a.place.open().without_shared().unwrap();
    assert_eq!(version(&a.place), "\"version\": 1,");
}

#[test]
fn machines_change_tokens_and_follow_at_the_same_time() {
    let journal = Journal::default();
    let mut machines = vec![Machine::first(Place::new(), &journal, NOW)];
    machines.extend((0..2).map(|_| Machine::join(&journal, NOW)));
    std::thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| {
                for _ in 0..10 {
                    let (_, made) = machine.store.create(reader(), NOW).unwrap();
                    machine.store.revoke(made.id, NOW).unwrap();
                    machine.store.create(reader(), NOW).unwrap();
                }
            });
            // It reads the journal from its start again and again.
            scope.spawn(|| {
                while journal.len() < 1 + 3 * 30 {
                    for change in journal.read(0) {
                        machine.store.apply(&change, NOW).unwrap();
                    }
                }
            });
        }
    });
    for machine in &mut machines {
        machine.follow(usize::MAX, NOW);
    }
    let expected = machines[0].shared();
    assert_eq!(expected.len(), 60);
    assert_eq!(expected.iter().filter(|it| it.is_active(NOW)).count(), 30);
    assert!(machines.iter().all(|it| it.shared() == expected));
}
