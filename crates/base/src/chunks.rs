//! A list whose clones share what they have in common.
//!
//! What there is for each table of a database changes with the schema, one table at a time, while readers keep the
//! list of before. A clone shares the chunks; changing a place copies one of them. Reading costs one step more than
//! with a vector.

use std::sync::Arc;

/// Places that are copied together.
const CHUNK: usize = 64;

/// Values by place, with gaps. See the module's head.
pub struct Chunks<T> {
    chunks: Vec<Arc<[Option<T>; CHUNK]>>,
}

impl<T> Clone for Chunks<T> {
    fn clone(&self) -> Self {
        Chunks { chunks: self.chunks.clone() }
    }
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Chunks::new()
    }
}

impl<T> Chunks<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Chunks { chunks: Vec::new() }
    }
    /// The value at a place, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?[at % CHUNK].as_ref()
    }
    /// All values with their places, in order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &T)> {
        let places = self.chunks.iter().flat_map(|chunk| chunk.iter()).enumerate();
        places.filter_map(|(at, value)| Some((at, value.as_ref()?)))
    }
    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries().map(|(_, value)| value)
    }
}

impl<T: Clone> Chunks<T> {
    /// Puts a value in a place, or takes it out; answers with what was there.
    pub fn set(&mut self, at: usize, value: Option<T>) -> Option<T> {
        if value.is_none() && self.get(at).is_none() {
            return None;
        }
        while self.chunks.len() <= at / CHUNK {
            self.chunks.push(Arc::new([const { None }; CHUNK]));
        }
        std::mem::replace(&mut Arc::make_mut(&mut self.chunks[at / CHUNK])[at % CHUNK], value)
    }
}

impl<T: Clone> FromIterator<(usize, T)> for Chunks<T> {
    fn from_iter<I: IntoIterator<Item = (usize, T)>>(values: I) -> Self {
        let mut all = Chunks::new();
        for (at, value) in values {
            all.set(at, Some(value));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_keep_what_they_had() {
        let mut list: Chunks<Arc<usize>> = (0..200).map(|n| (n, Arc::new(n))).collect();
        let before = list.clone();
        assert_eq!(list.set(130, None).as_deref(), Some(&130));
        assert!(list.set(500, Some(Arc::new(500))).is_none());
        assert_eq!(list.set(10_000, None), None);
        assert_eq!(before.iter().map(|n| **n).collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
        let now: Vec<(usize, usize)> = list.entries().map(|(at, n)| (at, **n)).collect();
        assert_eq!(now, (0..200).filter(|n| *n != 130).chain([500]).map(|n| (n, n)).collect::<Vec<_>>());
        assert!(list.get(130).is_none() && before.get(130).is_some());
        assert!(Arc::ptr_eq(list.get(3).expect("is there"), before.get(3).expect("is there")));
        assert!(Arc::ptr_eq(&list.chunks[0], &before.chunks[0]), "what was not changed is shared");
    }
}
