//! Changes of the schema that compute what they compute from anything but the rows.

use super::routines::change;
use super::world::{Table, Ty, World, any};
use planaria_sim::dice::Dice;

/// One change, and what else belongs to it.
pub fn definition(world: &mut World, dice: &mut Dice) -> Vec<String> {
    let Some(at) = world.table(dice).filter(|_| !dice.chance(12)) else { return table(world, dice) };
    let name = world.tables[at].name.clone();
    let columns = world.typed(at);
    let column = any(dice, &columns).cloned();
    let one = match (dice.below(22), column) {
        (0..6, _) => add_column(world, dice, at),
        (6..8, Some((column, ty))) => {
            let to = dice.of(Ty::ALL);
            let value = match dice.chance(30) && to == Ty::Text {
                true => format!("{column}::text || {}", world.volatile(dice, Ty::Text)),
                false => world.volatile(dice, to),
            };
            set_type(world, at, &column, Some(to));
            let _ = ty;
            format!("ALTER TABLE {name} ALTER COLUMN {column} TYPE {} USING {value}", to.name())
        }
        (8..11, Some((column, ty))) => {
            let constraint = world.name("k");
            world.tables[at].constraints.push(constraint.clone());
            let condition = world.condition(dice, &column, Some(ty));
            format!("ALTER TABLE {name} ADD CONSTRAINT {constraint} CHECK ({condition})")
        }
        (11, Some((column, _))) => format!("ALTER TABLE {name} ALTER COLUMN {column} SET NOT NULL"),
        (12, Some((column, _))) => {
            let constraint = world.name("k");
            world.tables[at].constraints.push(constraint.clone());
            format!("ALTER TABLE {name} ADD CONSTRAINT {constraint} UNIQUE ({column})")
        }
        (13, Some((column, _))) => {
            let index = world.name("i");
            world.indexes.push(index.clone());
            let unique = if dice.chance(40) { "UNIQUE " } else { "" };
            format!("CREATE {unique}INDEX {index} ON {name} ({column})")
        }
        (14, Some((column, ty))) => {
            let value = world.volatile(dice, ty);
            match dice.chance(75) {
                true => format!("ALTER TABLE {name} ALTER COLUMN {column} SET DEFAULT {value}"),
                false => format!("ALTER TABLE {name} ALTER COLUMN {column} DROP DEFAULT"),
            }
        }
        (15, Some((column, _))) => {
            let constraint = world.name("k");
            world.tables[at].constraints.push(constraint.clone());
            let other = any(dice, &world.tables).map_or(name.clone(), |t| t.name.clone());
            match dice.chance(50) {
                true => format!(
                    "ALTER TABLE {name} ADD CONSTRAINT {constraint} FOREIGN KEY (id) REFERENCES {other}{}",
                    dice.of(&["", " ON DELETE CASCADE", " ON UPDATE CASCADE ON DELETE SET DEFAULT"])
                ),
                false => format!(
                    "ALTER TABLE {name} ADD CONSTRAINT {constraint} FOREIGN KEY ({column}) REFERENCES {name} ({column}){}",
                    dice.of(&["", " ON DELETE SET NULL", " ON DELETE SET DEFAULT"])
                ),
            }
        }
        (16, Some((column, _))) => {
            world.tables[at].columns.retain(|(c, _)| *c != column);
            format!("ALTER TABLE {name} DROP COLUMN {column} CASCADE")
        }
        (17, Some((column, _))) => {
            let new = world.name("c");
            for (c, _) in world.tables[at].columns.iter_mut().filter(|(c, _)| *c == column) {
                c.clone_from(&new);
            }
            format!("ALTER TABLE {name} RENAME COLUMN {column} TO {new}")
        }
        (18, _) => {
            let new = world.name("t");
            world.tables[at].name.clone_from(&new);
            format!("ALTER TABLE {name} RENAME TO {new}")
        }
        (19, _) => match any(dice, &world.tables[at].constraints).cloned() {
            Some(constraint) => {
                world.tables[at].constraints.retain(|c| *c != constraint);
                format!("ALTER TABLE {name} DROP CONSTRAINT {constraint} CASCADE")
            }
            None => format!("TRUNCATE {name} RESTART IDENTITY CASCADE"),
        },
        (20, _) if dice.chance(30) => {
            world.tables.remove(at);
            format!("DROP TABLE {name} CASCADE")
        }
        (21, _) => return table_as(world, dice, &name),
        _ => add_column(world, dice, at),
    };
    vec![one]
}

fn set_type(world: &mut World, at: usize, column: &str, ty: Option<Ty>) {
    for (_, t) in world.tables[at].columns.iter_mut().filter(|(c, _)| c == column) {
        *t = ty;
    }
}

fn add_column(world: &mut World, dice: &mut Dice, at: usize) -> String {
    let table = world.tables[at].name.clone();
    let column = world.name("c");
    let ty = dice.of(Ty::ALL);
    let value = world.volatile(dice, ty);
    let (shown, known) = match dice.below(12) {
        0 => ("serial".to_owned(), Ty::Int),
        1 => (identity(dice), Ty::Int),
        n => {
            let more = match n {
                2 | 3 => " NOT NULL".to_owned(),
                4 => " UNIQUE".to_owned(),
                5 | 6 => format!(" CHECK ({})", world.condition(dice, &column, Some(ty))),
                _ => String::new(),
            };
            (format!("{} DEFAULT {value}{more}", ty.name()), ty)
        }
    };
    world.tables[at].columns.push((column.clone(), Some(known)));
    format!("ALTER TABLE {table} ADD COLUMN {column} {shown}")
}

