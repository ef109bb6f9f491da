//! Passwords in a file: lines of `host:port:database:user:password`, where `*` is any, and `\` makes `:` and `\` a part of what
//! it stands in. The file is that of `PGPASSFILE`, or `~/.pgpass`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Which line is looked for.
pub struct Wanted<'a> {
    pub host: &'a str,
    pub port: &'a str,
    pub database: &'a str,
    pub user: &'a str,
}

/// The file that there is to be.
pub fn path(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    match env("PGPASSFILE").filter(|path| !path.is_empty()) {
        Some(path) => Some(path.into()),
        None => std::env::home_dir().map(|home| home.join(".pgpass")),
    }
}

/// The password of the first line that is meant. A file that others may read is not used, and that is said, as psql says it.
pub fn look_up(file: &Path, wanted: &Wanted<'_>) -> Option<String> {
    let known = std::fs::metadata(file).ok()?;
    let name = file.display();
    if !known.is_file() {
        eprintln!("WARNING: password file \"{name}\" is not a plain file");
        return None;
    }
    if known.permissions().mode() & 0o077 != 0 {
        eprintln!(
            "WARNING: password file \"{name}\" has group or world access; permissions should be u=rw (0600) or less"
        );
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| password_of(line, wanted))
}

fn password_of(line: &str, wanted: &Wanted<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for value in [wanted.host, wanted.port, wanted.database, wanted.user] {
        let (raw, field, behind) = field(rest);
        if raw != "*" && field != value {
            return None;
        }
        rest = behind?;
    }
    Some(field(rest).1)
}

/// The first field: as it stands there, as it is meant, and what stands behind its colon.
fn field(text: &str) -> (&str, String, Option<&str>) {
    let (mut meant, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            ':' if !escaped => return (&text[..at], meant, Some(&text[at + 1..])),
            c => {
                meant.push(c);
                escaped = false;
            }
        }
    }
    (text, meant, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_meant_is_found() {
        let wanted = Wanted { host: "::1", port: "5432", database: "shop", user: "me" };
        let of = |line| password_of(line, &wanted);
        assert_eq!(of("\\:\\:1:5432:shop:me:a\\:b\\\\c").as_deref(), Some("a:b\\c"));
        assert_eq!(of("*:*:*:me:x").as_deref(), Some("x"));
        assert_eq!(of("*:*:*:\\*:x"), None);
        assert_eq!(of("#*:*:*:*:x"), None);
        assert_eq!(of("*:*:*:you:x"), None);
        assert_eq!(of("*:*:*"), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("pass");
        std::fs::write(&file, "h:1:d:u:no\n*:*:*:*:yes\n").expect("writes");
        let wanted = Wanted { host: "h", port: "2", database: "d", user: "u" };
        let allow = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("sets");
        allow(0o640);
        assert_eq!(look_up(&file, &wanted), None);
        allow(0o600);
        assert_eq!(look_up(&file, &wanted).as_deref(), Some("yes"));
        assert_eq!(look_up(&dir.path().join("none"), &wanted), None);
    }
}
