//! The graphs of the analysis, drawn: what `planaria graph` writes and the server's web page shows.
//!
//! ```text
//! planaria::graph::Graph --reduced--> lines that follow from no others --layered--> places --svg--> a picture
//! ```
//!
//! 1. Lines that follow from others are left out (transitive reduction); the heading counts them.
//! 2. Nodes are put into layers by the longest path (Sugiyama, Tagawa, Toda: *Methods for visual understanding of
//!    hierarchical system structures*, 1981), ordered within a layer so that few lines cross; a layer that is wider
//!    than a screen is divided.
//! 3. Text is text, colours are those of light or dark as the reader's screen is, the whole of a node is its tooltip.

mod draw;
mod layout;

pub use draw::svg;

/// Text in HTML and SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