/// A column that a sequence of its own fills.
fn identity(dice: &mut Dice) -> String {
    let when = dice.of(&["ALWAYS", "BY DEFAULT"]);
    let how = dice.of(&["", "", " (START 10 INCREMENT -5 MINVALUE -100 MAXVALUE 10)", " (MAXVALUE 3 CYCLE)"]);
    format!("bigint GENERATED {when} AS IDENTITY{how}")
}

/// A new table with some rows.
pub fn table(world: &mut World, dice: &mut Dice) -> Vec<String> {
    let name = world.name("t");
    let mut table = Table { name: name.clone(), ..Table::default() };
    let mut columns = String::new();
    for _ in 0..1 + dice.below(3) {
        let (column, ty) = (world.name("c"), dice.of(Ty::ALL));
        columns += &format!(", {column} {}", ty.name());
        match dice.below(4) {
            0 | 1 => columns += &format!(" DEFAULT {}", world.volatile(dice, ty)),
            2 => columns += &format!(" CHECK ({})", world.condition(dice, &column, Some(ty))),
            _ => {}
        }
        table.columns.push((column, Some(ty)));
    }
    if dice.chance(15) {
        let column = world.name("c");
        columns += &format!(", {column} {}", identity(dice));
        table.columns.push((column, None));
    }
    world.tables.push(table);
    let key = if dice.chance(85) { "PRIMARY KEY" } else { "" };
    vec![
        format!("CREATE TABLE {name} (id int {key}{columns})"),
        format!("GRANT ALL ON {name} TO PUBLIC"),
        format!("INSERT INTO {name} (id) SELECT i FROM generate_series(1, {}) AS g(i)", 1 + dice.below(4)),
    ]
}

fn table_as(world: &mut World, dice: &mut Dice, of: &str) -> Vec<String> {
    let (name, column, ty) = (world.name("t"), world.name("c"), dice.of(Ty::ALL));
    let value = world.volatile(dice, ty);
    world.tables.push(Table {
        name: name.clone(),
        columns: vec![(column.clone(), Some(ty))],
        constraints: Vec::new(),
    });
    vec![
        format!("CREATE TABLE {name} AS SELECT id, {value} AS {column} FROM {of}"),
        format!("GRANT ALL ON {name} TO PUBLIC"),
    ]
}

/// A change of a sequence's definition, or a new one.
pub fn sequence(world: &mut World, dice: &mut Dice) -> Vec<String> {
    let name = world.sequence(dice);
    vec![match dice.below(8) {
        0 | 1 => {
            let name = world.name("s");
            world.sequences.push(name.clone());
            let how = dice.of(&[
                "",
                "INCREMENT 3",
                "INCREMENT -2",
                "MINVALUE 2 MAXVALUE 7 CYCLE",
                "INCREMENT -3 MINVALUE -6 MAXVALUE 5 START 4 CYCLE",
                "START 4 MAXVALUE 6 CYCLE",
            ]);
            return vec![
                format!("CREATE SEQUENCE {name} {how}"),
                format!("GRANT ALL ON SEQUENCE {name} TO PUBLIC"),
            ];
        }
        2 => format!("ALTER SEQUENCE {name} RESTART"),
        3 => format!("ALTER SEQUENCE {name} RESTART WITH {}", 2 + dice.below(4)),
        4 => format!("ALTER SEQUENCE {name} INCREMENT {}", 1 + dice.below(3)),
        5 => format!("ALTER SEQUENCE {name} {}", dice.of(&["CYCLE", "NO CYCLE"])),
        6 => format!("ALTER SEQUENCE {name} MAXVALUE {}", 5000 + dice.below(100)),
        _ => format!("SELECT setval('{name}', {}, {})", 2 + dice.below(4), dice.chance(50)),
    }]
}

/// A transaction block of schema changes and others, with savepoints, committed or not.
pub fn block(world: &mut World, dice: &mut Dice) -> Vec<String> {
    let before = world.clone();
    let mut texts = vec!["BEGIN".to_owned()];
    for n in 0..1 + dice.below(4) {
        let saved = dice.chance(25).then(|| world.clone());
        if saved.is_some() {
            texts.push(format!("SAVEPOINT a{n}"));
        }
        texts.extend(match dice.below(10) {
            0..5 => definition(world, dice),
            5 => sequence(world, dice),
            6 => vec![format!("SELECT nextval('{}')", world.sequence(dice))],
            7 if dice.chance(40) => vec!["SET LOCAL statement_timeout = '5ms'".to_owned()],
            7 => vec![format!("SET LOCAL ROLE {}", dice.of(&["boss", "postgres", "app"]))],
            _ => vec![change(world, dice, "7")],
        });
        if let Some(saved) = saved.filter(|_| dice.chance(60)) {
            texts.push(format!("ROLLBACK TO a{n}"));
            let names = world.names;
            *world = World { names, ..saved };
        }
    }
    let commits = dice.chance(75);
    if !commits {
        let names = world.names;
        *world = World { names, ..before };
    }
    texts.push(if commits { "COMMIT" } else { "ROLLBACK" }.to_owned());
    texts
}
