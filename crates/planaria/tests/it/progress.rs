//! What a recovery tells while it is under way.

use planaria::{LogKind, Options, RecoveryProgress, RecoveryStage, Scheme};
use std::sync::{Arc, Mutex};

#[test]
fn progress_counts_up_to_what_there_is() {
    for (kind, scheme) in [
        (LogKind::Command, Scheme::Clr),
        (LogKind::Command, Scheme::Regrow),
        (LogKind::Physical, Scheme::Plr),
        (LogKind::Logical, Scheme::Llr),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let db = Options::new().log(kind).open(dir.path()).unwrap();
        db.execute("CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE)", ()).unwrap();
        for id in 0..100 {
            db.execute("INSERT INTO t VALUES ($1, $1 + 1)", (id,)).unwrap();
        }
        db.close().unwrap();
        let told: Arc<Mutex<Vec<RecoveryProgress>>> = Arc::default();
        let tell = told.clone();
        let options = Options::new().log(kind).recovery(scheme).recovery_threads(2);
        let db = options.on_recovery(move |p| tell.lock().unwrap().push(p)).open(dir.path()).unwrap();
        let told = told.lock().unwrap();
        let last = told.last().unwrap_or_else(|| panic!("{scheme} told nothing"));
        assert_eq!(last.stage, RecoveryStage::Replay, "{scheme}");
        assert_eq!((last.records, last.transactions), (101, 101), "{scheme}");
        assert_eq!(last.bytes_done, last.bytes_total, "{scheme}");
        assert!(told.iter().all(|p| p.transactions <= p.planned && p.planned <= 101), "{scheme}");
        let indexed = told.iter().rfind(|p| p.stage == RecoveryStage::Index);
        let entries = indexed.map(|p| (p.index_entries, p.index_entries_total));
        // By location both indexes are built in the end, by key the secondary one.
        let expected = match scheme {
            Scheme::Plr => Some((200, 200)),
            Scheme::Llr => Some((100, 100)),
            _ => None,
        };
        assert_eq!(entries, expected, "{scheme}");
        assert_eq!(db.recovery().unwrap().transactions, 101);
    }
}
