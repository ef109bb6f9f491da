//! The version that `planaria --version` says: that of the package, and the commit it was built from where there is one.

use std::process::Command;

fn main() {
    let asked = Command::new("git").args(["rev-parse", "--short=9", "HEAD"]).output();
    let commit = asked.ok().filter(|out| out.status.success());
    let commit = commit.and_then(|out| String::from_utf8(out.stdout).ok());
    let version = env!("CARGO_PKG_VERSION");
    let told = match commit.as_deref().map(str::trim) {
        Some(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    };
    println!("cargo::rustc-env=PLANARIA_VERSION={told}");
    println!("cargo::rerun-if-changed=build.rs");
    // Where commits are made; if it is not there, the script would run each time.
    if std::path::Path::new("../../.git/logs/HEAD").exists() {
        println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    }
}
