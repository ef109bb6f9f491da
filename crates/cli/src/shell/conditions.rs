//! `\if`, `\elif`, `\else`, `\endif`: which lines count.

use super::variables::boolean;

/// A condition that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    /// Its lines count.
    active: bool,
    /// One of its branches has counted, or none is to.
    done: bool,
    /// `\else` has come.
    last: bool,
}

/// Those that are open, outermost first.
#[derive(Debug, Default)]
pub struct Conditions(Vec<Open>);

impl Conditions {
    /// Whether lines count.
    pub fn active(&self) -> bool {
        self.0.last().is_none_or(|open| open.active)
    }

    /// How many are open.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Closes those that have been opened since there were so many.
    pub fn close_to(&mut self, depth: usize) {
        self.0.truncate(depth);
    }

    /// Takes a command, if it is one of these; what psql says where it cannot be. Those below `base` are another file's.
    pub fn take(&mut self, command: &str, arguments: &[String], base: usize) -> Option<Result<(), String>> {
        let says = |arguments: &[String]| {
            let text = arguments.join(" ");
            boolean(&text).ok_or_else(|| {
                format!("unrecognized value \"{text}\" for \"\\{command} expression\": Boolean expected")
            })
        };
        if !matches!(command, "if" | "elif" | "else" | "endif") {
            return None;
        }
        if command == "if" {
            let active = self.active();
            let value = if active { says(arguments) } else { Ok(false) };
            let on = *value.as_ref().unwrap_or(&false);
            self.0.push(Open { active: on, done: on || !active, last: false });
            return Some(value.map(drop));
        }
        let ours = self.0.len() > base;
        let Some(open) = self.0.last_mut().filter(|_| ours) else {
            return Some(Err(format!("\\{command}: no matching \\if")));
        };
        Some(match command {
            "endif" => {
                self.0.pop();
                Ok(())
            }
            _ if open.last => Err(format!("\\{command}: cannot occur after \\else")),
            "else" => {
                (open.active, open.done, open.last) = (!open.done, true, true);
                Ok(())
            }
            _ if open.done => {
                open.active = false;
                Ok(())
            }
            _ => {
                let value = says(arguments);
                let on = *value.as_ref().unwrap_or(&false);
                (open.active, open.done) = (on, on);
                value.map(drop)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_count_once() {
        let mut conditions = Conditions::default();
        let mut take = |command: &str, argument: &str| {
            let outcome = conditions.take(command, &[argument.to_owned()], 0).expect("one of them");
            outcome.map(|()| conditions.active())
        };
        assert_eq!(take("if", "off"), Ok(false));
        assert_eq!(take("if", "on"), Ok(false));
        assert_eq!(take("else", ""), Ok(false));
        assert_eq!(take("endif", ""), Ok(false));
        assert_eq!(take("elif", "1"), Ok(true));
        assert_eq!(take("elif", "1"), Ok(false));
        assert_eq!(take("else", ""), Ok(false));
        assert!(take("else", "").is_err());
        assert_eq!(take("endif", ""), Ok(true));
        assert!(take("endif", "").is_err());
        assert_eq!(take("if", "on"), Ok(true));
        assert_eq!(take("else", ""), Ok(false));
        assert_eq!(take("endif", ""), Ok(true));
        assert!(take("if", "perhaps").is_err_and(|e| e.contains("Boolean expected")));
    }
}
