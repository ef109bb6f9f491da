//! A few things by text, those used lately: what a session keeps of the statements it has analysed.
//!
//! A *clock* (second chance): things stand in a circle. Whoever is found is marked; where room is needed, the hand goes
//! round, takes marks away, and takes out the first that has none. So a program that has one text more than fit
//! analyses a few again, and not all.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// See the module's head.
pub(crate) struct Cache<T> {
    kept: HashMap<Arc<str>, Kept<T>>,
    /// From the hand on.
    circle: VecDeque<Arc<str>>,
    max: usize,
}

struct Kept<T> {
    thing: T,
    found: Cell<bool>,
}

impl<T> Cache<T> {
    /// For at most `max` things.
    pub(crate) fn new(max: usize) -> Cache<T> {
        Cache { kept: HashMap::new(), circle: VecDeque::new(), max }
    }

    pub(crate) fn find(&self, text: &str) -> Option<&T> {
        let kept = self.kept.get(text)?;
        kept.found.set(true);
        Some(&kept.thing)
    }

    /// Keeps a thing, in place of what has the same text.
    pub(crate) fn keep(&mut self, text: &str, thing: T) {
        if let Some(kept) = self.kept.get_mut(text) {
            kept.thing = thing;
            return;
        }
        while self.kept.len() >= self.max
            && let Some(next) = self.circle.pop_front()
        {
            if self.kept.get(&next).is_some_and(|kept| kept.found.take()) {
                self.circle.push_back(next);
            } else {
                self.kept.remove(&next);
            }
        }
        let text: Arc<str> = Arc::from(text);
        self.circle.push_back(text.clone());
        self.kept.insert(text, Kept { thing, found: Cell::new(false) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_one_goes_for_each_that_comes() {
        let mut cache = Cache::new(8);
        let text = |i: usize| format!("text {i}");
        for i in 0..8 {
            cache.keep(&text(i), i);
        }
        for i in 8..100 {
            assert_eq!(cache.find(&text(3)), Some(&3), "it is used again and again");
            cache.keep(&text(i), i);
            assert_eq!((cache.kept.len(), cache.circle.len()), (8, 8));
            let others = cache.kept.keys().filter(|kept| &***kept != "text 3").count();
            assert_eq!(others, 7, "others are kept beside it");
            assert!(cache.kept.contains_key(&*text(i)));
        }
        cache.keep(&text(3), 33);
        assert_eq!(cache.find(&text(3)), Some(&33));
        assert_eq!(cache.kept.len(), 8);
    }
}
