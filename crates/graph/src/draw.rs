//! A graph as SVG for people: a heading, a legend, a panel for each procedure; dark or light as the reader's screen is.
//!
//! Nodes are cut to so many lines that a procedure fits a screen; the whole text of a node, and every reason of a line,
//! is its tooltip. Text is text, so that it can be searched and copied.

use crate::escaped;
use crate::layout::{Drawing, Rect, layered, reduced};
use planaria::graph::{Graph, GraphEdge, GraphRole};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A screen.
const WIDTH: f64 = 1600.0;
const HEIGHT: f64 = 1000.0;
const MARGIN: f64 = 28.0;
/// Above the panels: title, what is shown, legend.
const HEAD: f64 = 104.0;
const LINE: f64 = 15.0;
/// Of a character, about, in the size of details and of headings.
const CHARACTER: f64 = 6.7;
const PADDING: f64 = 10.0;
const BAR: f64 = 6.0;
/// Of a panel, above its nodes.
const CAPTION: f64 = 30.0;

/// Colours by what they are for, on light and on dark screens.
const COLORS: &[(&str, &str, &str)] = &[
    ("bg", "#fbfbf9", "#14171d"),
    ("fg", "#1d2433", "#e6e9ef"),
    ("soft", "#667085", "#98a2b3"),
    ("card", "#ffffff", "#1e232d"),
    ("edge", "#d5d9e2", "#363d4b"),
    ("panel", "#f3f4f1", "#191d25"),
    ("read", "#2d7dd2", "#62a8f0"),
    ("write", "#d1603d", "#f08a66"),
    ("call", "#7a5bd0", "#a78bfa"),
    ("piece", "#2f9e6e", "#5cc99a"),
    ("key", "#8e44ad", "#c98be0"),
    ("value", "#3b6ea8", "#7fb2ea"),
    ("control", "#b7791f", "#e3b254"),
    ("data", "#8a93a3", "#7d8798"),
    ("flow", "#7b8496", "#939db0"),
    ("hot", "#d62839", "#ff6b78"),
];

/// The style, where `@name` stands for a colour of [`COLORS`].
const STYLE: &str = "
.bg{fill:@bg}.title{font-size:22px;font-weight:600;fill:@fg}.sub,.legend{font-size:12.5px;fill:@soft}
.caption{font-size:14px;font-weight:600;fill:@fg}.panel{fill:@panel;stroke:none}
.card{fill:@card;stroke:@edge;stroke-width:1}.hot .card{stroke:@hot;stroke-width:2.5}
.head{font-size:12.5px;font-weight:600;fill:@fg}.text{font-size:12px;fill:@fg}.more{fill:@soft}
.round{font-size:14px;fill:@soft}.read{fill:@read}.write{fill:@write}
.call{fill:@call}.piece{fill:@piece}.pin{fill:@key}
path.line{fill:none;stroke-width:1.7}.line.key{stroke:@key}.line.value{stroke:@value}.line.control{stroke:@control}
.line.data{stroke:@data}.line.flow{stroke:@flow}.line.hot{stroke:@hot;stroke-width:2.5}.dashed{stroke-dasharray:6 4}
.label{font-size:11px;paint-order:stroke;stroke:@panel;stroke-width:3px;stroke-linejoin:round}
.label.key,.tip.key{fill:@key}.label.value,.tip.value{fill:@value}.label.control,.tip.control{fill:@control}
.label.data,.tip.data{fill:@data}.label.flow,.tip.flow{fill:@flow}.tip.hot{fill:@hot}
g.node:hover .card{stroke:@fg}g.edge:hover path.line{stroke-width:3.5}";

/// The style sheet. Each colour is written twice: programs that know no variables (most viewers of pictures, unlike
/// browsers) skip the second, and draw for a light screen. Without the first they would draw all in black.
fn style() -> String {
    let variables = |pick: fn(&(&str, &str, &str)) -> String| COLORS.iter().map(pick).collect::<String>();
    let light = variables(|(name, light, _)| format!("--{name}:{light};"));
    let dark = variables(|(name, _, dark)| format!("--{name}:{dark};"));
    let mut text = format!(
        "\nsvg{{{light}\nbackground:@bg;font-family:'Inter','Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif}}\n\
         @media(prefers-color-scheme:dark){{svg{{{dark}}}}}{STYLE}"
    );
    for property in ["fill", "stroke", "background"] {
        for (name, light, _) in COLORS {
            for end in [";", "}"] {
                let short = format!("{property}:@{name}{end}");
                let long = format!("{property}:{light};{property}:var(--{name}){end}");
                text = text.replace(&short, &long);
            }
        }
    }
    text
}

