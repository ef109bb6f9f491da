use super::*;

fn row(version: Version) -> RowState {
    RowState { version, group: 0, tag: None }
}

fn initial() -> Model {
    let mut model = Model::default();
    model.put(0, 1, row(Version::new(0, 1)));
    model.put(0, 2, row(Version::new(0, 2)));
    model
}

fn get(key: i64, version: Version) -> Op {
    Op::Get { table: 0, by: By::Key, value: key, found: Some((key, version)) }
}

fn put(key: i64, version: Version) -> Op {
    Op::Put { table: 0, key, row: row(version) }
}

fn scan(rows: &[(i64, Version)]) -> Op {
    Op::Scan { table: 0, by: By::Key, low: 0, high: 9, descending: false, rows: rows.to_vec() }
}

fn history(transactions: &[(u32, u64, &[Op])]) -> History {
    let drew = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Put { .. } | Op::Remove { .. }));
    History::new(
        transactions
            .iter()
            .map(|(id, ts, ops)| Transaction {
                id: *id,
                ts: CommitTs(*ts),
                drew: drew(ops),
                ops: ops.to_vec(),
            })
            .collect(),
    )
}

const A: Version = Version(1);
const B: Version = Version(2);

#[test]
fn a_serial_history_passes() {
    let v = Version::new(1, 1);
    let h = history(&[
        (1, 10, &[get(1, A), put(1, v), get(1, v)]),
        (2, 11, &[scan(&[(1, v), (2, B)])]),
        (3, 11, &[get(1, v), Op::Remove { table: 0, key: 1 }, scan(&[(2, B)])]),
    ]);
    assert_eq!(h.check(initial()).unwrap().rows().len(), 1);
}

#[test]
fn a_lost_update_is_a_cycle() {
    let h = history(&[
        (1, 10, &[get(1, A), put(1, Version::new(1, 1))]),
        (2, 11, &[get(1, A), put(1, Version::new(2, 1))]),
    ]);
    let text = h.check_graph(&initial()).unwrap_err().0;
    assert!(text.contains("T2 -rw-> T1") || text.contains("T1 -ww-> T2"), "{text}");
    assert!(h.check_order(initial()).is_err());
}

#[test]
fn write_skew_is_a_cycle() {
    let h = history(&[
        (1, 10, &[get(1, A), get(2, B), put(1, Version::new(1, 1))]),
        (2, 11, &[get(1, A), get(2, B), put(2, Version::new(2, 1))]),
    ]);
    assert!(h.check_graph(&initial()).unwrap_err().0.contains("rw"));
}

#[test]
fn a_phantom_is_a_cycle() {
    let h = history(&[
        (1, 10, &[scan(&[(1, A), (2, B)]), put(5, Version::new(1, 1))]),
        (2, 11, &[scan(&[(1, A), (2, B)]), put(6, Version::new(2, 1))]),
    ]);
    assert!(h.check_graph(&initial()).is_err());
    assert!(h.check_order(initial()).is_err());
}

#[test]
fn reads_of_what_was_never_committed_are_found() {
    let h = history(&[(1, 10, &[get(1, Version::new(7, 1))])]);
    assert!(h.check_graph(&initial()).unwrap_err().0.contains("dirty"));
}

#[test]
fn serializable_in_another_order_passes_the_graph_and_fails_the_order() {
    let h =
        history(&[(1, 10, &[put(1, Version::new(1, 1))]), (2, 11, &[get(1, A), put(2, Version::new(2, 1))])]);
    h.check_graph(&initial()).unwrap();
    assert!(h.check_order(initial()).is_err());
}

#[test]
fn what_was_undone_does_not_count() {
    let v = Version::new(1, 1);
    let none = Op::Get { table: 0, by: By::Key, value: 1, found: None };
    let remove = Op::Remove { table: 0, key: 1 };
    let ops = [put(1, v), remove, none, Op::Undone { to: 0 }, get(1, A)];
    let h = history(&[(1, 10, &ops), (2, 11, &[get(1, A)])]);
    assert_eq!(h.check(initial()).unwrap(), initial());
}
