//! Files: whatever stands in the log and the checkpoints, opening a database gives one that holds together, or an
//! error.
//!
//! A file with a wrong checksum ends at the checksum, which `sim` tests with flipped bits. Here all checksums are
//! made to fit ([`seal`]), so that what lies behind them is reached: lengths, numbers of tables and rows, values,
//! catalogs, texts of statements.

use crate::chance::{below, change as changed};
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};

/// A file's name and content.
pub type File = (String, Vec<u8>);

/// The files of a database with a checkpoint and a log after it.
pub fn template(kind: LogKind) -> Vec<File> {
    let disk = SimDisk::new(1);
    let db =
        Options::new().log(kind).checkpoint_threads(1).open_device(disk.device()).expect("a new database");
    db.execute_script(
        "CREATE TABLE account (id int PRIMARY KEY, owner text UNIQUE, amount numeric(12,2), at timestamptz DEFAULT now());
         CREATE TABLE journal (n bigserial PRIMARY KEY, account int REFERENCES account, what text, raw bytea);
         CREATE INDEX journal_by_account ON journal (account, what);
         CREATE TABLE loose (x float8, flag bool, day date);
         CREATE VIEW rich AS SELECT * FROM account WHERE amount > 10;
         CREATE PROCEDURE pay(p_from int, p_to int, p_amount numeric) LANGUAGE plpgsql AS $$
         BEGIN
             UPDATE account SET amount = amount - p_amount WHERE id = p_from;
             UPDATE account SET amount = amount + p_amount WHERE id = p_to;
             INSERT INTO journal (account, what) VALUES (p_from, 'paid ' || p_to);
         END $$;
         INSERT INTO account SELECT i, 'owner ' || i, i * 10 FROM generate_series(1, 12) i;
         INSERT INTO loose VALUES (1.5, true, '2024-02-29'), (NULL, NULL, NULL);",
    )
    .expect("a schema");
    db.execute("CALL pay(1, 2, 3.5)", ()).expect("a call");
    db.checkpoint().expect("a checkpoint");
    for i in 1..5 {
        db.execute(&format!("CALL pay({i}, {}, {i}.25)", i + 1), ()).expect("a call");
    }
    db.execute_script(
        "DELETE FROM account WHERE id = 12; UPDATE account SET owner = repeat('long ', 30) WHERE id = 11;
         ALTER TABLE loose ADD COLUMN more int DEFAULT 4; INSERT INTO loose VALUES (2, false, '1999-12-31', 5);
         TRUNCATE journal; CREATE ROLE clerk LOGIN; GRANT SELECT ON account TO clerk; SELECT nextval('journal_n_seq');",
    )
    .expect("changes");
    drop(db);
    disk.crash(Survival::Everything);
    let names = disk.device().list().expect("a list");
    let mut files: Vec<File> =
        names.into_iter().filter_map(|name| disk.content(&name).map(|content| (name, content))).collect();
    files.retain(|(name, content)| name != "lock" && !name.starts_with("spare") && !content.is_empty());
    files.sort();
    for (_, content) in &mut files {
        let end = content.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1).next_multiple_of(8);
        if content.starts_with(b"PLANLOG\0") {
            content.truncate(end);
        }
    }
    files
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Lets a piece (a frame, a block, a section) have its checksum: see `docs/formats`. Returns where it ends.
fn seal_piece(file: &mut [u8], at: usize, head: usize, length_at: usize, seed: u32) -> Option<usize> {
    let length = usize::try_from(u64_at(file, at + length_at)).ok()?;
    let end = at.checked_add(head)?.checked_add(length)?.checked_next_multiple_of(8)?;
    if end > file.len() {
        return None;
    }
    let crc = crc32c::crc32c_append(seed, &(at as u64).to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &file[at..at + 4]);
    let crc = crc32c::crc32c_append(crc, &file[at + 8..end]);
    file[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
    Some(end)
}

/// Makes the checksums of a file fit its content, as far as its lengths let it be walked.
pub fn seal(file: &mut [u8]) {
    let Some(magic) = file.first_chunk::<8>().copied() else { return };
    let (header, head, length_at) = match &magic {
        b"PLANMAN\0" => (file.len(), 0, 0),
        b"PLANLOG\0" => (4096, 56, 8),
        b"PLANCKP\0" => (64, 32, 16),
        b"PLANROW\0" => (64, 40, 24),
        _ => return,
    };
    if file.len() < header || header < 12 {
        return;
    }
    let seed = crc32c::crc32c_append(crc32c::crc32c(&file[..8]), &file[12..header]);
    file[8..12].copy_from_slice(&seed.to_le_bytes());
    let mut at = header;
    while head > 0 && at + head <= file.len() {
        match seal_piece(file, at, head, length_at, seed) {
            Some(end) => at = end,
            None => break,
        }
    }
}

/// The sections of a checkpoint's manifest as they were before they were packed, so that changes reach what they say.
pub fn unpacked(file: &[u8]) -> Vec<u8> {
    if !file.starts_with(b"PLANCKP\0") {
        return file.to_vec();
    }
    let mut plain = file[..64].to_vec();
    let mut at = 64;
    while at + 32 <= file.len() {
        let (codec, stored, raw) =
            (u32_at(file, at + 8), u64_at(file, at + 16) as usize, u64_at(file, at + 24) as usize);
        let content = &file[at + 32..at + 32 + stored];
        let content = match codec {
            0 => content.to_vec(),
            _ => lz4_flex::block::decompress(content, raw).expect("a section"),
        };
        plain.extend_from_slice(&file[at..at + 8]);
        plain.extend_from_slice(&[0; 8]);
        plain.extend_from_slice(&(raw as u64).to_le_bytes());
        plain.extend_from_slice(&(raw as u64).to_le_bytes());
        plain.extend_from_slice(&content);
        plain.resize(plain.len().next_multiple_of(8), 0);
        at += (32 + stored).next_multiple_of(8);
    }
    let length = plain.len() as u64;
    plain[48..56].copy_from_slice(&length.to_le_bytes());
    seal(&mut plain);
    plain
}

/// Templates of each kind of log, [`unpacked`].
pub fn templates() -> Vec<Vec<File>> {
    let of = |kind| template(kind).into_iter().map(|(name, file)| (name, unpacked(&file))).collect();
    [LogKind::Command, LogKind::Logical, LogKind::Physical].map(of).into()
}

/// Numbers at which something ends.
const BORDERS: [u64; 8] = [0, 1, 2, 1 << 31, 1 << 32, 1 << 63, 0xffff_ffff, u64::MAX];

/// One of the `templates`, with a file changed as `data` says, and the scheme to recover it by: what libFuzzer makes is
/// taken so. The first two bytes say the template and the scheme, and the file; each four after them a change: of
/// what kind, where, and by how much.
pub fn forged(templates: &[Vec<File>], data: &[u8]) -> Option<(Vec<File>, Scheme)> {
    let [kind, which, changes @ ..] = data else { return None };
    let schemes = [Scheme::Clr, Scheme::Regrow, Scheme::Llr, Scheme::Aries];
    let mut files = templates[usize::from(*kind) % templates.len()].clone();
    let at = usize::from(*which) % files.len();
    let file = &mut files[at].1;
    for change in changes.chunks_exact(4).take(16) {
        // The header of a log file is a page, most of it empty.
        let empty = if file.starts_with(b"PLANLOG\0") { 256..4096.min(file.len()) } else { 0..0 };
        let places = file.len().saturating_sub(16 + empty.len());
        if places == 0 {
            break;
        }
        let mut place = 16 + usize::from(u16::from_le_bytes([change[1], change[2]])) % places;
        if place >= 256 {
            place += empty.len();
        }
        let amount = usize::from(change[3]);
        let end = (place + 1 + amount % 64).min(file.len());
        match change[0] % 7 {
            0 => file[place] = change[3],
            1 => file[place] ^= 1 << (amount % 8),
            2 => file[place] = file[place].wrapping_add(change[3]),
            3 if place + 8 <= file.len() => {
                file[place..place + 8].copy_from_slice(&BORDERS[amount % BORDERS.len()].to_le_bytes());
            }
            4 => drop(file.drain(place..end)),
            5 => {
                let piece = file[place..end].to_vec();
                file.splice(place..place, piece);
            }
            _ => {
                // Something that stands elsewhere in the file.
                let from = 16 + (amount * 64) % places;
                let piece = file[from..(from + 8).min(file.len())].to_vec();
                let end = (place + piece.len()).min(file.len());
                file.splice(place..end, piece);
            }
        }
    }
    fit(file);
    Some((files, schemes[usize::from(kind >> 6) % schemes.len()]))
}

/// Lets the length that a manifest of a checkpoint states, and all checksums, be those of the file.
fn fit(file: &mut [u8]) {
    if file.starts_with(b"PLANCKP\0") && file.len() >= 64 {
        let length = file.len() as u64;
        file[48..56].copy_from_slice(&length.to_le_bytes());
    }
    seal(file);
}

/// Changes numbers and bytes of a file, behind what says what it is.
pub fn change(dice: &mut Dice, file: &mut Vec<u8>, other: &[u8]) {
    let kept = 16.min(file.len());
    match below(dice, 4) {
        // Lengths stay as they are: what is read is what was meant to be read.
        0..=2 if file.len() > kept => {
            for _ in 0..1 + below(dice, 4) {
                let at = kept + below(dice, file.len() - kept);
                match below(dice, 3) {
                    0 => file[at] ^= 1 << below(dice, 8),
                    1 => file[at] = dice.of(&[0, 1, 2, 3, 7, 0x7f, 0x80, 0xff]),
                    _ if at + 8 <= file.len() => {
                        let number = dice.of(&[0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, 0xffff_ffff]);
                        file[at..at + 8].copy_from_slice(&number.to_le_bytes());
                    }
                    _ => {}
                }
            }
        }
        _ => {
            let mut rest = file.split_off(kept);
            changed(dice, &mut rest, other);
            file.extend_from_slice(&rest);
        }
    }
    if file.starts_with(b"PLANCKP\0") && below(dice, 8) == 0 {
        seal(file);
    } else {
        fit(file);
    }
}

/// Opens a directory of such files by a scheme, and looks at it as the log viewer does.
pub fn open(files: &[File], scheme: Scheme) {
    let disk = SimDisk::new(2);
    for (name, content) in files {
        disk.put(name, content);
    }
    let fine = |what: &str, outcome: planaria::Result<()>| {
        if let Err(error) = outcome {
            assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR, "{what}: {error}: {:?}", error.fields());
        }
    };
    fine(
        "viewing",
        planaria::lab::open_log(disk.device()).and_then(|view| {
            view.read(&planaria::log::Filter::default(), 1000, &mut |entry| drop(entry))?;
            Ok(())
        }),
    );
    let opened = Options::new().recovery(scheme).recovery_threads(2).open_device(disk.device());
    fine("opening", opened.and_then(used));
}

/// A database that opened can be used.
fn used(db: Database) -> planaria::Result<()> {
    db.check().expect("what was opened holds together");
    for (table, _) in db.digests()? {
        let quoted: Vec<String> =
            table.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect();
        db.query(&format!("SELECT * FROM {}", quoted.join(".")), ())?;
    }
    db.checkpoint()?;
    db.close()
}