/// Lines of one pair of nodes, as one.
struct Line {
    from: usize,
    to: usize,
    kinds: Vec<String>,
    dashed: bool,
}

/// A procedure's nodes, or all.
struct Panel {
    name: String,
    /// Places in the graph.
    nodes: Vec<usize>,
    lines: Vec<Line>,
    drawing: Drawing,
    cards: Vec<Card>,
    /// Of each node, whether it depends on itself, of rounds of a loop before.
    looping: Vec<bool>,
    /// How many lines there are, of which some follow from others.
    all: usize,
}

/// A node as it is written.
struct Card {
    head: String,
    lines: Vec<String>,
    cut: bool,
}

/// The picture; `what` is what it is of.
pub fn svg(graph: &Graph, what: &str) -> String {
    let mut groups: Vec<String> = Vec::new();
    for node in &graph.nodes {
        if !groups.contains(&node.group) {
            groups.push(node.group.clone());
        }
    }
    let alone = groups.len() <= 1;
    let panels: Vec<Panel> = groups.iter().map(|group| Panel::of(graph, group, alone)).collect();
    // Panels side by side, as long as there is room.
    let widest = panels.iter().map(|p| p.size(alone).0).fold(0.0, f64::max);
    let room = widest.max(WIDTH - 2.0 * MARGIN);
    let (mut places, mut x, mut y, mut high): (Vec<(f64, f64)>, f64, f64, f64) = (Vec::new(), 0.0, 0.0, 0.0);
    let mut right: f64 = 0.0;
    for panel in &panels {
        let (w, h) = panel.size(alone);
        if x > 0.0 && x + w > room {
            (x, y, high) = (0.0, y + high + 20.0, 0.0);
        }
        places.push((x, y));
        right = right.max(x + w);
        (x, high) = (x + w + 20.0, high.max(h));
    }
    let (colours, colours_end) = legend(graph, &panels);
    let width = (right + 2.0 * MARGIN).max(colours_end).max(720.0);
    let height = HEAD + y + high + MARGIN;
    let style = style();
    let title = if what.is_empty() { graph.title.clone() } else { format!("{}: {what}", graph.title) };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\"><title>{0}</title><style>{style}</style>\n<defs>",
        escaped(&title)
    );
    for kind in ["key", "value", "control", "data", "flow", "hot"] {
        let _ = write!(
            out,
            "<marker id=\"to-{kind}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"tip {kind}\" d=\"M0 1L10 5L0 9z\"/></marker>"
        );
    }
    let _ = write!(
        out,
        "</defs>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n<text class=\"title\" x=\"{MARGIN}\" y=\"38\">{}</text>\n\
         <text class=\"sub\" x=\"{MARGIN}\" y=\"60\">{}</text>\n",
        escaped(&title),
        escaped(&subtitle(graph, &panels))
    );
    out.push_str(&colours);
    for (panel, (x, y)) in panels.iter().zip(places) {
        let _ = writeln!(out, "<g transform=\"translate({:.1} {:.1})\">", MARGIN + x, HEAD + y);
        panel.draw(&mut out, graph, alone);
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

fn subtitle(graph: &Graph, panels: &[Panel]) -> String {
    let (all, drawn) =
        panels.iter().fold((0, 0), |(all, drawn), p| (all + p.all, drawn + p.drawing.lines.len()));
    let nodes = graph.nodes.len();
    let mut text = format!("{nodes} node{}; arrows point to dependents", if nodes == 1 { "" } else { "s" });
    if drawn < all {
        let _ = write!(text, "; {drawn} of {all} dependencies are drawn, the others follow from these");
    }
    if panels.iter().any(|p| p.cards.iter().any(|c| c.cut)) {
        text.push_str("; hover a node for all of its text");
    }
    text
}

/// What the colours mean, of those that there are; and how far to the right that reaches.
fn legend(graph: &Graph, panels: &[Panel]) -> (String, f64) {
    let mut out = String::new();
    let mut x = MARGIN;
    let y = HEAD - 20.0;
    let says = |out: &mut String, x: &mut f64, text: &str, offset: f64| {
        let _ = write!(out, "<text class=\"legend\" x=\"{:.1}\" y=\"{y}\">{text}</text>", *x + offset);
        *x += offset + text.chars().count() as f64 * 6.6 + 22.0;
    };
    for (role, class, text) in [
        (GraphRole::Read, "read", "reads"),
        (GraphRole::Write, "write", "changes rows"),
        (GraphRole::Call, "call", "calls"),
        (GraphRole::Piece, "piece", "pieces, apart where their keys differ"),
    ] {
        if graph.nodes.iter().any(|n| n.role == role) {
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"3\"/>",
                y - 10.0
            );
            says(&mut out, &mut x, text, 18.0);
        }
    }
    if panels.iter().any(|p| (0..p.nodes.len()).any(|i| p.determines(i))) {
        let _ = write!(out, "<circle class=\"pin\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>", x + 6.0, y - 4.0);
        says(&mut out, &mut x, "determines keys", 18.0);
    }
    if panels.iter().any(|p| p.looping.contains(&true)) {
        let _ = write!(out, "<text class=\"round\" x=\"{x:.1}\" y=\"{y}\">↻</text>");
        says(&mut out, &mut x, "in a loop: rounds depend on those before", 18.0);
    }
    let kinds = [
        ("key", "part of the key"),
        ("value", "part of the values"),
        ("control", "whether it runs"),
        ("data", "same table"),
        ("flow", "before"),
    ];
    let lines = || panels.iter().flat_map(|p| p.drawing.lines.iter().map(|(e, _)| &p.lines[*e]));
    for (kind, text) in kinds {
        if lines().any(|l| l.class() == kind || l.kinds.iter().any(|k| k == kind)) {
            let _ = write!(
                out,
                "<path class=\"line {kind}\" marker-end=\"url(#to-{kind})\" d=\"M{x:.1} {0:.1}h26\"/>",
                y - 4.0
            );
            says(&mut out, &mut x, text, 34.0);
        }
    }
    if lines().any(|l| l.dashed) {
        let _ = write!(out, "<path class=\"line data dashed\" d=\"M{x:.1} {:.1}h26\"/>", y - 4.0);
        says(&mut out, &mut x, "may be", 34.0);
    }
    if graph.nodes.iter().any(|n| n.critical) {
        let _ = write!(
            out,
            "<path class=\"line hot\" marker-end=\"url(#to-hot)\" d=\"M{x:.1} {:.1}h26\"/>",
            y - 4.0
        );
        says(&mut out, &mut x, "critical path", 34.0);
    }
    out.push('\n');
    (out, x)
}

