//! What there is in a drawn database, as far as its script knows, and expressions over it.
//!
//! A statement may have been refused, so that something is not there: then what names it is refused, too.

use planaria_sim::dice::Dice;

/// A kind of value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    Int,
    Text,
    Time,
    Uuid,
    Float,
}

impl Ty {
    pub const ALL: &[Ty] = &[Ty::Int, Ty::Text, Ty::Text, Ty::Time, Ty::Uuid, Ty::Float];

    pub fn name(self) -> &'static str {
        match self {
            Ty::Int => "bigint",
            Ty::Text => "text",
            Ty::Time => "timestamptz",
            Ty::Uuid => "uuid",
            Ty::Float => "double precision",
        }
    }
}

/// A table: `id int PRIMARY KEY`, and these.
#[derive(Clone, Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<(String, Option<Ty>)>,
    pub constraints: Vec<String>,
}

/// A function of no arguments.
#[derive(Clone)]
pub struct Function {
    pub name: String,
    pub ty: Ty,
}

/// What there is.
#[derive(Clone, Default)]
pub struct World {
    pub tables: Vec<Table>,
    pub sequences: Vec<String>,
    pub functions: Vec<Function>,
    pub procedures: Vec<String>,
    pub views: Vec<String>,
    pub indexes: Vec<String>,
    /// Names are never used again.
    pub names: u64,
}

/// Any of these.
pub fn any<'a, T>(dice: &mut Dice, of: &'a [T]) -> Option<&'a T> {
    if of.is_empty() { None } else { of.get(dice.below(of.len() as u64) as usize) }
}

impl World {
    /// A new name.
    pub fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    pub fn sequence(&self, dice: &mut Dice) -> String {
        any(dice, &self.sequences).cloned().unwrap_or_else(|| "s1".to_owned())
    }

    /// The place of any table.
    pub fn table(&self, dice: &mut Dice) -> Option<usize> {
        if self.tables.is_empty() { None } else { Some(dice.below(self.tables.len() as u64) as usize) }
    }

    /// A value that differs by when, by whom and how often it is asked for.
    pub fn volatile(&self, dice: &mut Dice, ty: Ty) -> String {
        let of: Vec<_> = self.functions.iter().filter(|f| f.ty == ty).collect();
        if let Some(function) = any(dice, &of).filter(|_| dice.chance(45)) {
            return format!("{}()", function.name);
        }
        let s = self.sequence(dice);
        match ty {
            Ty::Int => match dice.below(7) {
                6 => format!("slow(nextval('{s}'))"),
                0 | 1 => format!("nextval('{s}')"),
                2 => "(random() * 1000)::bigint".to_owned(),
                3 => "pg_backend_pid()::bigint".to_owned(),
                4 => "(SELECT count(*) FROM pg_class WHERE relkind = 'r')".to_owned(),
                _ => "length(current_user::text)::bigint".to_owned(),
            },
            Ty::Text => match dice.below(12) {
                0 | 1 => "current_user::text".to_owned(),
                2 => "session_user::text".to_owned(),
                3 => "coalesce(current_setting('app.tag', true), '-')".to_owned(),
                4 => "random()::text".to_owned(),
                5 => "now()::text".to_owned(),
                6 => format!("'n' || nextval('{s}')"),
                7 => format!("coalesce((SELECT max(txt) FROM note WHERE who = current_user), '{s}')"),
                8 => match any(dice, &self.views) {
                    Some(view) => format!("(SELECT w || su FROM {view} LIMIT 1)"),
                    None => "pg_postmaster_start_time()::text".to_owned(),
                },
                _ => {
                    let other = dice.of(Ty::ALL);
                    let (a, b) = (self.volatile(dice, other), self.volatile(dice, Ty::Text));
                    if dice.chance(70) {
                        format!("({a})::text || '/' || {b}")
                    } else {
                        format!("CASE WHEN random() < 0.5 THEN ({a})::text ELSE {b} END")
                    }
                }
            },
            Ty::Time => dice
                .of(&["now()", "clock_timestamp()", "current_timestamp", "statement_timestamp()"])
                .to_owned(),
            Ty::Uuid => "gen_random_uuid()".to_owned(),
            Ty::Float => "random()".to_owned(),
        }
    }

    /// The same, or a constant.
    pub fn value(&self, dice: &mut Dice, ty: Ty) -> String {
        if dice.chance(75) {
            return self.volatile(dice, ty);
        }
        match ty {
            Ty::Int => format!("{}", dice.below(100)),
            Ty::Text => format!("'text {}'", dice.below(5)),
            Ty::Time => "'2020-01-01'::timestamptz".to_owned(),
            Ty::Uuid => "'00000000-0000-0000-0000-000000000001'::uuid".to_owned(),
            Ty::Float => "0.5".to_owned(),
        }
    }

    /// A condition on a column, true now of most values, and perhaps not later.
    pub fn condition(&self, dice: &mut Dice, column: &str, ty: Option<Ty>) -> String {
        let by_type = match ty {
            Some(Ty::Time) => format!("{column} <= now()"),
            Some(Ty::Float) => format!("{column} < 1 + random()"),
            Some(Ty::Int) => format!("{column} < 100000 + random() * 10"),
            _ => format!("{column}::text <> current_user || '!'"),
        };
        match dice.below(8) {
            0..3 => by_type,
            3 => format!("{column}::text = {column}::text AND now() < '2026-01-01'"),
            4 => format!("{column} IS NULL OR current_user = '{}'", dice.of(&["postgres", "boss"])),
            5 => format!("{column} IS NULL OR random() < 0.97"),
            6 => "coalesce(current_setting('app.tag', true), '-') <> 'b'".to_owned(),
            _ => format!("{} IS NOT NULL", self.volatile(dice, Ty::Text)),
        }
    }

    /// Columns of a table that have a type known.
    pub fn typed(&self, table: usize) -> Vec<(String, Ty)> {
        self.tables[table].columns.iter().filter_map(|(name, ty)| Some((name.clone(), (*ty)?))).collect()
    }
}
