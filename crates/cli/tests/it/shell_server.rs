//! The shell and a server: encryption, passwords, another connection.

use crate::shell::{Server, shell, shell_with};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A certificate of nobody for `localhost`, and its key.
fn certificate() -> (PathBuf, PathBuf) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/tls");
    (dir.join("cert.pem"), dir.join("key.pem"))
}

fn encrypting(dir: &Path, more: &[&str]) -> Server {
    let (cert, key) = certificate();
    let (cert, key) = (cert.display().to_string(), key.display().to_string());
    let options = ["--tls-cert", &cert, "--tls-key", &key];
    Server::start_with(&dir.join("data"), &[&options[..], more].concat())
}

const ENCRYPTED: &str = "SSL connection (protocol: TLSv1.3, cipher: TLS_";

#[test]
fn connections_are_encrypted_as_sslmode_says() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = encrypting(dir.path(), &[]);
    let port = server.1.rsplit_once(':').expect("a port").1.to_owned();
    let roots = certificate().0.display().to_string();
    // No roots of whoever runs this.
    let home = dir.path().display().to_string();
    let ask = |host: &str, mode: &str, roots: Option<&str>| {
        let mut url = format!("postgres://postgres@{host}:{port}/shop?sslmode={mode}");
        roots.iter().for_each(|roots| url += &format!("&sslrootcert={roots}"));
        shell_with(&[&url, "-c", "\\conninfo", "-c", "SELECT 7 AS seven"], "", &[("HOME", &home)])
    };
    for (mode, encrypted) in [("disable", false), ("allow", false), ("prefer", true), ("require", true)] {
        let (status, out, err) = ask("127.0.0.1", mode, None);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{mode}");
        assert_eq!(out.contains(ENCRYPTED), encrypted, "{mode}: {out}");
        assert!(out.contains("seven"), "{mode}: {out}");
    }
    for mode in ["verify-ca", "verify-full"] {
        let (status, out, err) = ask("localhost", mode, Some(&roots));
        assert_eq!((status, err.as_str()), (Some(0), ""), "{mode}");
        assert!(out.contains(ENCRYPTED), "{mode}: {out}");
        // There are none.
        let (status, _, err) = ask("localhost", mode, None);
        assert!(
            status == Some(1) && err.contains("08001") && err.contains("root.crt\" does not exist"),
            "{err}"
        );
    }
    let (_, _, err) = ask("127.0.0.1", "perhaps", None);
    assert!(err.contains("invalid sslmode value: \"perhaps\""), "{err}");
    // By the environment.
    let url = format!("postgres://postgres@localhost:{port}/shop");
    let with = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", roots.as_str()), ("HOME", home.as_str())];
    let (_, out, err) = shell_with(&[&url, "-c", "\\conninfo"], "", &with);
    assert!(out.contains(ENCRYPTED), "{out}{err}");
}

#[test]
fn a_server_of_another_authority_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = encrypting(dir.path(), &[]);
    let other = dir.path().join("other.pem");
    let key = dir.path().join("other.key").display().to_string();
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", &key, "-out"])
        .arg(&other)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: openssl is not installed");
        return;
    }
    let port = server.1.rsplit_once(':').expect("a port").1;
    let url = |port: &str| {
        format!("postgres://postgres@localhost:{port}/x?sslmode=verify-full&sslrootcert={}", other.display())
    };
    let (status, _, err) = shell(&[&url(port), "-c", "SELECT 1"], "");
    assert!(status == Some(1) && err.contains("SSL error"), "{err}");
    // One that signs itself and others is the server's own here: it is in the file, and that is enough.
    let options = ["--tls-cert", &other.display().to_string(), "--tls-key", &key];
    let server = Server::start_with(&dir.path().join("second"), &options);
    let port = server.1.rsplit_once(':').expect("a port").1;
    let (status, _, err) = shell(&[&url(port), "-c", "SELECT 1"], "");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    // It is for another name.
    let numbered = url(port).replace("localhost", "127.0.0.1");
    let (status, _, err) = shell(&[&numbered, "-c", "SELECT 1"], "");
    assert!(status == Some(1) && err.contains("08001") && err.contains("SSL error"), "{err}");
    let (status, ..) = shell(&[&numbered.replace("verify-full", "verify-ca"), "-c", "SELECT 1"], "");
    assert_eq!(status, Some(0));
}