impl Line {
    /// The strongest of its kinds.
    fn class(&self) -> &'static str {
        let known = ["key", "value", "control", "data"];
        known.into_iter().find(|known| self.kinds.iter().any(|k| k == known)).unwrap_or("flow")
    }
}

/// Edges of the same two nodes, together.
fn merged(edges: &[&GraphEdge], at: &BTreeMap<usize, usize>) -> Vec<Line> {
    let mut lines: BTreeMap<(usize, usize), Line> = BTreeMap::new();
    for edge in edges {
        let (Some(from), Some(to)) = (at.get(&edge.from), at.get(&edge.to)) else { continue };
        let line = lines.entry((*from, *to)).or_insert_with(|| Line {
            from: *from,
            to: *to,
            kinds: Vec::new(),
            dashed: true,
        });
        line.dashed &= edge.dashed;
        line.kinds.extend(edge.label.split(", ").filter(|k| !k.is_empty()).map(str::to_owned));
    }
    lines.into_values().collect()
}

impl Panel {
    fn of(graph: &Graph, group: &str, alone: bool) -> Panel {
        let nodes: Vec<usize> = (0..graph.nodes.len()).filter(|n| graph.nodes[*n].group == group).collect();
        let at: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let edges: Vec<&GraphEdge> = graph.edges.iter().collect();
        let lines = merged(&edges, &at);
        let pairs: Vec<(usize, usize)> = lines.iter().map(|l| (l.from, l.to)).collect();
        // Classes of pieces may hand over to earlier ones; those lines are not to be lost.
        let order = earlier_first(nodes.len(), &pairs);
        let ranked: Vec<(usize, usize)> = pairs.iter().map(|(a, b)| (order[*a], order[*b])).collect();
        let drawn = reduced(nodes.len(), &ranked, &|_| false);
        let mut places = vec![0; nodes.len()];
        order.iter().enumerate().for_each(|(node, rank)| places[*rank] = node);
        let room = (WIDTH - 2.0 * MARGIN - 2.0 * PADDING, HEIGHT - HEAD - MARGIN - 2.0 * PADDING);
        let mut best: Option<(Drawing, Vec<Card>)> = None;
        let ways: [(usize, f64, usize); 8] = [
            (9, 46.0, 40),
            (6, 42.0, 40),
            (4, 38.0, 40),
            (3, 34.0, 56),
            (2, 32.0, 72),
            (2, 26.0, 72),
            (1, 26.0, 90),
            (1, 22.0, 60),
        ];
        for (lines_most, gap, columns) in ways {
            let cards: Vec<Card> = nodes.iter().map(|n| Card::of(graph, *n, lines_most, columns)).collect();
            let sizes: Vec<(f64, f64)> = places.iter().map(|node| cards[*node].size()).collect();
            let mut drawing = layered(&sizes, &ranked, &drawn, gap, room.0);
            drawing.nodes = order.iter().map(|rank| drawing.nodes[*rank]).collect();
            let fits = drawing.width <= room.0 && drawing.height <= room.1;
            best = Some((drawing, cards));
            if fits || !alone && lines_most <= 4 {
                break;
            }
        }
        let (drawing, cards) = best.unwrap_or_else(|| (layered(&[], &[], &[], 0.0, room.0), Vec::new()));
        let looping = looping(nodes.len(), &pairs);
        Panel { name: group.to_owned(), nodes, all: lines.len(), lines, drawing, cards, looping }
    }

