//! Places of nodes and lines: a layered drawing (Sugiyama, Tagawa, Toda 1981).
//!
//! 1. Nodes that depend on each other (a loop) are known by their order: lines go from an earlier to a later one only,
//!    the others are left out; and a line that follows from two others is left out, too.
//! 2. A node stands in the layer below the last one it depends on; a line across layers gets a place in each.
//! 3. In each layer the order is improved by the middle of the neighbours, down and up, and the best order is kept.
//! 4. Places are moved towards the middle of the neighbours as far as those beside allow.

/// A node's size, then its place: of the upper left corner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Rect {
    /// Whether two have a point in common, with some room around.
    pub fn meets(&self, other: &Rect, room: f64) -> bool {
        self.x < other.x + other.w + room
            && other.x < self.x + self.w + room
            && self.y < other.y + other.h + room
            && other.y < self.y + self.h + room
    }

    fn middle(&self) -> f64 {
        self.x + self.w / 2.0
    }
}

/// A drawing.
pub struct Drawing {
    pub nodes: Vec<Rect>,
    /// The lines that are drawn: the edge's place in the list, and the points that it goes through.
    pub lines: Vec<(usize, Vec<(f64, f64)>)>,
    pub width: f64,
    pub height: f64,
}

/// Between nodes of a layer, and between layers.
const GAP_X: f64 = 22.0;
/// Between the lines of a layer.
const GAP_LINE: f64 = 14.0;

/// The edges that are to be drawn: from earlier to later nodes, and not those that others say already. An edge of which
/// `kept` is true stays.
pub fn reduced(nodes: usize, edges: &[(usize, usize)], kept: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let forward: Vec<usize> = (0..edges.len()).filter(|e| edges[*e].0 < edges[*e].1).collect();
    let mut next = vec![Vec::new(); nodes];
    for e in &forward {
        next[edges[*e].0].push(edges[*e].1);
    }
    // reach[a]: what can be reached from a; later nodes first.
    let mut reach = vec![vec![false; nodes]; nodes];
    for a in (0..nodes).rev() {
        for b in next[a].clone() {
            let of_b = reach[b].clone();
            reach[a][b] = true;
            reach[a].iter_mut().zip(of_b).for_each(|(to, from)| *to |= from);
        }
    }
    let implied = |e: usize| {
        let (a, b) = edges[e];
        next[a].iter().any(|between| *between != b && reach[*between][b])
    };
    forward.into_iter().filter(|e| kept(*e) || !implied(*e)).collect()
}

/// Draws nodes of these sizes; `drawn` are places in `edges`, each from an earlier to a later node. A layer that would be
/// wider than `most` has its last nodes, those that fewest depend on, in a layer below.
pub fn layered(
    sizes: &[(f64, f64)],
    edges: &[(usize, usize)],
    drawn: &[usize],
    gap_y: f64,
    most: f64,
) -> Drawing {
    let n = sizes.len();
    let mut layer = vec![0usize; n];
    let mut by_from: Vec<&usize> = drawn.iter().collect();
    by_from.sort_by_key(|e| edges[**e]);
    for e in &by_from {
        let (a, b) = edges[**e];
        layer[b] = layer[b].max(layer[a] + 1);
    }
    narrowed(&mut layer, sizes, edges, drawn, most);
    // Places: the nodes, then those of lines across layers.
    let mut place_layer = layer.clone();
    let mut boxes: Vec<Rect> = sizes.iter().map(|(w, h)| Rect { w: *w, h: *h, ..Rect::default() }).collect();
    let mut links: Vec<(usize, usize)> = Vec::new();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for e in drawn {
        let (a, b) = edges[*e];
        let mut chain = vec![a];
        for l in layer[a] + 1..layer[b] {
            chain.push(boxes.len());
            boxes.push(Rect { w: 1.0, ..Rect::default() });
            place_layer.push(l);
        }
        chain.push(b);
        links.extend(chain.windows(2).map(|w| (w[0], w[1])));
        chains.push(chain);
    }
    let layers = place_layer.iter().max().map_or(0, |l| l + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers];
    for (place, l) in place_layer.iter().enumerate() {
        rows[*l].push(place);
    }
    let (mut up, mut down) = (vec![Vec::new(); boxes.len()], vec![Vec::new(); boxes.len()]);
    for (a, b) in &links {
        down[*a].push(*b);
        up[*b].push(*a);
    }
    order(&mut rows, &up, &down, &links, &place_layer);
    for row in &rows {
        let mut x = 0.0;
        for place in row {
            boxes[*place].x = x;
            x += boxes[*place].w + gap(*place, n);
        }
    }
    for sweep in 0..24 {
        let (neighbours, downwards) = if sweep % 2 == 0 { (&up, true) } else { (&down, false) };
        let both = sweep >= 20;
        let mut at: Vec<usize> = (0..layers).collect();
        if !downwards {
            at.reverse();
        }
        for l in at {
            spread(&rows[l], &mut boxes, n, &|place| {
                let mut all: Vec<usize> = neighbours[place].clone();
                if both {
                    all = [up[place].clone(), down[place].clone()].concat();
                }
                all
            });
        }
    }
    let least = boxes.iter().map(|b| b.x).fold(f64::MAX, f64::min).min(f64::MAX);
    boxes.iter_mut().for_each(|b| b.x -= least);
    let mut y = 0.0;
    for row in &rows {
        let high = row.iter().map(|p| boxes[*p].h).fold(0.0, f64::max);
        for place in row {
            let own = boxes[*place].h;
            boxes[*place].y = y;
            if *place >= n {
                boxes[*place].h = high;
            } else {
                boxes[*place].y += (high - own) / 2.0;
            }
        }
        y += high + gap_y;
    }
    let width = boxes.iter().map(|b| b.x + b.w).fold(0.0, f64::max);
    let lines = lines(&boxes, n, edges, drawn, &chains);
    Drawing { nodes: boxes[..n].to_vec(), lines, width, height: (y - gap_y).max(0.0) }
}

