//! The book: the pages of `docs/`, in the order of `docs/SUMMARY.md`. [`check`] (a part of `cargo xtask tidy`) looks whether
//! every page is in it and every link leads somewhere; `cargo xtask book [PAGE..]` carries out the commands of the pages.
//!
//! What is carried out, page by page, each in an empty directory with `planaria` on the `PATH`:
//!
//! * ` ```sh `: the block, by bash; it has to succeed;
//! * ` ```console `: what stands behind each `$ ` (and `> `, where it goes on), and what follows is what it has to print: `...` is
//!   any number of lines, `…` anything within a line. It has to succeed unless an error is what it has to print.
//!
//! A comment before a block says what else is to be done with it: `<!-- file: NAME -->` writes the block to a file of the
//! directory, `<!-- in the background -->` starts a server that goes on to the end of the page, `<!-- not run: REASON -->` leaves
//! it out. Ports 5432 and 9187 of the text are free ports of the machine when it is run.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{fs, thread, time::Duration};

/// Seconds that a page may take.
const PAGE_SECONDS: u64 = 240;

/// A fenced block of a page.
struct Block {
    /// Line of the page on which its text begins, from 1.
    line: usize,
    language: String,
    text: String,
    /// What the comment before it says.
    comment: String,
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut comment, mut open) = (String::new(), false);
    for (at, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        if open {
            let block = found.last_mut().expect("a block was opened");
            if trimmed.starts_with("```") {
                open = false;
            } else {
                block.text.push_str(line);
                block.text.push('\n');
            }
        } else if let Some(language) = trimmed.strip_prefix("```") {
            let language = language.trim().to_owned();
            found.push(Block {
                line: at + 2,
                language,
                text: String::new(),
                comment: std::mem::take(&mut comment),
            });
            open = true;
        } else if let Some(said) = trimmed.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            comment = said.trim().to_owned();
        } else if !trimmed.is_empty() {
            comment.clear();
        }
    }
    found
}

/// What one step of a page is to print.
enum Expected {
    /// Nothing in particular; it has to succeed.
    Success,
    /// These lines.
    Lines(Vec<String>),
}

struct Step {
    line: usize,
    command: String,
    expected: Expected,
}

