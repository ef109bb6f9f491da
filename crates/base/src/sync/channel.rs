//! Queues between threads: what is sent is received in order, each by one.

use super::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

struct Queue<T> {
    state: Mutex<State<T>>,
    /// Something came, or nobody sends any more.
    filled: Condvar,
    /// Something went, or nobody receives any more.
    drained: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    /// Items it holds at most.
    room: usize,
    senders: usize,
    receives: bool,
}

/// Sends; clones send to the same.
pub struct Sender<T>(Arc<Queue<T>>);

/// Receives.
pub struct Receiver<T>(Arc<Queue<T>>);

/// Nobody receives any more: what was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendError<T>(pub T);

/// There is nothing, and nobody sends any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecvError;

/// A queue that holds `room` items; who sends more waits.
pub fn bounded<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    assert!(room > 0, "a queue holds something");
    let state = State { items: VecDeque::new(), room, senders: 1, receives: true };
    let queue = Arc::new(Queue { state: Mutex::new(state), filled: Condvar::new(), drained: Condvar::new() });
    (Sender(queue.clone()), Receiver(queue))
}

/// A queue that holds whatever comes.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

impl<T> Sender<T> {
    /// Sends, and waits if there is no room.
    #[track_caller]
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        let mut state = self.0.state.lock();
        while state.receives && state.items.len() >= state.room {
            self.0.drained.wait(&mut state);
        }
        if !state.receives {
            return Err(SendError(item));
        }
        state.items.push_back(item);
        drop(state);
        self.0.filled.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.state.lock().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.0.filled.notify_all();
        }
    }
}

impl<T> Receiver<T> {
    /// The next item; waits for it.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                drop(state);
                self.0.drained.notify_one();
                return Ok(item);
            }
            if state.senders == 0 {
                return Err(RecvError);
            }
            self.0.filled.wait(&mut state);
        }
    }

    /// Items until nobody sends any more.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.receives = false;
        let left = std::mem::take(&mut state.items);
        drop(state);
        drop(left);
        self.0.drained.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_in_order_and_both_ends_hear_of_the_other() {
        let (sender, receiver) = bounded(2);
        std::thread::scope(|scope| {
            let other = sender.clone();
            scope.spawn(move || (0..100).for_each(|i| sender.send(i).unwrap()));
            let got: Vec<i32> = (0..100).map(|_| receiver.recv().unwrap()).collect();
            assert!(got.iter().copied().eq(0..100));
            drop(other);
            assert_eq!(receiver.recv(), Err(RecvError));
        });
        let (sender, receiver) = unbounded();
        sender.send(1).unwrap();
        drop(receiver);
        assert_eq!(sender.send(2), Err(SendError(2)));
    }
}
