//! The outcome of an experiment as SVG: a plot for each panel, one below the other.
//!
//! Lines are told apart by colour and by the form of their points. The colours are those of M. Okabe and K. Ito
//! (*Color Universal Design*, 2008), which people who see few colours tell apart. How contention was made stands in
//! each caption.

use super::experiment::Metric;
use super::report;
use super::run::{Line, Outcome, Plot};
use planaria::{Error, Result, SqlState};
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::element::PathElement;
use plotters::prelude::*;

const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(120, 120, 120),
];

const WIDTH: u32 = 920;
const HEIGHT: u32 = 460;
const HEAD: u32 = 64;
/// Of a line of a table below a plot.
const LINE: u32 = 16;
/// Where the columns of the calibration begin.
const TABLE: [i32; 9] = [16, 190, 260, 350, 450, 520, 630, 720, 790];

/// A scheme has one colour in all plots, whatever else is in them.
fn color(scheme: &str, number: usize) -> RGBColor {
    let known = [
        "healing",
        "occ",
        "silo",
        "two_phase",
        "hybrid",
        "partitioned",
        "occ-unvalidated",
        "silo-unvalidated",
        "healing-always",
        "healing-cache",
        "healing-without",
    ];
    // With or without back-off.
    let scheme = scheme.split('+').next().unwrap_or(scheme);
    COLORS[known.iter().position(|k| *k == scheme).unwrap_or(number) % COLORS.len()]
}

/// The form of a line's points, as two paths around the middle: by its place, so that neighbours differ.
fn form(number: usize, color: RGBColor) -> [PathElement<(i32, i32)>; 2] {
    const R: i32 = 5;
    let path = |points: &[(i32, i32)]| PathElement::new(points, color.stroke_width(2));
    let closed = |points: &[(i32, i32)]| [path(points), path(&[points[points.len() - 1], points[0]])];
    match number % 8 {
        0 => closed(&[(-R, -R), (R, -R), (R, R), (-R, R)]),
        1 => closed(&[(-R, R), (0, -R), (R, R)]),
        2 => [path(&[(-R, -R), (R, R)]), path(&[(-R, R), (R, -R)])],
        3 => closed(&[(0, -R), (R, 0), (0, R), (-R, 0)]),
        4 => closed(&[(-R, -R), (0, R), (R, -R)]),
        5 => [path(&[(-R, 0), (R, 0)]), path(&[(0, -R), (0, R)])],
        6 => closed(&[(-R, -R), (R, -R), (-R, R), (R, R)]),
        _ => [path(&[(-1, -R), (-1, R)]), path(&[(1, -R), (1, R)])],
    }
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::new(SqlState::IO_ERROR, format!("cannot plot: {e}"))
}

