//! CREATE SEQUENCE, ALTER SEQUENCE, and the sequences behind serial, identity and row ids.

use super::{Change, Work, names};
use planaria_base::{ColumnId, Error, Result, RoleId, SchemaId, SequenceId, SqlState, TableId, Type};
use planaria_catalog::{Object, Rights, Sequence};
use planaria_syntax::ast::{Name, SequenceOptions};

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Smallest and largest value of an integer type.
fn bounds(ty: &Type) -> Result<(i64, i64)> {
    match ty {
        Type::Int2 => Ok((i16::MIN.into(), i16::MAX.into())),
        Type::Int4 => Ok((i32::MIN.into(), i32::MAX.into())),
        Type::Int8 => Ok((i64::MIN, i64::MAX)),
        _ => Err(invalid("sequence type must be smallint, integer, or bigint".into())),
    }
}

/// Sets the options of a sequence that are given; of a new one the others get their defaults.
fn configure(sequence: &mut Sequence, options: &SequenceOptions, ty: &Type, new: bool) -> Result<()> {
    let (type_min, type_max) = bounds(ty)?;
    if let Some(increment) = options.increment {
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero".into()));
        }
        sequence.increment = increment;
    }
    if let Some(cycle) = options.cycle {
        sequence.cycle = cycle;
    }
    if let Some(cache) = options.cache {
        sequence.cache = cache;
    }
    let up = sequence.increment > 0;
    match options.max {
        Some(Some(max)) => sequence.max = max,
        None if !new => {}
        _ => sequence.max = if up { type_max } else { -1 },
    }
    match options.min {
        Some(Some(min)) => sequence.min = min,
        None if !new => {}
        _ => sequence.min = if up { 1 } else { type_min },
    }
    let (min, max) = (sequence.min, sequence.max);
    if max < type_min || max > type_max {
        return Err(invalid(format!("MAXVALUE ({max}) is out of range for sequence data type {ty}")));
    }
    if min < type_min || min > type_max {
        return Err(invalid(format!("MINVALUE ({min}) is out of range for sequence data type {ty}")));
    }
    if min >= max {
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    match options.start {
        Some(start) => sequence.start = start,
        None if new => sequence.start = if up { min } else { max },
        None => {}
    }
    check_start("START", sequence.start, min, max)
}

/// Sets the options of an old sequence that are given.
fn retype(sequence: &mut Sequence, options: &SequenceOptions) -> Result<()> {
    let ty = match &options.ty {
        Some(ty) => {
            sequence.ty = Some(ty.clone());
            // A bound that was the old type's own becomes the new type's.
            let (type_min, type_max) = bounds(ty)?;
            let greatest: [i64; 3] = [i16::MAX.into(), i32::MAX.into(), i64::MAX];
            if options.max.is_none() && greatest.contains(&sequence.max) {
                sequence.max = type_max;
            }
            if options.min.is_none() && greatest.map(|max| -max - 1).contains(&sequence.min) {
                sequence.min = type_min;
            }
            ty.clone()
        }
        None => Type::Int8,
    };
    configure(sequence, options, &ty, false)
}

/// 22023 where the value that a sequence gave last is out of its bounds, as they are now.
pub fn check_last(last: i64, sequence: &Sequence) -> Result<()> {
    check_start("RESTART", last, sequence.min, sequence.max)
}

fn check_start(what: &str, value: i64, min: i64, max: i64) -> Result<()> {
    if value < min {
        return Err(invalid(format!("{what} value ({value}) cannot be less than MINVALUE ({min})")));
    }
    if value > max {
        return Err(invalid(format!("{what} value ({value}) cannot be greater than MAXVALUE ({max})")));
    }
    Ok(())
}

impl Change {
    /// Adds a sequence to the catalog, and the work of making it.
    pub(super) fn add_sequence(
        &mut self,
        schema: SchemaId,
        name: String,
        options: &SequenceOptions,
        ty: &Type,
        owner: Option<(TableId, ColumnId)>,
        hidden: bool,
    ) -> Result<SequenceId> {
        let id = SequenceId::from(self.catalog.sequences.len());
        // One behind a column belongs to who owns the table.
        let table = owner.and_then(|(table, _)| self.catalog.rights(&Object::Table(table)));
        let role = table.map_or(self.actor.user, |rights| rights.owner);
        let rights = match hidden {
            true => Rights::of(role),
            false => self.catalog.rights_of_new(role, planaria_catalog::ObjectKind::Sequence, Some(schema)),
        };
        let (start, increment, min, max, cycle, cache) = (1, 1, 1, 1, false, 1);
        let (comment, ty_shown) = (None, Some(options.ty.as_ref().unwrap_or(ty).clone()));
        let mut sequence = Sequence {
            id,
            schema,
            name,
            start,
            increment,
            min,
            max,
            cycle,
            cache,
            owner,
            hidden,
            rights,
            comment,
            ty: ty_shown,
        };
        configure(&mut sequence, options, ty, true)?;
        let restart = options.restart.map(|value| value.unwrap_or(sequence.start));
        if let Some(value) = restart {
            check_start("RESTART", value, sequence.min, sequence.max)?;
        }
        self.catalog.sequences.push(Some(sequence.into()));
        self.out.work.push(Work::CreateSequence(id));
        self.out.work.extend(restart.map(|value| Work::RestartSequence(id, value)));
        Ok(id)
    }