/// The steps of a `console` block: commands with what they print.
fn console(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, line) in block.text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                line: block.line + at,
                command: command.to_owned(),
                expected: Expected::Lines(Vec::new()),
            });
            continue;
        }
        let Some(step) = steps.last_mut() else { continue };
        let Expected::Lines(lines) = &mut step.expected else { continue };
        match line.strip_prefix("> ") {
            Some(more) if lines.is_empty() => {
                step.command.push('\n');
                step.command.push_str(more);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    steps
}

/// Whether a line is as it is expected, `…` being anything.
fn line_matches(expected: &str, got: &str) -> bool {
    let (expected, got) = (expected.trim_end(), got.trim_end());
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = got.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether lines are as they are expected, `...` being any number of them.
fn lines_match(expected: &[String], got: &[&str]) -> bool {
    match expected.split_first() {
        None => got.is_empty(),
        Some((any, rest)) if any.trim() == "..." => {
            (0..=got.len()).any(|skipped| lines_match(rest, &got[skipped..]))
        }
        Some((line, rest)) => got
            .split_first()
            .is_some_and(|(first, more)| line_matches(line, first) && lines_match(rest, more)),
    }
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_or(0, |address| address.port())
}

/// How a page went.
enum Outcome {
    /// That many commands did what the page says.
    Right(usize),
    /// There is nothing in it to be carried out.
    Nothing,
    /// It needs a program that is not there.
    Lacks(&'static str),
    Wrong(String),
}

/// Programs that pages may use and a machine may lack.
const STRANGERS: &[&str] = &["psql", "pg_dump", "pgbench", "curl", "cargo"];

fn there_is(program: &str, path: &str) -> bool {
    path.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// Carries out a page.
fn run_page(text: &str, binaries: &str, directory: &Path) -> Outcome {
    let (port, metrics) = (free_port().to_string(), free_port().to_string());
    let here = |text: &str| text.replace("5432", &port).replace("9187", &metrics);
    let (mut script, mut steps) = (String::new(), Vec::<Step>::new());
    let mark = |script: &mut String, command: &str, number: usize| {
        let _ = writeln!(
            script,
            "echo '\u{1}{number}'\n{{ {}\n}} 2>&1 </dev/null\necho \"\u{2}{number} $?\"",
            here(command)
        );
    };
    for block in blocks(text) {
        if block.comment.starts_with("not run:") {
            continue;
        }
        if let Some(name) = block.comment.strip_prefix("file:") {
            let path = directory.join(name.trim());
            if let Some(folder) = path.parent() {
                let _ = fs::create_dir_all(folder);
            }
            if let Err(error) = fs::write(&path, here(&block.text)) {
                return Outcome::Wrong(format!("{}: {error}", path.display()));
            }
        } else if block.language == "sh" && block.comment == "in the background" {
            let _ = writeln!(
                script,
                "{{ {}\n}} >background.log 2>&1 </dev/null &\nfor _ in $(seq 300); do (exec 3<>/dev/tcp/127.0.0.1/{metrics}; \
                 printf 'GET /health HTTP/1.1\\r\\n\\r\\n' >&3; head -n 1 <&3 | grep -q ' 200 ') \
                 2>/dev/null && break; sleep 0.1; done",
                here(&block.text)
            );
        } else if block.language == "sh" {
            mark(&mut script, &format!("( set -e\n{}\n)", block.text), steps.len());
            steps.push(Step { line: block.line, command: block.text, expected: Expected::Success });
        } else if block.language == "console" {
            for step in console(&block) {
                mark(&mut script, &step.command, steps.len());
                steps.push(step);
            }
        }
    }
    if steps.is_empty() {
        return Outcome::Nothing;
    }
    let lacks = STRANGERS.iter().find(|program| {
        let words =
            |c: &str| c.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).any(|w| w == **program);
        steps.iter().any(|step| words(&step.command)) && !there_is(program, binaries)
    });
    if let Some(program) = lacks {
        return Outcome::Lacks(program);
    }
    let output = match bash(&script, binaries, directory, &port, &metrics) {
        Ok(output) => output.replace(&port, "5432").replace(&metrics, "9187"),
        Err(error) => return Outcome::Wrong(error),
    };
    for (number, step) in steps.iter().enumerate() {
        if let Err(why) = held(&output, number, step) {
            return Outcome::Wrong(format!("line {}: {}\n{why}", step.line, step.command.trim_end()));
        }
    }
    Outcome::Right(steps.len())
}

/// Whether a step printed what it should.
fn held(output: &str, number: usize, step: &Step) -> Result<(), String> {
    let begin = format!("\u{1}{number}\n");
    let end = format!("\u{2}{number} ");
    let printed = output.find(&begin).map(|at| &output[at + begin.len()..]);
    let ended = printed.and_then(|text| text.find(&end).map(|at| (&text[..at], &text[at + end.len()..])));
    let Some((printed, rest)) = ended else {
        return Err(format!("it did not end; the page printed\n{output}"));
    };
    match &step.expected {
        Expected::Success if rest.lines().next() == Some("0") => Ok(()),
        Expected::Success => Err(format!("it failed and printed\n{printed}")),
        Expected::Lines(lines) => {
            let trim = |lines: &[String]| {
                lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1)
            };
            let expected = &lines[..trim(lines)];
            let got: Vec<&str> = printed.trim_end().lines().collect();
            let fails = lines.iter().any(|line| line.to_lowercase().contains("error"));
            if lines_match(expected, &got) && (fails || rest.lines().next() == Some("0")) {
                return Ok(());
            }
            Err(format!("the page says\n{}\nand it printed\n{printed}", expected.join("\n")))
        }
    }
}

/// Runs a script in a process group of its own, which is ended with it.
fn bash(script: &str, path: &str, directory: &Path, port: &str, metrics: &str) -> Result<String, String> {
    use std::os::unix::process::CommandExt;
    fs::write(directory.join(".page.sh"), script).map_err(|error| error.to_string())?;
    let printed = directory.join(".printed");
    let file = fs::File::create(&printed).map_err(|error| error.to_string())?;
    let mut child = Command::new("bash")
        .arg(".page.sh")
        .current_dir(directory)
        .env("PATH", path)
        .env("PGPORT", port)
        .env("PLANARIA_LISTEN", format!("127.0.0.1:{port}"))
        .env("PLANARIA_METRICS", format!("127.0.0.1:{metrics}"))
        .env("PAGER", "cat")
        .env("HOME", directory)
        .stdin(Stdio::null())
        .stderr(file.try_clone().map_err(|error| error.to_string())?)
        .stdout(file)
        .process_group(0)
        .spawn()
        .map_err(|error| format!("bash: {error}"))?;
    let mut in_time = false;
    for _ in 0..PAGE_SECONDS * 20 {
        if child.try_wait().map_err(|error| error.to_string())?.is_some() {
            in_time = true;
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    // Servers in the background end with the page.
    let _ =
        Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    let _ = child.wait();
    let output = fs::read(&printed).map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output).into_owned();
    if in_time {
        Ok(output)
    } else {
        Err(format!("not done after {PAGE_SECONDS} s; it had printed\n{output}"))
    }
}

/// `cargo xtask book [PAGE..]`: pages by a part of their names, all of them without.
pub fn run(names: &[String]) -> ExitCode {
    let root = root();
    let binary =
        std::env::var("PLANARIA").map_or_else(|_| root.join("target/release/planaria"), PathBuf::from);
    let Some(folder) = binary.is_file().then(|| binary.parent()).flatten() else {
        println!("book: {} is not there: cargo build --release, or say PLANARIA=path", binary.display());
        return ExitCode::FAILURE;
    };
    let mut path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    for postgres in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        let _ = write!(path, ":{}", postgres.path().join("bin").display());
    }
    let (mut right, mut wrong, mut lacking) = (0, 0, 0);
    for page in pages(&root) {
        let name = page.strip_prefix(&root).unwrap_or(&page).display().to_string();
        if !names.is_empty() && !names.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&page) else { continue };
        let directory =
            std::env::temp_dir().join(format!("planaria-book-{}-{right}-{wrong}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        if let Err(error) = fs::create_dir_all(&directory) {
            println!("book: {}: {error}", directory.display());
            return ExitCode::FAILURE;
        }
        match run_page(&text, &path, &directory) {
            Outcome::Nothing => {}
            Outcome::Right(commands) => {
                right += commands;
                println!("book: {name}: {commands} commands as it says");
            }
            Outcome::Lacks(program) => {
                lacking += 1;
                println!("skipped: {name}: {program} is not installed");
            }
            Outcome::Wrong(why) => {
                wrong += 1;
                println!("book: {name}, {why}");
            }
        }
        let _ = fs::remove_dir_all(&directory);
    }
    println!("book: {right} commands as the pages say, {wrong} pages wrong, {lacking} skipped");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// The targets of links (`](target)`) of a text, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut code) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            found.push((at + 1, rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    found
}

/// The pages that the book's table of contents has, in its order.
fn pages(root: &Path) -> Vec<PathBuf> {
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap_or_default();
    links(&summary).into_iter().map(|(_, target)| root.join("docs").join(target)).collect()
}

/// What a heading is called in links to it: small letters, digits and hyphens.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> Vec<String> {
    let mut code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if !code && line.starts_with('#') {
            found.push(anchor(line.trim_start_matches('#')));
        }
    }
    found
}