/// The picture.
pub fn svg(outcome: &Outcome) -> Result<String> {
    let mut text = String::new();
    {
        let height =
            HEAD + outcome.plots.iter().map(|plot| HEIGHT + table_height(plot)).sum::<u32>().max(HEIGHT);
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (head, mut body) = root.split_vertically(HEAD);
        let line = |text: &str, size: i32, y: i32| {
            head.draw(&Text::new(text.to_owned(), (16, y), ("sans-serif", size))).map_err(failed)
        };
        line(&format!("{}: {}", outcome.id, outcome.title), 20, 12)?;
        line(outcome.paper, 13, 40)?;
        for plot in &outcome.plots {
            let (area, rest) = body.split_vertically(HEIGHT);
            draw(&area, plot)?;
            let (area, rest) = rest.split_vertically(table_height(plot));
            calibration(&area, plot)?;
            body = rest;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

fn table_height(plot: &Plot) -> u32 {
    if plot.simulated { LINE * (report::calibration(plot).len() as u32 + 3) } else { 0 }
}

/// Below what is simulated, how near it comes to real runs; what is too far off in red.
fn calibration(area: &DrawingArea<SVGBackend<'_>, Shift>, plot: &Plot) -> Result<()> {
    if !plot.simulated {
        return Ok(());
    }
    let write = |text: &str, x: i32, line: usize, bad: bool| {
        let color = if bad { RGBColor(200, 0, 0) } else { BLACK };
        let style = ("sans-serif", 13).into_font().color(&color);
        area.draw(&Text::new(text.to_owned(), (x, LINE as i32 * line as i32), style)).map_err(failed)
    };
    let head = format!("simulated; {}", report::calibration_head(plot));
    write(&head, TABLE[0], 0, head.contains(report::MISSED))?;
    for (i, row) in report::calibration(plot).iter().enumerate() {
        let bad = row.iter().any(|cell| cell == report::MISSED);
        for (cell, x) in row.iter().zip(TABLE) {
            write(cell, x, i + 1, bad)?;
        }
    }
    Ok(())
}

/// Axes: from the least to the greatest place, from 0 to above the greatest number.
fn draw<'a>(area: &DrawingArea<SVGBackend<'a>, Shift>, plot: &Plot) -> Result<()> {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let xs = || points().map(|p| p.x);
    let (mut least, mut greatest) = (xs().fold(f64::MAX, f64::min), xs().fold(0.0, f64::max));
    if least >= greatest {
        (least, greatest) = (least.min(greatest) - 1.0, greatest + 1.0);
    }
    let top = points().filter_map(|p| p.get(plot.plots)).fold(0.0, f64::max);
    let top = if plot.plots == Metric::Within { 100.0 } else { top.max(1e-3) * 1.05 };
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(&plot.caption, ("sans-serif", 16))
        .margin(14)
        .margin_right(30)
        .x_label_area_size(46)
        .y_label_area_size(84);
    if plot.simulated {
        let style = ("sans-serif", 40).into_font().color(&RGBColor(150, 150, 150));
        area.draw(&Text::new("simulated", (WIDTH as i32 / 2 - 90, HEIGHT as i32 / 2 - 30), style))
            .map_err(failed)?;
    }
    // Room for the legend beside the lines.
    if plot.plots == Metric::Within {
        greatest *= (greatest / least).powf(0.2);
        let chart = builder.build_cartesian_2d((least..greatest).log_scale(), 0.0..top).map_err(failed)?;
        lines(chart, plot)
    } else {
        greatest += (greatest - least) * 0.2;
        let chart = builder.build_cartesian_2d(least..greatest, 0.0..top).map_err(failed)?;
        lines(chart, plot)
    }
}

fn lines<'a, X>(
    mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, plotters::coord::types::RangedCoordf64>>,
    plot: &Plot,
) -> Result<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64> + 'a,
{
    let number = |n: &f64| {
        if *n >= 10_000.0 { format!("{:.0} K", n / 1e3) } else { format!("{}", (n * 1e3).round() / 1e3) }
    };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(plot.x)
        .y_desc(&plot.y)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .draw()
        .map_err(failed)?;
    for (i, line) in plot.lines.iter().enumerate() {
        let color = color(&line.scheme, i);
        let points = coordinates(line, plot.plots);
        let series = LineSeries::new(points.iter().copied(), color.stroke_width(2));
        let legend = move |(x, y): (i32, i32)| {
            let [one, other] = form(i, color);
            let across = PathElement::new([(-12, 0), (12, 0)], color.stroke_width(2));
            EmptyElement::at((x + 12, y)) + across + one + other
        };
        chart.draw_series(series).map_err(failed)?.label(&line.label).legend(legend);
        let marks = points.iter().map(|at| {
            let [one, other] = form(i, color);
            EmptyElement::at(*at) + one + other
        });
        chart.draw_series(marks).map_err(failed)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(180, 180, 180))
        .label_font(("sans-serif", 13))
        .draw()
        .map_err(failed)
}

fn coordinates(line: &Line, metric: Metric) -> Vec<(f64, f64)> {
    line.points.iter().filter_map(|p| Some((p.x, p.get(metric)?))).collect()
}
