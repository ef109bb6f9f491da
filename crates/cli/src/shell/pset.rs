//! `\pset` and the short commands for what it sets.

use super::variables::boolean;
use super::{Next, Shell};
use crate::table::Format;

/// Names of formats.
const FORMATS: [(&str, Format); 3] =
    [("aligned", Format::Aligned), ("csv", Format::Csv), ("unaligned", Format::Unaligned)];

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl Shell {
    /// `\pset [NAME [VALUE]]`
    pub(super) fn pset(&mut self, arguments: &[String]) -> Next {
        let value = arguments.get(1).map(String::as_str);
        let Some(name) = arguments.first() else {
            let text = self.pset_all();
            self.show(&text);
            return Next::Line;
        };
        let outcome = match name.as_str() {
            "border" => {
                // What is no number is 0, and more than a format has is all that it has: psql's way.
                value.inspect(|v| self.style.border = v.parse::<u8>().unwrap_or(0).min(2));
                Ok(())
            }
            "expanded" | "x" | "vertical" => self
                .switch(value, "expanded", |shell| &mut shell.style.expanded)
                .map_err(|why| why.replace(": Boolean expected", "\nAvailable values are: on, off.")),
            "fieldsep" => {
                value.inspect(|v| (*v).clone_into(&mut self.style.separator));
                Ok(())
            }
            "footer" => self.switch(value, "footer", |shell| &mut shell.style.footer),
            "format" => self.set_format(value),
            "null" => {
                value.inspect(|v| (*v).clone_into(&mut self.style.null));
                Ok(())
            }
            "t" | "tuples_only" => self.switch(value, "tuples_only", |shell| &mut shell.style.tuples_only),
            other => Err(format!("\\pset: unknown option: {other}")),
        };
        match outcome {
            Ok(()) => {
                let says = self.pset_says(name);
                self.say(&says);
                Next::Line
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// Sets what is on or off; without a word it is changed.
    pub(super) fn switch(
        &mut self,
        value: Option<&str>,
        what: &str,
        of: fn(&mut Shell) -> &mut bool,
    ) -> Result<(), String> {
        let place = of(self);
        *place = match value {
            None => !*place,
            Some(text) => boolean(text)
                .ok_or_else(|| format!("unrecognized value \"{text}\" for \"{what}\": Boolean expected"))?,
        };
        Ok(())
    }

    /// An unambiguous beginning is enough.
    fn set_format(&mut self, value: Option<&str>) -> Result<(), String> {
        if let Some(text) = value {
            let text = text.to_ascii_lowercase();
            let found = FORMATS.iter().find(|(name, _)| !text.is_empty() && name.starts_with(&text));
            self.style.format = found.ok_or("\\pset: allowed formats are aligned, csv, unaligned")?.1;
        }
        Ok(())
    }

    /// `\a`: aligned, or not.
    pub(super) fn toggle_aligned(&mut self) -> Next {
        let aligned = self.style.format == Format::Aligned;
        self.style.format = if aligned { Format::Unaligned } else { Format::Aligned };
        let says = self.pset_says("format");
        self.say(&says);
        Next::Line
    }

    fn format_name(&self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self.style.format).map_or("", |(name, _)| name)
    }

    /// What a setting is, in psql's words.
    pub(super) fn pset_says(&self, name: &str) -> String {
        let style = &self.style;
        match name {
            "border" => format!("Border style is {}.", style.border),
            "fieldsep" => format!("Field separator is \"{}\".", style.separator),
            "footer" => format!("Default footer is {}.", on_or_off(style.footer)),
            "format" => format!("Output format is {}.", self.format_name()),
            "null" => format!("Null display is \"{}\".", style.null),
            "t" | "tuples_only" => format!("Tuples only is {}.", on_or_off(style.tuples_only)),
            _ => format!("Expanded display is {}.", on_or_off(style.expanded)),
        }
    }

    fn pset_all(&self) -> String {
        let style = &self.style;
        let all = [
            ("border", style.border.to_string()),
            ("expanded", on_or_off(style.expanded).to_owned()),
            ("fieldsep", format!("'{}'", style.separator)),
            ("footer", on_or_off(style.footer).to_owned()),
            ("format", self.format_name().to_owned()),
            ("null", format!("'{}'", style.null)),
            ("tuples_only", on_or_off(style.tuples_only).to_owned()),
        ];
        all.iter().map(|(name, value)| format!("{name:<24} {value}\n")).collect()
    }
}
