//! `planaria graph`: what the analysis says of procedures, as text, DOT or SVG.

use clap::Args;
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::render::get_shape_size;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use planaria::{Database, Error, Graph, GraphKind, GraphRequest, Result};
use std::path::PathBuf;

/// Options of `planaria graph`.
#[derive(Args)]
pub struct Options {
    /// Directory of a database, which is recovered for it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// SQL files with tables and procedures, run in order
    #[arg(value_name = "FILE.sql", required_unless_present = "data")]
    files: Vec<PathBuf>,
    /// Only these procedures; may be given several times
    #[arg(long, value_name = "NAME")]
    procedure: Vec<String>,
    /// procedure, local, global, chopping, schedule, regrow
    #[arg(long, default_value = "global")]
    kind: GraphKind,
    /// text, dot, svg
    #[arg(long, default_value = "text")]
    format: Format,
    /// Calls of a procedure in a batch, for schedules; may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = calls)]
    calls: Vec<(String, u64)>,
    /// Batches, for schedules
    #[arg(long, default_value_t = 1)]
    batches: usize,
    /// One batch after the other, for schedules: no pipeline
    #[arg(long)]
    synchronous: bool,
    /// Workers, for schedules
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Writes to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Svg,
}

fn calls(text: &str) -> std::result::Result<(String, u64), String> {
    let (name, n) = text.split_once('=').ok_or("write NAME=N")?;
    Ok((name.to_owned(), n.parse().map_err(|_| format!("{n} is no number"))?))
}

/// Draws the graph.
pub fn graph(options: &Options) -> Result<()> {
    let db = match &options.data {
        Some(dir) => Database::open(dir)?,
        None => Database::in_memory()?,
    };
    for file in &options.files {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read file", file, e))?;
        db.execute_script(&text)?;
    }
    let graph = db.graph(&GraphRequest {
        procedures: options.procedure.clone(),
        calls: options.calls.clone(),
        batches: options.batches,
        pipelined: !options.synchronous,
        workers: options.workers,
        ..GraphRequest::new(options.kind)
    })?;
    let text = match options.format {
        Format::Text => graph.text.join("\n") + "\n",
        Format::Dot => graph.dot(),
        Format::Svg => svg(&graph),
    };
    match &options.output {
        Some(file) => std::fs::write(file, text).map_err(|e| Error::file("write file", file, e)),
        None => {
            // A closed pipe ends the output.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            Ok(())
        }
    }
}

/// The graph in layers, what depends below what it depends on.
fn svg(graph: &Graph) -> String {
    const FONT: usize = 14;
    let (black, red, white) = (Color::fast("black"), Color::fast("firebrick"), Color::fast("white"));
    let look = |critical: bool| {
        let (color, width) = if critical { (red, 3) } else { (black, 1) };
        StyleAttr::new(color, width, Some(white), 4, FONT)
    };
    let mut visual = VisualGraph::new(Orientation::TopToBottom);
    let handles: Vec<_> = graph
        .nodes
        .iter()
        .map(|node| {
            let shape = ShapeKind::new_box(&node.lines.join("\n"));
            // The crate takes a character to be as wide as the font is high.
            let mut size = get_shape_size(Orientation::TopToBottom, &shape, FONT, false);
            size.x *= 0.6;
            visual.add_node(Element::create(shape, look(node.critical), Orientation::TopToBottom, size))
        })
        .collect();
    for edge in &graph.edges {
        let critical = graph.nodes[edge.from].critical && graph.nodes[edge.to].critical;
        let mut arrow = Arrow::simple(&edge.label);
        arrow.look = look(critical);
        if edge.dashed {
            arrow.line_style = LineStyleKind::Dashed;
        }
        visual.add_edge(arrow, handles[edge.from], handles[edge.to]);
    }
    let mut writer = SVGWriter::new();
    visual.do_it(false, false, false, &mut writer);
    let bottom = handles.iter().map(|h| visual.pos(*h).bbox(true).1.y).fold(0.0, f64::max);
    cut_below(&writer.finalize(), bottom + 10.0)
}

/// The picture with this height: the crate makes it about twice as high as what it draws.
fn cut_below(svg: &str, height: f64) -> String {
    let parts = svg.split_once("<svg ").and_then(|(head, rest)| Some((head, rest.split_once('>')?)));
    let Some((head, (tag, body))) = parts else { return svg.to_owned() };
    let width = tag.split('"').nth(1).unwrap_or_default();
    format!(
        "{head}<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\">{body}"
    )
}
