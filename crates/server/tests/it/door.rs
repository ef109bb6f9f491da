//! Who is asked for a password, and who gets a place: whatever roles, floods and guessers do.

use crate::common;

use common::{Client, Message, Running};
use planaria::{Database, Options, RecoveryProgress, RecoveryStage};
use planaria_server::{Authentication, Config, Doors, Server};
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(dir: &Path) -> Running {
    Running::with(Options::new().open(dir).expect("opens"), Config::default())
}

/// The first answer to a client that says who it is.
fn first(address: SocketAddr, user: &str) -> Message {
    let mut client = Client::connect(address);
    client.startup(&[("user", user)]);
    client.next().expect("an answer")
}

/// What a client is asked for: `0` nothing, `10` a proof by SCRAM.
fn asked(running: &Running, user: &str) -> i32 {
    let message = first(running.address, user);
    assert_eq!(message.tag, 'R', "{:?}", message.field('M'));
    i32::from_be_bytes(message.body[..4].try_into().expect("four bytes"))
}

/// The answer to a proof that is wrong.
fn guess(address: SocketAddr, user: &str) -> Message {
    let (mut client, nonce, _) = challenge(address, user);
    client.message('p', format!("c=biws,r={nonce},p={}", "A".repeat(43) + "=").as_bytes()).send();
    client.next().expect("an answer")
}

/// A client that has been asked for its proof, with the nonce and the salt.
fn challenge(address: SocketAddr, user: &str) -> (Client, String, String) {
    let mut client = Client::connect(address);
    client.startup(&[("user", user)]);
    client.next().expect("a question");
    let message = b"n,,n=,r=abc";
    let mut body = b"SCRAM-SHA-256\0".to_vec();
    body.extend_from_slice(&(message.len() as i32).to_be_bytes());
    body.extend_from_slice(message);
    client.message('p', &body).send();
    let text = client.next().expect("a question").text();
    let part = |name: &str| {
        let (_, rest) = text.split_once(name).expect("a part");
        rest.split(',').next().unwrap_or(rest).to_owned()
    };
    let (nonce, salt) = (part("r="), part("s="));
    (client, nonce, salt)
}

#[test]
fn a_password_that_is_taken_away_opens_no_door() {
    let dir = tempfile::tempdir().expect("a directory");
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let running = open(&data);
    assert_eq!(asked(&running, "postgres"), 0, "nobody has had a password");
    // What was not committed was never there.
    running.client().query("BEGIN; CREATE ROLE app LOGIN PASSWORD 'x'; ROLLBACK");
    assert_eq!(asked(&running, "postgres"), 0);
    running.db.execute_script("CREATE ROLE app LOGIN PASSWORD 'pencil'").expect("a role");
    assert_eq!((asked(&running, "app"), asked(&running, "postgres")), (10, 10));
    running.drive_as("app", "pencil", async |client| {
        client.batch_execute("ALTER ROLE app PASSWORD NULL").await.expect("it is its own");
    });
    let closed = |running: &Running| {
        assert_eq!((asked(running, "app"), asked(running, "postgres")), (10, 10));
        assert_eq!(guess(running.address, "app").field('C').as_deref(), Some("28P01"));
    };
    closed(&running);
    running.db.backup(&copy).expect("a backup");
    drop(running);
    // By the log; by a checkpoint; from a backup.
    let running = open(&data);
    closed(&running);
    running.db.execute_script("DROP ROLE app").expect("dropped");
    running.db.checkpoint().expect("a checkpoint");
    drop(running);
    closed(&open(&data));
    closed(&open(&copy));
}

#[test]
fn what_is_configured_is_done() {
    let with = |authentication, password| {
        let db = Database::in_memory().expect("a database");
        if password {
            db.execute_script("ALTER ROLE postgres PASSWORD 'x'").expect("a password");
        }
        Running::with(db, Config { authentication, ..Config::default() })
    };
    assert_eq!(asked(&with(Authentication::Password, false), "postgres"), 10);
    assert_eq!(asked(&with(Authentication::Trust, true), "postgres"), 0);
    assert_eq!(asked(&with(Authentication::Auto, true), "postgres"), 10);
    assert_eq!("scram".parse(), Ok(Authentication::Password));
    assert!("none".parse::<Authentication>().is_err());
}

#[test]
fn the_salt_of_nobody_stays_over_restarts() {
    let dir = tempfile::tempdir().expect("a directory");
    let salts = |running: &Running| ["app", "nobody"].map(|user| challenge(running.address, user).2);
    let running = open(dir.path());
    running.db.execute_script("CREATE ROLE app LOGIN PASSWORD 'x'").expect("a role");
    let before = salts(&running);
    drop(running);
    assert_eq!(salts(&open(dir.path())), before);
}