/// Breaks layers that are too wide.
fn narrowed(layer: &mut [usize], sizes: &[(f64, f64)], edges: &[(usize, usize)], drawn: &[usize], most: f64) {
    let mut at = 0;
    while layer.iter().any(|l| *l >= at) {
        let mut members: Vec<usize> = (0..layer.len()).filter(|n| layer[*n] == at).collect();
        let followers = |n: usize| drawn.iter().filter(|e| edges[**e].0 == n).count();
        members.sort_by_key(|n| (std::cmp::Reverse(followers(*n)), *n));
        let (mut width, mut below) = (0.0, Vec::new());
        for (i, n) in members.iter().enumerate() {
            width += sizes[*n].0 + GAP_X;
            if i > 0 && width - GAP_X > most {
                below.push(*n);
            }
        }
        if !below.is_empty() {
            layer.iter_mut().filter(|l| **l > at).for_each(|l| *l += 1);
            below.into_iter().for_each(|n| layer[n] = at + 1);
        }
        at += 1;
    }
}

fn gap(place: usize, nodes: usize) -> f64 {
    if place < nodes { GAP_X } else { GAP_LINE }
}

/// Lines that cross between neighbouring layers.
fn crossings(position: &[usize], links: &[(usize, usize)], layer: &[usize]) -> usize {
    let mut crossed = 0;
    for (i, (a, b)) in links.iter().enumerate() {
        for (c, d) in &links[i + 1..] {
            if layer[*a] == layer[*c] && a != c && b != d {
                crossed += usize::from((position[*a] < position[*c]) != (position[*b] < position[*d]));
            }
        }
    }
    crossed
}