#[test]
fn servers_have_encryption_or_not_and_may_insist() {
    let dir = tempfile::tempdir().expect("a directory");
    let plain = Server::start(&dir.path().join("plain"));
    let url = format!("postgres://postgres@{}/x?sslmode=", plain.1);
    let (status, _, err) = shell(&[&(url.clone() + "require"), "-c", "SELECT 1"], "");
    assert!(status == Some(1) && err.contains("server does not support SSL, but SSL was required"), "{err}");
    assert_eq!(shell(&[&(url + "prefer"), "-c", "SELECT 1"], "").0, Some(0));
}

#[test]
fn passwords_are_in_a_file_and_are_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let url = format!("postgres://postgres@{}/shop", server.1);
    // Without a terminal it is asked for in the next lines.
    let script = "\\password\nse:cret\nse:cret\n\\password\na\nb\n";
    let (status, out, err) = without_terminal(&url, script);
    assert_eq!(status, Some(0));
    assert_eq!(out, "");
    assert_eq!(
        err,
        "Enter new password for user \"postgres\": \nEnter it again: \nEnter new password for user \"postgres\": \n\
         Enter it again: \nPasswords didn't match.\n"
    );
    let file = dir.path().join("pass");
    let name = file.display().to_string();
    let (host, port) = server.1.rsplit_once(':').expect("a port");
    std::fs::write(
        &file,
        format!("# a comment\n{host}:1:*:*:wrong\n{host}:{port}:shop:postgres:se\\:cret\n"),
    )
    .expect("writes");
    let allow = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("sets");
    allow(0o600);
    let with = [("PGPASSFILE", name.as_str())];
    let (status, out, err) = shell_with(&[&url, "-c", "SELECT 7 AS seven"], "", &with);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("seven"));
    // Another database and another user have no line; the same again has the password that it had.
    let again = "\\c - - - -\n\\c -\nSELECT 8 AS eight;\n\\c - nobody\nSELECT 9 AS nine;\n";
    let (status, out, err) = shell_with(&[&url], again, &[("PGPASSFILE", &name), ("PGPASSWORD", "se:cret")]);
    assert_eq!(status, Some(2), "{err}");
    assert!(
        out.starts_with("You are now connected to database \"shop\" as user \"postgres\".\nYou are now"),
        "{out}"
    );
    assert!(
        out.contains("eight") && !out.contains("nine") && err.starts_with("\\connect: ERROR:  28"),
        "{out}{err}"
    );
    allow(0o644);
    let (status, _, err) = without_terminal_with(&url, "SELECT 1;\n", &with);
    assert_eq!(status, Some(1));
    assert!(err.contains("has group or world access; permissions should be u=rw (0600) or less"), "{err}");
}

#[test]
fn the_shell_goes_to_another_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let (host, port) = server.1.rsplit_once(':').expect("a port");
    let script = format!(
        "CREATE ROLE me LOGIN;\n\\c postgres://me@{host}:{port}/shop\nSELECT current_user;\n\\c bank postgres\n\\echo :DBNAME :USER :HOST :PORT\n"
    );
    let (status, out, err) = shell(&[&format!("postgres://postgres@{host}:{port}/x")], &script);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(
        out,
        format!(
            "CREATE ROLE\nYou are now connected to database \"shop\" as user \"me\".\n current_user \n--------------\n me\n(1 row)\n\n\
             You are now connected to database \"bank\" as user \"postgres\".\nbank postgres {host} {port}\n"
        )
    );
    // What the environment says is what a URL leaves out.
    let with = [("PGHOST", host), ("PGPORT", port), ("PGDATABASE", "shop"), ("PGUSER", "me")];
    let (_, out, _) = shell_with(&["postgres://", "-At", "-c", "SELECT current_user"], "", &with);
    assert_eq!(out, "me\n");
    let (status, out, _) = shell(&[], "\\c - - 127.0.0.1 1\n\\echo gone on\n");
    assert_eq!((status, out.as_str()), (Some(2), ""));
    let (_, out, _) = shell(&[], "\\conninfo\n\\c -\n");
    assert_eq!(
        out,
        "You are connected to database \"planaria\" as user \"postgres\" in this process.\n\
         You are now connected to database \"planaria\" as user \"postgres\".\n"
    );
}

fn without_terminal(url: &str, script: &str) -> (Option<i32>, String, String) {
    without_terminal_with(url, script, &[])
}

/// The shell without a terminal to ask at.
fn without_terminal_with(url: &str, script: &str, with: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = std::process::Command::new("setsid");
    command.args(["--wait", env!("CARGO_BIN_EXE_planaria"), "shell", url]);
    crate::shell::run(command, script, with)
}