    fn size(&self, alone: bool) -> (f64, f64) {
        let caption = if alone { 0.0 } else { CAPTION };
        let least = if alone { 0.0 } else { self.name.chars().count() as f64 * 9.0 };
        (
            self.drawing.width.max(least) + 2.0 * PADDING + 8.0,
            self.drawing.height + 2.0 * PADDING + caption + 8.0,
        )
    }

    /// Whether other operations find their rows by what it has read.
    fn determines(&self, node: usize) -> bool {
        self.lines.iter().any(|l| l.from == node && l.kinds.iter().any(|k| k == "key"))
    }

    fn draw(&self, out: &mut String, graph: &Graph, alone: bool) {
        let (w, h) = self.size(alone);
        let _ = writeln!(out, "<rect class=\"panel\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"10\"/>");
        let caption = if alone { 0.0 } else { CAPTION };
        if !alone {
            let _ = writeln!(
                out,
                "<text class=\"caption\" x=\"{}\" y=\"24\">{}</text>",
                PADDING + 4.0,
                escaped(&self.name)
            );
        }
        let _ =
            writeln!(out, "<g transform=\"translate({:.1} {:.1})\">", PADDING + 4.0, PADDING + 4.0 + caption);
        let hot = |n: usize| graph.nodes[self.nodes[n]].critical;
        let mut labels: Vec<Rect> = Vec::new();
        let sampled: Vec<Vec<(f64, f64)>> =
            self.drawing.lines.iter().map(|(_, points)| samples(points)).collect();
        for (number, (e, points)) in self.drawing.lines.iter().enumerate() {
            let line = &self.lines[*e];
            let class = if hot(line.from) && hot(line.to) { "hot" } else { line.class() };
            let dashed = if line.dashed { " dashed" } else { "" };
            let text = line.kinds.join(", ");
            let _ = write!(
                out,
                "<g class=\"edge\"><title>{} needs {}{}{}</title><path class=\"line {class}{dashed}\" marker-end=\"url(#to-{class})\" d=\"{}\"/>",
                escaped(&self.cards[line.to].head),
                escaped(&self.cards[line.from].head),
                if text.is_empty() { "" } else { ": " },
                escaped(&text),
                path(points)
            );
            // All of it, if there is room, or what says most.
            for text in [text.as_str(), line.kinds.first().map_or("", String::as_str)] {
                if text.is_empty() {
                    break;
                }
                if let Some(at) = self.label_place(text, &sampled, number, &labels) {
                    let _ = write!(
                        out,
                        "<text class=\"label {}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                        line.class(),
                        at.x,
                        at.y + at.h - 3.0,
                        escaped(text)
                    );
                    labels.push(at);
                    break;
                }
            }
            out.push_str("</g>\n");
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let of = &graph.nodes[*node];
            let class = match of.role {
                GraphRole::Read => "read",
                GraphRole::Write => "write",
                GraphRole::Call => "call",
                GraphRole::Piece => "piece",
            };
            let hot = if of.critical { " hot" } else { "" };
            let _ = write!(out, "<g class=\"node{hot}\"><title>{}</title>", escaped(&of.lines.join("\n")));
            self.cards[i].draw(out, &self.drawing.nodes[i], class, self.determines(i), self.looping[i]);
            out.push_str("</g>\n");
        }
        out.push_str("</g>\n");
    }

