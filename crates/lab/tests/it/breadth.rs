//! Many tables beside few: both are recovered.

use planaria::Scheme;
use planaria_lab::breadth::{Breadth, Width};
use planaria_lab::recovery::Watch;

struct Unseen;

impl Watch for Unseen {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

#[test]
fn many_tables_are_compared_with_few() {
    let dir = tempfile::tempdir().expect("a directory");
    let experiment = Breadth {
        few: Width { tables: 3, procedures: 2 },
        many: Width { tables: 20, procedures: 25 },
        accounts: 500,
        transactions: 2_000,
        workers: 2,
        schemes: vec![Scheme::Clr, Scheme::Regrow],
        threads: vec![1, 2],
        repeat: 1,
        seed: 3,
    };
    let outcome = experiment.run(dir.path(), &Unseen).expect("runs");
    assert_eq!(outcome.compared.len(), 3, "clr replays on one thread");
    for compared in &outcome.compared {
        assert!(compared.few.digest_ok && compared.many.digest_ok, "{}", compared.few.scheme);
        assert!(compared.cost > 0.0);
        if compared.many.scheme == "regrow" {
            assert_eq!(compared.many.barriers, 0, "nobody is replayed alone");
        }
    }
    assert_eq!(dir.path().read_dir().expect("reads").count(), 0, "it leaves nothing");
}