/// Every page of `docs/` is in the book, and every link of pages leads to a file and a heading that are there.
pub fn check(wrong: &mut Vec<String>) {
    let root = root();
    let listed = pages(&root);
    let mut all = Vec::new();
    crate::tidy::walk(&root.join("docs"), "md", &mut all);
    for page in &all {
        let times = listed.iter().filter(|other| *other == page).count();
        if !page.ends_with("SUMMARY.md") && times != 1 {
            wrong.push(format!("{}: in docs/SUMMARY.md {times} times", page.display()));
        }
    }
    let outside = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    all.extend(outside.iter().map(|name| root.join(name)));
    for page in &all {
        let Ok(text) = fs::read_to_string(page) else { continue };
        let name = page.strip_prefix(&root).unwrap_or(page).display();
        for (line, target) in links(&text) {
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = match file {
                "" => page.clone(),
                file => page.parent().expect("a page lies in a folder").join(file),
            };
            if !file.exists() {
                wrong.push(format!("{name}:{line}: {target} is not there"));
            } else if !heading.is_empty()
                && !fs::read_to_string(&file).is_ok_and(|text| anchors(&text).iter().any(|a| a == heading))
            {
                wrong.push(format!("{name}:{line}: no heading is called #{heading}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_match_with_gaps() {
        let expected = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert!(lines_match(&expected("a\n...\nz"), &["a", "b", "c", "z"]));
        assert!(lines_match(&expected("took … ms"), &["took 12.5 ms"]));
        assert!(!lines_match(&expected("took … ms"), &["took 12.5 s"]));
        assert!(!lines_match(&expected("a\n...\nz"), &["a", "b"]));
        assert!(!lines_match(&expected("a"), &["a", "b"]));
    }

    #[test]
    fn a_page_is_carried_out() {
        let directory = std::env::temp_dir().join(format!("planaria-book-test-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = std::env::var("PATH").unwrap();
        let page = "<!-- file: a.txt -->\n```text\nhello\n```\n\n```console\n$ cat a.txt\nhello\n$ seq \\\n> 3\n1\n...\n```\n\
                    <!-- not run: it would fail -->\n```sh\nfalse\n```\n";
        assert!(matches!(run_page(page, &path, &directory), Outcome::Right(2)));
        assert!(matches!(run_page("```console\n$ echo a\nb\n```\n", &path, &directory), Outcome::Wrong(_)));
        assert!(matches!(run_page("```sh\nfalse\n```\n", &path, &directory), Outcome::Wrong(_)));
        assert!(matches!(run_page("```sql\nSELECT 1\n```\n", &path, &directory), Outcome::Nothing));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn headings_have_names() {
        assert_eq!(anchor(" What sessions begin with"), "what-sessions-begin-with");
        assert_eq!(
            anchor(" `regrow`: the engine, and what was tried"),
            "regrow-the-engine-and-what-was-tried"
        );
    }
}