fn order(
    rows: &mut Vec<Vec<usize>>,
    up: &[Vec<usize>],
    down: &[Vec<usize>],
    links: &[(usize, usize)],
    layer: &[usize],
) {
    let mut position = vec![0; layer.len()];
    let number = |rows: &[Vec<usize>], position: &mut Vec<usize>| {
        for row in rows {
            row.iter().enumerate().for_each(|(i, p)| position[*p] = i);
        }
    };
    number(rows, &mut position);
    let mut best = (crossings(&position, links, layer), rows.clone());
    for sweep in 0..16 {
        let neighbours = if sweep % 2 == 0 { up } else { down };
        let mut at: Vec<usize> = (0..rows.len()).collect();
        if sweep % 2 == 1 {
            at.reverse();
        }
        for l in at {
            let middle = |p: usize| {
                let of = &neighbours[p];
                let sum: usize = of.iter().map(|q| position[*q]).sum();
                if of.is_empty() { position[p] as f64 } else { sum as f64 / of.len() as f64 }
            };
            let mut keyed: Vec<(f64, usize)> = rows[l].iter().map(|p| (middle(*p), *p)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[l] = keyed.into_iter().map(|(_, p)| p).collect();
            rows[l].iter().enumerate().for_each(|(i, p)| position[*p] = i);
        }
        let now = crossings(&position, links, layer);
        if now < best.0 {
            best = (now, rows.clone());
        }
    }
    *rows = best.1;
}

/// Moves the places of a row to the middle of their neighbours, as near as their order and sizes allow: neighbours that
/// would overlap are moved as a block to the middle of what they want.
fn spread(row: &[usize], boxes: &mut [Rect], nodes: usize, neighbours: &dyn Fn(usize) -> Vec<usize>) {
    struct Block {
        members: Vec<usize>,
        /// Sum of wanted places of its left edge, and how many want one.
        wanted: f64,
        count: f64,
        width: f64,
    }
    let left = |b: &Block| b.wanted / b.count;
    let mut blocks: Vec<Block> = Vec::new();
    for place in row {
        let of = neighbours(*place);
        let wants = if of.is_empty() {
            boxes[*place].x
        } else {
            of.iter().map(|q| boxes[*q].middle()).sum::<f64>() / of.len() as f64 - boxes[*place].w / 2.0
        };
        // Lines are to be straight rather than nodes in the middle.
        let count = match (of.is_empty(), *place >= nodes) {
            (true, _) => 0.05,
            (_, true) => 3.0,
            _ => 1.0,
        };
        blocks.push(Block {
            members: vec![*place],
            wanted: wants * count,
            count,
            width: boxes[*place].w + gap(*place, nodes),
        });
        while let [.., before, last] = blocks.as_slice()
            && left(before) + before.width > left(last)
        {
            let Some(last) = blocks.pop() else { return };
            if let Some(before) = blocks.last_mut() {
                before.wanted += last.wanted - before.width * last.count;
                before.count += last.count;
                before.width += last.width;
                before.members.extend(last.members);
            }
        }
    }
    for block in &blocks {
        let mut x = left(block);
        for place in &block.members {
            boxes[*place].x = x;
            x += boxes[*place].w + gap(*place, nodes);
        }
    }
}

/// The points of lines; those that leave or enter a node share its border, in the order in which they go.
fn lines(
    boxes: &[Rect],
    nodes: usize,
    edges: &[(usize, usize)],
    drawn: &[usize],
    chains: &[Vec<usize>],
) -> Vec<(usize, Vec<(f64, f64)>)> {
    let port = |node: usize, other: &dyn Fn(&Vec<usize>) -> Option<usize>, chain: &Vec<usize>| {
        let mut all: Vec<(f64, usize)> =
            chains.iter().enumerate().filter_map(|(i, c)| other(c).map(|o| (boxes[o].middle(), i))).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = all.iter().position(|(_, i)| std::ptr::eq(&chains[*i], chain)).unwrap_or(0);
        let rect = &boxes[node];
        let step = (rect.w * 0.7 / all.len() as f64).min(34.0);
        rect.middle() + (at as f64 - (all.len() as f64 - 1.0) / 2.0) * step
    };
    let mut out = Vec::new();
    for (e, chain) in drawn.iter().zip(chains) {
        let (a, b) = edges[*e];
        let leaves = |c: &Vec<usize>| (c[0] == a).then(|| c[1]);
        let enters = |c: &Vec<usize>| (c[c.len() - 1] == b).then(|| c[c.len() - 2]);
        let mut points = vec![(port(a, &leaves, chain), boxes[a].y + boxes[a].h)];
        for place in chain.iter().filter(|p| **p >= nodes) {
            let at = &boxes[*place];
            points.push((at.x, at.y - 4.0));
            points.push((at.x, at.y + at.h + 4.0));
        }
        points.push((port(b, &enters, chain), boxes[b].y));
        out.push((*e, points));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_not_drawn() {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 1), (0, 3)];
        assert_eq!(reduced(4, &edges, &|_| false), [0, 1, 4]);
        assert_eq!(reduced(4, &edges, &|e| e == 2), [0, 1, 2, 4]);
    }

    #[test]
    fn nodes_do_not_overlap_and_lines_go_down() {
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (0, 5)];
        let sizes = [(100.0, 40.0); 6];
        for most in [1000.0, 250.0] {
            let drawing = layered(&sizes, &edges, &[0, 1, 2, 3, 4, 5, 6], 30.0, most);
            for (i, a) in drawing.nodes.iter().enumerate() {
                assert!(a.x >= 0.0 && a.x + a.w <= drawing.width + 0.1 && a.y + a.h <= drawing.height + 0.1);
                assert!(drawing.nodes[i + 1..].iter().all(|b| !a.meets(b, 0.0)), "{:?}", drawing.nodes);
            }
            assert_eq!(drawing.lines.len(), 7);
            for (_, points) in &drawing.lines {
                assert!(points.windows(2).all(|p| p[0].1 <= p[1].1), "{points:?}");
            }
            let beside = |a: &Rect| drawing.nodes.iter().filter(|b| b.y == a.y).count() as f64;
            assert!(drawing.nodes.iter().all(|a| beside(a) * 100.0 <= most), "{:?}", drawing.nodes);
        }
    }
}