/// Many guesses at once are not faster than one after the other; others are served as ever meanwhile.
#[test]
fn guessing_is_slow_for_who_guesses() {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE ROLE app LOGIN PASSWORD 'pencil'; ALTER ROLE postgres PASSWORD 'master'")
        .expect("roles");
    let running = Running::with(db, Config::default());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                assert_eq!(guess(running.address, "app").field('C').as_deref(), Some("28P01"));
            });
        }
        running.drive_as("postgres", "master", async |client| {
            client.batch_execute("SELECT 1").await.expect("served");
        });
    });
    // 100, 200, 400, 800 ms lie between them.
    assert!(began.elapsed() >= Duration::from_millis(1_500), "{:?}", began.elapsed());
    running.drive_as("app", "pencil", async |client| drop(client));
}

#[test]
fn the_last_places_are_for_superusers() {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE ROLE app LOGIN").expect("a role");
    let config = Config { max_connections: 3, superuser_reserved_connections: 2, ..Config::default() };
    let running = Running::with(db, config);
    let enter = |user: &str| {
        let mut client = Client::connect(running.address);
        client.startup(&[("user", user)]);
        let answer = client.until_ready();
        (client, answer[0].field('C'), answer[0].field('M'))
    };
    let (_first, code, _) = enter("app");
    assert_ne!(code.as_deref(), Some("53300"));
    let (_, code, message) = enter("app");
    assert_eq!(code.as_deref(), Some("53300"));
    assert_eq!(
        message.as_deref(),
        Some("remaining connection slots are reserved for non-replication superuser connections")
    );
    let places = [enter("postgres"), enter("postgres")];
    assert!(places.iter().all(|p| p.1.as_deref() != Some("53300")));
    assert_eq!(enter("postgres").2.as_deref(), Some("sorry, too many clients already"));
    let none = Config { max_connections: 3, superuser_reserved_connections: 3, ..Config::default() };
    let error = Doors::open(none).err().expect("refused");
    assert_eq!(error.message(), "superuser_reserved_connections (3) must be less than max_connections (3)");
}

/// It comes where the client expects it: not in place of the answer to what it asked first.
#[test]
fn too_many_clients_is_said_to_who_asks_for_encryption_first() {
    let config = Config { max_connections: 1, superuser_reserved_connections: 0, ..Config::default() };
    let running = Running::with(Database::in_memory().expect("a database"), config);
    let _only = running.client();
    let mut client = Client::connect(running.address);
    client.packet(&80_877_103i32.to_be_bytes());
    let mut answer = [0];
    client.socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"N");
    client.startup(&[("user", "postgres")]);
    let refused = client.next().expect("an answer");
    assert_eq!(
        [refused.field('S'), refused.field('C'), refused.field('M')].map(Option::unwrap_or_default),
        ["FATAL", "53300", "sorry, too many clients already"]
    );
}

#[test]
fn silent_sockets_lock_nobody_out() {
    let config = Config { max_connections: 10, max_startups_per_address: 20, ..Config::default() };
    let running = Running::with(Database::in_memory().expect("a database"), config);
    let silent: Vec<Client> = (0..400).map(|_| Client::connect(running.address)).collect();
    let mut client = running.client();
    assert_eq!(client.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    std::thread::sleep(Duration::from_millis(1_100));
    let one_more = Client::connect(running.address);
    assert_eq!(running.client().query("SELECT 1")[1], "D:1");
    // Some of them had to leave for that.
    let mut gone = 0;
    for one in &silent {
        one.socket.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        gone += usize::from((&one.socket).read(&mut [0]).is_ok_and(|n| n == 0));
    }
    assert!(gone >= 2, "{gone}");
    drop(one_more);
}

#[test]
fn who_comes_before_the_database_is_open_is_told_to_wait() {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let mut doors = Doors::open(Config { listen, ..Config::default() }).expect("a free port");
    doors.hear_hangups().expect("a signal");
    doors.answer();
    let address = doors.addresses()[0];
    let early = first(address, "postgres");
    assert_eq!(
        [early.field('S'), early.field('C'), early.field('M')].map(Option::unwrap_or_default),
        ["FATAL", "57P03", "the database system is starting up"]
    );
    assert_eq!(early.field('D'), None);
    let stage = RecoveryStage::Load;
    doors.progress().tell(RecoveryProgress { stage, rows: 30, rows_total: 40, ..Default::default() });
    let detail = first(address, "postgres").field('D').expect("how far it is");
    assert!(detail.starts_with("Recovery: 75 % of the checkpoint loaded, 30 of 40 rows"), "{detail}");
    let server = Server::behind(doors, Arc::new(Database::in_memory().expect("a database")));
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.run());
    assert_eq!(Client::enter(address).query("SELECT 1")[1], "D:1");
    stopper.stop();
    thread.join().expect("joins").expect("well");
}