    pub(super) fn create_sequence(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        options: &SequenceOptions,
    ) -> Result<&'static str> {
        let (schema, local) = self.new_name(name)?;
        if self.catalog.relation_exists((schema, local)) {
            let exists = names::relation_exists(local);
            if !if_not_exists {
                return Err(exists);
            }
            self.skip_existing(&exists);
            return Ok("CREATE SEQUENCE");
        }
        let owner = self.owner(options, self.actor.user)?.flatten();
        let ty = options.ty.clone().unwrap_or(Type::Int8);
        self.add_sequence(schema, local.to_owned(), options, &ty, owner, false)?;
        Ok("CREATE SEQUENCE")
    }

    pub(super) fn alter_sequence(
        &mut self,
        name: &Name,
        if_exists: bool,
        options: &SequenceOptions,
    ) -> Result<&'static str> {
        let local = names::own_relation(&self.catalog, name)?;
        let Some(sequence) = self.catalog.sequence(local).filter(|s| !s.hidden) else {
            if self.catalog.relation_exists(local) {
                let message = format!("\"{local}\" is not a sequence");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
            }
            let missing = names::no_relation(name);
            if !if_exists {
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok("ALTER SEQUENCE");
        };
        let id = sequence.id;
        self.catalog.require_owner(self.actor.user, &Object::Sequence(id))?;
        self.configure_sequence(id, options)?;
        Ok("ALTER SEQUENCE")
    }

    /// Sets the options of a sequence that are given.
    pub(super) fn configure_sequence(&mut self, id: SequenceId, options: &SequenceOptions) -> Result<()> {
        let Some(Some(mut sequence)) = self.catalog.sequences.get(id.index()).cloned() else { return Ok(()) };
        retype(&mut sequence, options)?;
        if let Some(owner) = self.owner(options, sequence.rights.owner)? {
            sequence.owner = owner;
        }
        if let Some(restart) = options.restart {
            let value = restart.unwrap_or(sequence.start);
            check_start("RESTART", value, sequence.min, sequence.max)?;
            self.out.work.push(Work::RestartSequence(id, value));
        } else {
            self.out.work.push(Work::KeepSequence(id));
        }
        self.catalog.sequences[id.index()] = Some(sequence);
        Ok(())
    }

    /// The sequence of an identity column whose type is another one now.
    pub(super) fn retype_sequence(&mut self, id: SequenceId, ty: &Type) -> Result<()> {
        let Some(Some(mut sequence)) = self.catalog.sequences.get(id.index()).cloned() else { return Ok(()) };
        bounds(ty)
            .map_err(|_| invalid("identity column type must be smallint, integer, or bigint".to_owned()))?;
        retype(&mut sequence, &SequenceOptions { ty: Some(ty.clone()), ..SequenceOptions::default() })?;
        self.catalog.sequences[id.index()] = Some(sequence);
        Ok(())
    }

    /// OWNED BY, if it is said.
    #[allow(clippy::type_complexity)]
    fn owner(
        &self,
        options: &SequenceOptions,
        sequence_owner: RoleId,
    ) -> Result<Option<Option<(TableId, ColumnId)>>> {
        let Some(owned_by) = &options.owned_by else { return Ok(None) };
        let Some(path) = owned_by else { return Ok(Some(None)) };
        let Some((column, table)) = path.parts.split_last().filter(|(_, t)| !t.is_empty()) else {
            let error = Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option");
            return Err(error.with_hint("Specify OWNED BY table.column or OWNED BY NONE.").at(path.position));
        };
        let table = Name { parts: table.to_vec(), position: path.position };
        let table = names::table(&self.catalog, &table)?;
        let Some((id, _)) = table.column(column) else {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(path.position));
        };
        if self.catalog.rights(&Object::Table(table.id)).map(|r| r.owner) != Some(sequence_owner) {
            let message = "sequence must have same owner as table it is linked to";
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        Ok(Some(Some((table.id, id))))
    }
}
