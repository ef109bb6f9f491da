//! Every interleaving of a reader and a writer of one record, whatever the protocol.

use super::*;
use crate::reclaim::Participant;
use loom::sync::Arc;
use loom::thread;

/// A version that is odd while the record is written, as a protocol might have one.
struct Version(AtomicU64);

impl Header for Version {
    type Versions = crate::versions::Single;

    fn absent() -> Version {
        Version(AtomicU64::new(0))
    }
    fn is_present(&self) -> bool {
        true
    }
    fn set_present(&self, _: bool) {}
}

struct Subject {
    heap: Heap,
    record: RecordPtr<Version>,
}

/// Images by version: of the same words throughout, so that a torn one is seen.
fn image(version: u64, len: usize) -> Vec<u64> {
    vec![version + 1; len]
}

fn write(subject: &Subject, version: u64, len: usize, pin: Pinned<'_>) {
    // SAFETY: the record is not freed before all threads are done.
    let record = unsafe { subject.record.deref(pin) };
    let word = &record.header().0;
    word.store(2 * version - 1, Ordering::Relaxed);
    planaria_base::sync::atomic::fence(Ordering::Release);
    record.overwrite(&image(version, len), &subject.heap, 0, pin);
    word.store(2 * version, Ordering::Release);
}

/// A record whose image has the first of these lengths gets images of the others, in turn, while it is read.
fn read_beside_writes(lens: &'static [usize]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let heap = Heap::new();
        let record = allocate::<Version>(&heap, 0, 2);
        let subject = Arc::new(Subject { heap, record });
        write(&subject, 1, lens[0], Participant::new().guard().pinned());
        let writer = {
            let subject = subject.clone();
            thread::spawn(move || {
                let mut participant = Participant::new();
                for (version, len) in (2..).zip(&lens[1..]) {
                    write(&subject, version, *len, participant.guard().pinned());
                }
            })
        };
        let mut participant = Participant::new();
        let guard = participant.guard();
        // SAFETY: as above.
        let record = unsafe { subject.record.deref(guard.pinned()) };
        let before = record.header().0.load(Ordering::Acquire);
        let mut seen = Vec::new();
        record.read_to_vec(&mut seen);
        planaria_base::sync::atomic::fence(Ordering::Acquire);
        let after = record.header().0.load(Ordering::Relaxed);
        // Torn or not, it is as long as one of them was, and has no words but theirs.
        assert!(lens.contains(&seen.len()), "{seen:?}");
        assert!(seen.iter().all(|word| (1..=lens.len() as u64 + 1).contains(word)), "{seen:?}");
        if before % 2 == 0 && before == after {
            let version = before / 2;
            assert_eq!(seen, image(version, lens[version as usize - 1]));
        }
        drop(guard);
        writer.join().unwrap();
        let guard = participant.guard();
        seen.clear();
        // SAFETY: as above.
        unsafe { subject.record.deref(guard.pinned()) }.read_to_vec(&mut seen);
        assert_eq!(seen, image(lens.len() as u64, lens[lens.len() - 1]));
        drop(guard);
        // What was replaced goes before the heap does.
        for _ in 0..4 {
            participant.flush();
        }
    });
}

#[test]
fn an_image_changes_in_place() {
    read_beside_writes(&[2, 2, 1]);
}

#[test]
fn an_image_moves_to_an_overflow_block() {
    read_beside_writes(&[1, 4]);
}

#[test]
fn an_overflow_block_is_replaced() {
    read_beside_writes(&[4, 9]);
}

#[test]
fn an_image_in_an_overflow_block_shrinks_and_grows() {
    read_beside_writes(&[5, 3, 5]);
}