    /// Beside the line, where nothing else is.
    fn label_place(
        &self,
        text: &str,
        sampled: &[Vec<(f64, f64)>],
        number: usize,
        labels: &[Rect],
    ) -> Option<Rect> {
        let (w, h) = (text.chars().count() as f64 * 6.0, 13.0);
        let own = &sampled[number];
        let places = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].into_iter().flat_map(|part| {
            let (x, y) = own[((own.len() - 1) as f64 * part) as usize];
            [6.0, 14.0, 22.0].into_iter().flat_map(move |far| {
                let beside = [(x + far, y - h / 2.0), (x - far - w, y - h / 2.0)];
                let above = [(x - w / 2.0, y - h - far / 2.0), (x - w / 2.0, y + far / 2.0)];
                beside.into_iter().chain(above).map(move |(x, y)| Rect { x, y, w, h })
            })
        });
        let free = |at: &Rect| {
            let on = |(x, y): &(f64, f64)| {
                *x > at.x - 3.0 && *x < at.x + at.w + 3.0 && *y > at.y - 1.0 && *y < at.y + at.h + 1.0
            };
            at.x >= -8.0
                && at.x + at.w <= self.drawing.width + 8.0
                && !self.drawing.nodes.iter().any(|n| n.meets(at, 2.0))
                && !labels.iter().any(|l| l.meets(at, 2.0))
                && !sampled.iter().flatten().any(on)
        };
        places.into_iter().find(free)
    }
}

/// A rank for each node, so that edges go from lower to higher ones as far as that is possible: in the order of the nodes,
/// unless that would lose edges that are in no loop.
fn earlier_first(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; nodes];
    for next in 0..nodes {
        let waits = |n: usize| edges.iter().any(|(a, b)| *b == n && a != b && rank[*a] == usize::MAX);
        let free = (0..nodes).find(|n| rank[*n] == usize::MAX && !waits(*n));
        // In a loop, the first.
        let taken = free.or_else(|| (0..nodes).find(|n| rank[*n] == usize::MAX)).unwrap_or(0);
        rank[taken] = next;
    }
    rank
}

/// Which nodes depend on themselves.
fn looping(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut reach = vec![vec![false; nodes]; nodes];
    edges.iter().for_each(|(a, b)| reach[*a][*b] = true);
    for k in 0..nodes {
        let of_k = reach[k].clone();
        for row in reach.iter_mut().filter(|row| row[k]) {
            row.iter_mut().zip(&of_k).for_each(|(to, from)| *to |= *from);
        }
    }
    (0..nodes).map(|n| reach[n][n]).collect()
}

/// Whether a node is one operation: `procedure 12`. Those of slices are lists.
fn number_of_operation(head: &str, group: &str) -> bool {
    !group.is_empty() && head.strip_prefix(group).is_some_and(|rest| rest.trim().parse::<u32>().is_ok())
}

