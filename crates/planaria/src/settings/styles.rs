//! `DateStyle`, `IntervalStyle`, `bytea_output` and `extra_float_digits`. What a text does not say of `DateStyle` stays as it is, so what it is set to depends on
//! what it was.

use super::{Settings, invalid};
use planaria_base::Result;
use planaria_base::datetime::Styles;
use planaria_exec::Heap;
use std::collections::BTreeMap;

fn of_values(values: &BTreeMap<String, String>) -> Styles {
    let mut styles = Styles::DEFAULT;
    if values.is_empty() {
        return styles;
    }
    if let Some(dates) = values.get("datestyle") {
        styles = styles.with_dates(dates, Styles::DEFAULT).unwrap_or(styles);
    }
    if let Some(intervals) = values.get("intervalstyle") {
        styles = styles.with_intervals(intervals).unwrap_or(styles);
    }
    if let Some(bytes) = values.get("bytea_output") {
        styles = styles.with_bytes(bytes).unwrap_or(styles);
    }
    if let Some(digits) = values.get("extra_float_digits") {
        styles = styles.with_float_digits(digits).unwrap_or(styles);
    }
    styles
}

/// What `DateStyle` becomes that is set to a text.
pub(super) fn take_dates(settings: &Settings, text: &str) -> Result<String> {
    match settings.styles().with_dates(text, of_values(&settings.initial)) {
        Ok(styles) => Ok(styles.shown_dates().to_owned()),
        Err(why) => Err(invalid("DateStyle", text).with_detail(why)),
    }
}

impl Settings {
    /// The styles that values are shown by.
    pub(crate) fn styles(&self) -> Styles {
        let styles = of_values(&self.values);
        if !self.replays {
            return styles;
        }
        Styles { bytes: Styles::DEFAULT.bytes, fewer_digits: Styles::DEFAULT.fewer_digits, ..styles }
    }

    /// What is computed replays calls. Those that look at the form of bytes or floats are logged by rows; one that is there,
    /// of a routine that sets it, was made when the setting changed nothing.
    pub(crate) fn replay(&mut self) {
        self.replays = true;
    }

    /// Has a heap compute in the time zone and the styles that are set now.
    pub(crate) fn settle_forms(&self, heap: &mut Heap) {
        let styles = self.styles();
        // UTC by another name is shown by it, and by what its clocks are called (`GMT`, `+00`) by to_char.
        let named = styles.writes_otherwise()
            || self.named_zone().is_some_and(|zone| zone.is_utc() && zone.called_at(0).0 != "UTC");
        heap.set_forms(if named { self.named_zone() } else { self.zone() }, styles);
    }
}
