use super::super::too_large;
use super::*;
use planaria_base::datetime::Interval;
use planaria_base::{Datum, Numeric};
use planaria_ir::CollKind;

fn list(n: usize) -> Collection {
    let mut list = Collection::default();
    list.open(CollKind::List, 0, 2);
    for i in 0..n as i64 {
        let key = (i * 7919) % 1000;
        list.push([Slot::Int(key), Slot::Int(i)].into_iter()).unwrap();
    }
    list
}

#[test]
fn long_lists_are_sorted_stably_run_by_run() {
    let heap = Heap::new();
    let key = |descending| [SortKey { column: 0, descending, nulls_first: false }];
    for n in [0, 1, 2, RUN_ROWS - 1, RUN_ROWS + 1, 3 * RUN_ROWS, 5 * RUN_ROWS + 17] {
        let mut list = list(n);
        for descending in [false, true, true] {
            let mut asked = 0;
            let mut goes_on = || {
                asked += 1;
                Ok(())
            };
            list.sort(&key(descending), &heap, &mut goes_on).unwrap();
            assert!(asked >= n / RUN_ROWS, "{asked}");
            let place = |at: usize| (list.row(at)[0].int(), list.row(at)[1].int());
            for at in 1..n {
                let (before, this) = (place(at - 1), place(at));
                let in_order = if descending { before.0 > this.0 } else { before.0 < this.0 };
                assert!(in_order || before.0 == this.0 && before.1 < this.1, "{before:?} {this:?}");
            }
        }
    }
}

#[test]
fn a_sort_can_be_given_up() {
    let heap = Heap::new();
    let key = [SortKey { column: 0, descending: false, nulls_first: false }];
    for n in 0..12 {
        let mut list = list(3 * RUN_ROWS);
        let mut left = n;
        let outcome = list.sort(&key, &heap, &mut || {
            left -= 1;
            if left < 0 { Err(too_large()) } else { Ok(()) }
        });
        if outcome.is_err() {
            assert!((0..list.len()).all(|at| list.row(at)[1].int() == at as i64), "as it was");
        }
        assert_eq!(list.len(), 3 * RUN_ROWS);
    }
}

/// Values of a class, many of them near each other, at the ends, alike or NULL.
fn some_value(class: usize, heap: &mut Heap, random: &mut impl FnMut(usize) -> usize) -> Slot {
    let numeric = |mantissa, scale| Slot::numeric(Numeric::from_parts(mantissa, scale).unwrap());
    if random(6) == 0 {
        return Slot::Null;
    }
    match class {
        0 => Slot::Int([i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX][random(7)]),
        1 => Slot::Int(random(40) as i64 - 20),
        2 => Slot::Float(
            [f64::NEG_INFINITY, f64::MIN, -1.5, -0.0, 0.0, 1e-300, 1.5, f64::INFINITY, f64::NAN, -f64::NAN]
                [random(10)],
        ),
        3 => {
            let mantissa = [0, 1, -1, 15, 150, 1500, -15, 10i128.pow(34), -(10i128.pow(34)), 7][random(10)];
            numeric(mantissa, [0, 1, 2, 3, 6, 7, 20][random(7)])
        }
        4 => {
            let text =
                ["", "a", "abcdefg", "abcdefgh", "abcdefgi", "abcdef", "é", "abcdefghijk", "b"][random(9)];
            heap.text(text).unwrap()
        }
        5 => {
            let bytes: &[u8] =
                [&b""[..], b"\0", b"\0\0", b"a", b"a\0", b"a\0\0\0\0\0\0", b"\xff\xff\xff"][random(7)];
            heap.push_datum(&Datum::Bytea(bytes.into())).unwrap()
        }
        6 => Slot::Bool(random(2) == 0),
        7 => Slot::Uuid([random(2) as u8; 16].map(|b| b + random(2) as u8)),
        8 => {
            let months = [0, 1, i32::MAX, i32::MIN][random(4)];
            Slot::Interval(Interval { months, days: random(3) as i32 * 15, micros: random(2) as i64 })
        }
        _ => {
            let elements = [Slot::Int(random(3) as i64), Slot::Int(random(2) as i64)];
            heap.array(&elements[..random(3)]).unwrap()
        }
    }
}

#[test]
fn ranks_are_in_the_order_of_the_values() {
    let mut random = counted(7);
    for round in 0..400 {
        let mut heap = Heap::new();
        let keys: Vec<SortKey> = (0..1 + random(3))
            .map(|column| SortKey {
                column: column as u32,
                descending: random(2) == 0,
                nulls_first: random(2) == 0,
            })
            .collect();
        let classes: Vec<usize> = keys.iter().map(|_| random(10)).collect();
        let rows: Vec<Vec<Slot>> = (0..200)
            .map(|n| {
                let mut row: Vec<Slot> =
                    classes.iter().map(|class| some_value(*class, &mut heap, &mut random)).collect();
                row.push(Slot::Int(n));
                row
            })
            .collect();
        let mut wanted: Vec<&Vec<Slot>> = rows.iter().collect();
        wanted.sort_by(|a, b| compare_rows(a, b, &keys, &heap));
        let number = |row: &[Slot]| row[keys.len()].int();
        let wanted: Vec<i64> = wanted.into_iter().map(|row| number(row)).collect();

        let mut list = Collection::default();
        list.open(CollKind::List, 0, keys.len() + 1);
        rows.iter().for_each(|row| list.push(row.iter().copied()).unwrap());
        list.sort(&keys, &heap, &mut || Ok(())).unwrap();
        let got: Vec<i64> = (0..list.len()).map(|at| number(list.row(at))).collect();
        assert_eq!(got, wanted, "round {round}: {classes:?} {keys:?}");

        // And the first ones, where the others are forgotten as they come: ten times as many.
        for (first, ties) in [(1, false), (7, false), (20, true), (1, true), (300, false)] {
            let many = || rows.iter().chain(&rows).chain(&rows).chain(&rows).chain(&rows);
            let mut wanted: Vec<&Vec<Slot>> = many().collect();
            wanted.sort_by(|a, b| compare_rows(a, b, &keys, &heap));
            let last = wanted[first - 1];
            let tie = |row: &&Vec<Slot>| ties && compare_rows(row, last, &keys, &heap).is_eq();
            let len = first + wanted[first..].iter().take_while(|row| tie(row)).count();
            let wanted: Vec<i64> = wanted[..len].iter().map(|row| number(row)).collect();

            list.open(CollKind::List, 0, keys.len() + 1);
            let mut longest = 0;
            for row in many() {
                list.push(row.iter().copied()).unwrap();
                if list.drop_behind(&keys, first, ties, &heap) {
                    list.sort(&keys, &heap, &mut || Ok(())).unwrap();
                    list.cut(&keys, first, ties, &heap);
                }
                longest = longest.max(list.len());
            }
            assert!(ties || longest <= 2 * first + CUT_ROWS, "{longest} rows for {first}");
            list.sort(&keys, &heap, &mut || Ok(())).unwrap();
            let got: Vec<i64> = (0..len).map(|at| number(list.row(at))).collect();
            assert_eq!(got, wanted, "round {round}: first {first} {ties} {classes:?} {keys:?}");
        }
    }
}

/// Numbers that look random, below what is asked for.
fn counted(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}