/// Lines of at most so many characters, or one word.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Card {
    fn of(graph: &Graph, number: usize, most: usize, columns: usize) -> Card {
        let node = &graph.nodes[number];
        let head = node.lines.first().cloned().unwrap_or_default();
        let mut details = node.lines.get(1..).unwrap_or_default().to_vec();
        if columns > 40 && number_of_operation(&head, &node.group) {
            details = wrapped(&details.join(" "), columns);
        }
        let cut = details.len() > most;
        let mut lines: Vec<String> = details.iter().take(most).cloned().collect();
        if cut && let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
        // The panel, or the heading, says which procedure it is.
        let short =
            head.strip_prefix(&node.group).map_or(head.as_str(), |rest| rest.trim_start_matches([' ', '.']));
        Card { head: if short.is_empty() { head.clone() } else { short.to_owned() }, lines, cut }
    }

    /// The heading stands beside the first line, if it is short.
    fn beside(&self) -> bool {
        self.head.chars().count() <= 4 && !self.lines.is_empty()
    }

    fn indent(&self) -> f64 {
        if self.beside() { self.head.chars().count() as f64 * 7.5 + 8.0 } else { 0.0 }
    }

    fn size(&self) -> (f64, f64) {
        let longest = self.lines.iter().map(|l| l.chars().count()).max().unwrap_or(0) as f64 * CHARACTER;
        let head = if self.beside() { 0.0 } else { self.head.chars().count() as f64 * 7.4 };
        let rows = self.lines.len() + usize::from(!self.beside());
        (
            (longest + self.indent()).max(head) + 2.0 * PADDING + BAR + 8.0,
            rows as f64 * LINE + 2.0 * PADDING - 4.0,
        )
    }

    fn draw(&self, out: &mut String, at: &Rect, class: &str, determines: bool, looping: bool) {
        let Rect { x, y, w, h } = *at;
        let _ = write!(
            out,
            "<rect class=\"card\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"6\"/>\
             <path class=\"{class}\" d=\"M{0:.1} {y:.1}h-{1}a6 6 0 0 0 -6 6v{2:.1}a6 6 0 0 0 6 6h{1}z\"/>",
            x + BAR + 2.0,
            BAR - 4.0,
            h - 12.0
        );
        if determines {
            let _ = write!(
                out,
                "<circle class=\"pin\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>",
                x + w - 1.0,
                y + 1.0
            );
        }
        if looping {
            let _ = write!(
                out,
                "<text class=\"round\" x=\"{:.1}\" y=\"{:.1}\">↻</text>",
                x + w - 17.0,
                y + h - 5.0
            );
        }
        let left = x + BAR + PADDING;
        let mut base = y + PADDING + 9.5;
        let _ = write!(
            out,
            "<text class=\"head\" x=\"{left:.1}\" y=\"{base:.1}\">{}</text>",
            escaped(&self.head)
        );
        if !self.beside() {
            base += LINE;
        }
        for line in &self.lines {
            let _ = write!(
                out,
                "<text class=\"text\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
                left + self.indent(),
                escaped(line)
            );
            base += LINE;
        }
    }
}

/// Curves that go straight down where they begin and end.
fn path(points: &[(f64, f64)]) -> String {
    let mut out = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for pair in points.windows(2) {
        let [(ax, ay), (bx, by)] = [pair[0], pair[1]];
        if (ax - bx).abs() < 0.5 {
            let _ = write!(out, "L{bx:.1} {by:.1}");
        } else {
            let bend = (by - ay) * 0.5;
            let _ = write!(out, "C{ax:.1} {:.1} {bx:.1} {:.1} {bx:.1} {by:.1}", ay + bend, by - bend);
        }
    }
    out
}

/// Points of the same curves, close to each other.
fn samples(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for pair in points.windows(2) {
        let [(ax, ay), (bx, by)] = [pair[0], pair[1]];
        let steps = (((bx - ax).abs() + (by - ay).abs()) / 3.0).ceil().max(2.0) as usize;
        for i in 0..=steps {
            let t = i as f64 / steps as f64;
            // Of x, the curve with its bends half way; of y, with the same.
            let x = ax + (bx - ax) * t * t * (3.0 - 2.0 * t);
            let y = ay + (by - ay) * (1.5 * t * (1.0 - t) + t * t * t);
            out.push((x, y));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria::graph::GraphNode;

    #[test]
    fn a_picture_has_heading_legend_and_tooltips() {
        let node = |text: &str, role| GraphNode {
            lines: vec!["p 1".into(), text.into()],
            role,
            group: "p".into(),
            critical: false,
        };
        let edge = |from, to, label: &str| GraphEdge { from, to, label: label.into(), dashed: false };
        let graph = Graph {
            title: "Operations".into(),
            nodes: vec![node("read a < b", GraphRole::Read), node("update a", GraphRole::Write)],
            edges: vec![edge(0, 1, "key, control"), edge(1, 0, "value")],
            ..Graph::default()
        };
        let svg = svg(&graph, "p");
        for part in [
            "<title>Operations: p</title>",
            "read a &lt; b</text>",
            "prefers-color-scheme:dark",
            "determines keys",
            "part of the key",
            "changes rows",
            "in a loop",
            "needs 1: key, control</title>",
            "1 of 2 dependencies are drawn",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(!svg.contains("calls</text>"));
        // Each colour also stands there by itself, for programs that know no variables.
        assert!(
            svg.contains(".bg{fill:#fbfbf9;fill:var(--bg)}")
                && svg.contains("stroke:#d5d9e2;stroke:var(--edge);")
        );
        assert!(!svg.contains(":@"));
    }
}
