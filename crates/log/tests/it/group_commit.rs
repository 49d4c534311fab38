//! The queue alone: who leads, what a group holds, and what becomes of the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};

use waypost_log::group_commit::{Lead, Queue};

/// Requests of one leader, at most.
const GROUP_MAX: usize = 7;
const THREADS: u64 = 8;
const REQUESTS: u64 = 2_000;

#[test]
fn a_request_that_is_dropped_has_no_answer() {
    let queue: Queue<u32, u32> = Queue::default();
    assert_eq!(queue.submit(1, &|lead| drop(lead.take(|_| true))), None);
    let serve = |lead: &Lead<'_, u32, u32>| lead.take(|_| true).pop().unwrap().reply.answer(2);
    assert_eq!(queue.submit(1, &serve), Some(2), "the next one leads");
}

#[test]
fn the_first_request_is_taken_even_if_it_does_not_fit() {
    let queue: Queue<u32, usize> = Queue::default();
    queue.submit_later(9, |group| assert_eq!(group, 1));
    queue.submit_later(1, |group| assert_eq!(group, 2));
    let serve = |lead: &Lead<'_, u32, usize>| {
        let mut sum = 0;
        let group = lead.take(|lead| {
            sum += lead;
            sum <= 8
        });
        let count = group.len();
        for it in group {
            it.reply.answer(count);
        }
    };
    assert_eq!(queue.submit(2, &serve), Some(2));
}

#[test]
fn a_leader_that_panics_before_its_own_request_is_served_is_not_given_the_lead_again() {
    let queue: Queue<u32, u32> = Queue::default();
    queue.submit_later(1, |_| panic!("this callback is broken"));
    let serve = |lead: &Lead<'_, u32, u32>| {
        for it in lead.take(|_| false) {
            it.reply.answer(it.request);
        }
    };
    assert!(catch_unwind(AssertUnwindSafe(|| queue.submit(2, &serve))).is_err());
    assert_eq!(queue.submit(3, &serve), Some(3));
}

/// The model: requests are served in the order in which each thread queued them, each at most once,
/// by one leader at a time; only a leader that panics loses answers, those of its group.
#[test]
fn many_threads_with_leaders_that_panic() {
    let queue: Queue<(u64, u64), u64> = Queue::default();
    let (is_led, groups) = (AtomicBool::new(false), AtomicU64::new(0));
    let served = Mutex::new(Vec::new());
    let lost = Mutex::new(Vec::new());
    let serve = |lead: &Lead<'_, (u64, u64), u64>| {
        assert!(!is_led.swap(true, Ordering::AcqRel), "one leader at a time");
        let mut count = 0;
        let group = lead.take(|_| {
            count += 1;
            count <= GROUP_MAX
        });
        assert!((1..=GROUP_MAX).contains(&group.len()));
        served.lock().unwrap().extend(group.iter().map(|group| group.request));
        let dies = groups.fetch_add(1, Ordering::AcqRel) % 11 == 10;
        let requests = group.iter().map(|group| group.request);
        lost.lock().unwrap().extend(requests.filter(|_| dies));
        is_led.store(false, Ordering::Release);
        assert!(!dies, "injected");
        for it in group {
            it.reply.answer(it.request.0 * REQUESTS + it.request.1);
        }
    };
    let (tell, told) = mpsc::channel();
    let work = |thread: u64, tell: &mpsc::Sender<(u64, u64)>| {
        for number in 0..REQUESTS {
            let (request, right) = ((thread, number), thread * REQUESTS + number);
            if number % 3 == 0 {
                let tell = tell.clone();
                queue.submit_later(request, move |answer| {
                    assert_eq!(answer, right);
                    tell.send(request).unwrap();
                });
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| queue.submit(request, &serve))) {
                Ok(Some(answer)) => {
                    assert_eq!(answer, right);
                    tell.send(request).unwrap();
                }
                Ok(None) => assert!(lost.lock().unwrap().contains(&request)),
                // Its request is in the group, or was removed from the queue.
                Err(_) => {}
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let tell = tell.clone();
            scope.spawn(move || work(thread, &tell));
        }
    });
    while let Err(_) | Ok(None) =
        catch_unwind(AssertUnwindSafe(|| queue.submit((THREADS, 0), &serve)))
    {}
    drop(tell);
    let (served, mut lost) = (served.into_inner().unwrap(), lost.into_inner().unwrap());
    let mut last = [None; THREADS as usize];
    for (thread, number) in served.iter().filter(|served| served.0 < THREADS) {
        let last = &mut last[*thread as usize];
        assert!(last.is_none_or(|it| it < *number), "in order, each once");
        *last = Some(*number);
    }
    let mut expected: Vec<_> = served.into_iter().filter(|served| served.0 < THREADS).collect();
    let mut answered: Vec<_> = told.iter().collect();
    assert!(!answered.is_empty() && !lost.is_empty());
    lost.retain(|lost| lost.0 < THREADS);
    answered.append(&mut lost);
    answered.sort_unstable();
    expected.sort_unstable();
    assert_eq!(answered, expected, "whatever was served has its answer, or its leader panicked");
}
