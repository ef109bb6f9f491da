use super::*;
use crate::paper::LocalGraph;
use planaria_ir::text;

/// Every table has one column as its key, of type text.
struct Keys;

impl KeyColumns for Keys {
    fn leading(&self, _: TableId) -> (ColumnId, Type) {
        (ColumnId(0), Type::Text)
    }
    fn index(&self, _: TableId, _: IndexId) -> Vec<ColumnId> {
        vec![ColumnId(0)]
    }
    fn changes(&self, _: TableId) -> bool {
        true
    }
}

fn cut_text(source: &str) -> (LocalGraph, SlicedProcedure) {
    let mut program = text::parse(source).unwrap();
    program.renumber();
    let graph = LocalGraph::of(&program, &|_| None);
    let cut = cut(&program, &graph, &Keys).unwrap_or_else(|e| panic!("{e}"));
    (graph, cut)
}

/// The operations of a slice program, a word each.
fn shape(slice: &SliceProgram) -> String {
    let body = slice.program.to_string();
    let body = body.split("begin\n").nth(1).unwrap_or_default().trim_end_matches("end\n");
    body.lines().map(|l| l.split(" -> ").next().unwrap_or(l).trim()).collect::<Vec<_>>().join("; ")
}

const TRANSFER: &str = include_str!("../../../tests/paper/transfer.ir");

/// Figure 3: T1 reads the spouse; T2 and T3 get her name, and know their keys before they run.
#[test]
fn transfer_in_three() {
    let (graph, cut) = cut_text(TRANSFER);
    assert_eq!(graph.slices.len(), 3);
    assert!(cut.prologue.is_none());
    let [t1, t2, t3] = &cut.slices[..] else { panic!("three slices") };
    assert_eq!(t1.inputs, [Input::Arg(0)]);
    assert_eq!(t1.outputs.len(), 2, "who, and whether there is one");
    let given: BTreeSet<usize> = t1.outputs.iter().copied().collect();
    let taken = |s: &SliceProgram| -> BTreeSet<usize> {
        s.inputs.iter().filter_map(|i| if let Input::Value(v) = i { Some(*v) } else { None }).collect()
    };
    assert_eq!(taken(t2), given);
    assert!(taken(t3).is_subset(&given) && taken(t3).len() == 1);
    assert!(!shape(t3).contains("t1") && shape(t3).contains("get t2.i0 (src)"), "{}", shape(t3));
    let keys = cut.keys[1].as_ref().expect("known");
    assert!(taken(keys).is_subset(&given) && shape(keys).matches("piece").count() == 2, "{}", shape(keys));
}

/// What one slice reads in a loop passes to another in an array, turn by turn; the loop stands in both.
#[test]
fn values_in_loops_pass_in_arrays() {
    let (graph, cut) = cut_text(
        "procedure lines
  reg names: text[]
  reg count: int8
  reg i: int8
  reg one: int8
  reg more: bool
  reg name: text
  reg row: row t0
  reg price: numeric
  param in names: text[] = names
  param in count: int8 = count
  labels 1
begin
  i = const 0
  one = const 1
  loop l0 {
    more = int.lt(i, count)
    if more {
    } else {
      exit l0
    }
    i = int8.add(i, one)
    name = array.get(names, i)
    get t0.i0 (name) -> row, c1 = price
    insert t1 (name, price)
  }
end
",
    );
    assert_eq!(graph.slices.len(), 2);
    let (reads, inserts) = (&cut.slices[0], &cut.slices[1]);
    assert_eq!(reads.outputs, [0]);
    assert!(shape(reads).contains("array.append") && !shape(reads).contains("insert"), "{}", shape(reads));
    assert!(inserts.inputs.contains(&Input::Value(0)));
    assert!(
        shape(inserts).contains("array.get(in") && !shape(inserts).contains("get t0"),
        "{}",
        shape(inserts)
    );
    // The keys of the inserts follow from the arguments, in the same loop.
    assert!(shape(cut.keys[1].as_ref().expect("known")).contains("loop"));
}

/// An array that passes once passes as it is.
#[test]
fn arrays_pass_whole() {
    let (graph, cut) = cut_text(
        "procedure tags
  reg who: text
  reg row: row t0
  reg tags: text[]
  param in who: text = who
begin
  get t0.i0 (who) -> row, c1 = tags
  insert t1 (who, tags)
end
",
    );
    assert_eq!(graph.slices.len(), 2);
    assert_eq!(cut.slices[0].outputs, [0]);
    assert!(!shape(&cut.slices[0]).contains("array.append"), "{}", shape(&cut.slices[0]));
}

/// A scan of another slice is as many turns; a row of another slice is there or not.
#[test]
fn scans_and_rows_of_other_slices() {
    let (graph, cut) = cut_text(
        "procedure copies
  reg who: text
  reg head: row t0
  reg there: bool
  reg row: row t1
  reg item: text
  param in who: text = who
  labels 1
begin
  get t0.i0 (who) -> head
  there = is.notnull(head)
  if there {
    scan t1.i0 (who) -> row, c1 = item as l0 {
      insert t2 (item)
    }
  }
end
",
    );
    assert_eq!(graph.slices.len(), 3);
    let last = &cut.slices[2];
    assert!(shape(last).contains("loop l0") && !shape(last).contains("scan"), "{}", shape(last));
    assert!(shape(&cut.slices[1]).contains("scan t1"));
    // They come from a slice, turn by turn, before the inserts run.
    assert!(cut.keys[2].is_some());
}

/// Inputs are drawn by a prologue; where a read decides about them, by a slice that knows it.
#[test]
fn draws_stand_where_they_can() {
    let always = "procedure note
  reg who: text
  reg row: row t0
  reg at: timestamp
  param in who: text = who
begin
  get t0.i0 (who) -> row
  at = draw now
  insert t1 (who, at)
end
";
    let prologue = cut_text(always).1.prologue.expect("it draws");
    assert_eq!(prologue.outputs, [0]);
    let sometimes = "procedure note
  reg who: text
  reg row: row t0
  reg there: bool
  reg at: timestamp
  param in who: text = who
begin
  get t0.i0 (who) -> row
  there = is.notnull(row)
  if there {
    at = draw now
    insert t1 (who, at)
  }
end
";
    let cut = cut_text(sometimes).1;
    assert!(cut.prologue.is_none());
    assert!(shape(&cut.slices[0]).contains("draw now"), "{}", shape(&cut.slices[0]));
    assert!(!shape(&cut.slices[1]).contains("draw now"));
}
