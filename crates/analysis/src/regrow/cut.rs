//! Minimum cut: the cheapest values to log.
//!
//! Every node of the value graph may be cut at a price (the bytes it takes in the log, times how often
//! it comes), or not at all. Wanted is the cheapest set of nodes without which no source reaches a
//! sink: Ford and Fulkerson's maximum flow over the graph with each node split in two, by shortest
//! augmenting paths (Edmonds and Karp); the cut is what the sources reach in the residual graph.

use std::collections::VecDeque;

/// A price that is never paid.
pub const NEVER: u64 = 1 << 40;

#[derive(Clone, Copy)]
struct Arc {
    to: usize,
    room: u64,
}

struct Network {
    arcs: Vec<Arc>,
    from: Vec<Vec<usize>>,
}

impl Network {
    fn add(&mut self, a: usize, b: usize, room: u64) {
        self.from[a].push(self.arcs.len());
        self.arcs.push(Arc { to: b, room });
        self.from[b].push(self.arcs.len());
        self.arcs.push(Arc { to: a, room: 0 });
    }

    /// For each vertex the arc by which it is reached from `start`.
    fn reach(&self, start: usize) -> Vec<Option<usize>> {
        let mut by = vec![None; self.from.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for arc in &self.from[at] {
                let Arc { to, room } = self.arcs[*arc];
                if room > 0 && to != start && by[to].is_none() {
                    by[to] = Some(*arc);
                    queue.push_back(to);
                }
            }
        }
        by
    }
}

/// The nodes to cut, and what they cost together; `None` if no set of nodes that may be cut will do.
/// `prices` by node, `inputs` by node, what flows in at `sources` and must not reach `sinks`.
pub fn minimum(
    prices: &[u64],
    inputs: &[Vec<usize>],
    sources: &[usize],
    sinks: &[usize],
) -> Option<(Vec<usize>, u64)> {
    let n = prices.len();
    let (start, end) = (2 * n, 2 * n + 1);
    let mut net = Network { arcs: Vec::new(), from: vec![Vec::new(); 2 * n + 2] };
    for node in 0..n {
        net.add(2 * node, 2 * node + 1, prices[node]);
        for input in &inputs[node] {
            net.add(2 * input + 1, 2 * node, NEVER);
        }
    }
    for source in sources {
        net.add(start, 2 * source, NEVER);
    }
    for sink in sinks {
        net.add(2 * sink + 1, end, NEVER);
    }
    let mut cost = 0;
    loop {
        let by = net.reach(start);
        if by[end].is_none() {
            let cut = (0..n).filter(|v| by[2 * v].is_some() && by[2 * v + 1].is_none()).collect();
            return Some((cut, cost));
        }
        let (mut at, mut room) = (end, NEVER);
        while let Some(arc) = by[at] {
            room = room.min(net.arcs[arc].room);
            at = net.arcs[arc ^ 1].to;
        }
        if room >= NEVER {
            return None;
        }
        at = end;
        while let Some(arc) = by[at] {
            net.arcs[arc].room -= room;
            net.arcs[arc ^ 1].room += room;
            at = net.arcs[arc ^ 1].to;
        }
        cost += room;
        if cost >= NEVER {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_separation_is_found() {
        // 0 and 1 are read, 2 = f(0, 1), 3 and 4 use 2.
        let inputs = [vec![], vec![], vec![0, 1], vec![2], vec![2]];
        assert_eq!(minimum(&[5, 5, 7, 4, 4], &inputs, &[0, 1], &[3, 4]), Some((vec![2], 7)));
        assert_eq!(minimum(&[5, 5, 11, 4, 4], &inputs, &[0, 1], &[3, 4]), Some((vec![3, 4], 8)));
        assert_eq!(minimum(&[2, 2, 11, 4, 4], &inputs, &[0, 1], &[3, 4]), Some((vec![0, 1], 4)));
        assert_eq!(minimum(&[5, 5, NEVER, 4, 4], &inputs, &[0, 1], &[2]), Some((vec![0, 1], 10)));
        assert_eq!(minimum(&[NEVER, 5, NEVER, 4, 4], &inputs, &[0, 1], &[2]), None);
        assert_eq!(minimum(&[NEVER, 5, NEVER, 4, 4], &inputs, &[1], &[]), Some((vec![], 0)));
    }
}
