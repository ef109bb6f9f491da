//! Merging: classes of elements, and the acyclic graph of classes (the loops "merge" and "break
//! cycles" of Algorithms 1 and 2).

use std::collections::BTreeSet;

/// A partition of `0..n` into classes (union-find).
pub(super) struct Classes(Vec<usize>);

impl Classes {
    /// Every element on its own.
    pub(super) fn new(n: usize) -> Classes {
        Classes((0..n).collect())
    }

    /// The class of an element, named by one of its members.
    pub(super) fn of(&mut self, mut element: usize) -> usize {
        while self.0[element] != element {
            self.0[element] = self.0[self.0[element]];
            element = self.0[element];
        }
        element
    }

    pub(super) fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// Merges classes that reach each other along `edges` (from, to), and answers with what is left.
    pub(super) fn condense(mut self, edges: &[(usize, usize)]) -> Condensed {
        let n = self.0.len();
        loop {
            let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
            for (from, to) in edges {
                let (from, to) = (self.of(*from), self.of(*to));
                if from != to {
                    next[from].insert(to);
                }
            }
            let Some(cycle) = cycle(&next) else { return self.ordered(&next) };
            for pair in cycle.windows(2) {
                self.merge(pair[0], pair[1]);
            }
        }
    }

    /// Groups in topological order; of those that could come next, the one with the smallest member.
    fn ordered(&mut self, next: &[BTreeSet<usize>]) -> Condensed {
        let n = next.len();
        let mut waits = vec![0; n];
        next.iter().flatten().for_each(|to| waits[*to] += 1);
        let mut ready: BTreeSet<usize> = (0..n).filter(|i| self.of(*i) == *i && waits[*i] == 0).collect();
        let mut place = vec![0; n];
        let mut groups = Vec::new();
        while let Some(root) = ready.pop_first() {
            place[root] = groups.len();
            groups.push((0..n).filter(|i| self.of(*i) == root).collect());
            for to in &next[root] {
                waits[*to] -= 1;
                if waits[*to] == 0 {
                    ready.insert(*to);
                }
            }
        }
        let edges = next
            .iter()
            .enumerate()
            .flat_map(|(from, tos)| tos.iter().map(move |to| (from, *to)))
            .map(|(from, to)| (place[from], place[to]))
            .collect();
        Condensed { groups, edges }
    }
}

/// An acyclic graph of groups.
pub(super) struct Condensed {
    /// Members, ascending, of each group; a group stands behind all it depends on.
    pub(super) groups: Vec<Vec<usize>>,
    /// (from, to): `to` depends on `from`, so `from < to`.
    pub(super) edges: BTreeSet<(usize, usize)>,
}

/// A cycle, if there is one: its nodes.
fn cycle(next: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
    // Depth first; the path is the stack of nodes with the successors still to look at.
    let mut seen = vec![false; next.len()];
    for start in 0..next.len() {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = Some(start);
        while enter.is_some() || !path.is_empty() {
            if let Some(node) = enter.take() {
                if let Some(at) = path.iter().position(|(n, _)| *n == node) {
                    return Some(path[at..].iter().map(|(n, _)| *n).collect());
                }
                if !seen[node] {
                    seen[node] = true;
                    path.push((node, next[node].iter().copied().collect()));
                }
            }
            match path.last_mut().map(|(_, left)| left.pop()) {
                Some(Some(node)) => enter = Some(node),
                Some(None) => drop(path.pop()),
                None => {}
            }
        }
    }
    None
}
