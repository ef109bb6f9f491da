//! Records: how a call, or what a transaction changed, is written to the log.

use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::SequenceEffect;
use crate::engine::written::Written;
use crate::options::LogKind;
use planaria_base::IndexId;
use planaria_log::EffectWriter;
use planaria_protocol::{Write, WriteKind};
use planaria_storage::KeyBuf;

/// Places that sequences came to.
pub(crate) fn write_sequences(w: &mut EffectWriter<'_>, effects: &[SequenceEffect]) {
    for SequenceEffect { sequence, place } in effects {
        w.sequence(*sequence, *place);
    }
}

/// The form in which changed rows are logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// After-images by primary key.
    Logical,
    /// After-images with locations.
    Physical,
    /// Before- and after-images of what changed.
    Physiological,
}

impl RowForm {
    /// What a log of this kind has where it has rows.
    pub(crate) fn of(kind: LogKind) -> RowForm {
        match kind {
            LogKind::Physical => RowForm::Physical,
            LogKind::Physiological => RowForm::Physiological,
            LogKind::Off | LogKind::Command | LogKind::Logical | LogKind::Adaptive => RowForm::Logical,
        }
    }
}

/// The rows the transaction changed.
pub(crate) fn write_rows(
    w: &mut EffectWriter<'_>,
    form: RowForm,
    schema: &SchemaVersion,
    written: &dyn Written,
) {
    let (mut key, mut bytes) = (KeyBuf::new(), Vec::new());
    written.for_each(&mut |write| {
        let Write { table, kind, image, before, location } = write;
        if kind == WriteKind::Delete || kind == WriteKind::Update && form == RowForm::Physiological {
            let codec = schema.shape(table).index(IndexId::PRIMARY).codec();
            codec.encode_row(image, &mut key).expect("a row's key was encoded when it was stored");
            bytes.clear();
            bytes.extend(key.bytes());
        }
        match (form, kind) {
            (RowForm::Physical, WriteKind::Insert) => w.physical_insert(table, location, image),
            (RowForm::Physical, WriteKind::Update) => w.physical_update(table, location, location, image),
            (RowForm::Physical, WriteKind::Delete) => w.physical_delete(table, location, &bytes),
            (_, WriteKind::Insert) => w.insert(table, image),
            (RowForm::Logical, WriteKind::Update) => w.update(table, image),
            (RowForm::Logical, WriteKind::Delete) => w.delete(table, &bytes),
            (RowForm::Physiological, WriteKind::Update) => w.patch(table, &bytes, before, image),
            (RowForm::Physiological, WriteKind::Delete) => w.delete_row(table, &bytes, before),
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::Options;
    use crate::engine::schema_version::LogAs;
    use crate::opening::new_engine;
    use crate::session::core::SessionCore;
    use planaria_base::{Epoch, Type};
    use planaria_log::{LogReader, RecordBody};
    use planaria_protocol::Silo;
    use planaria_sim::disk::SimDisk;

    /// The analysis decides beforehand how calls are logged. Were it wrong, the record would not be a call all the
    /// same: here the engine is told to log everything as calls.
    #[test]
    fn what_asked_for_more_than_a_call_says_is_no_call_in_the_log() {
        let (disk, options) = (SimDisk::new(1), Options::new());
        let engine = new_engine::<Silo>(&options).expect("an engine");
        let engine = engine.start(Some(disk.device()), &options).expect("starts");
        let mut s = SessionCore::new(engine).expect("a seat");
        let bodies = [
            ("plain", "INSERT INTO t VALUES (p, 'x')", true),
            ("draws", "INSERT INTO t VALUES (p, random() || ' ' || now())", true),
            ("names", "INSERT INTO t VALUES (p, current_user)", true),
            ("settings", "INSERT INTO t VALUES (p, current_setting('work_mem'))", true),
            ("asks", "INSERT INTO t VALUES (p, pg_backend_pid())", false),
            ("lists", "INSERT INTO t SELECT p, relname FROM pg_class WHERE relname = 't'", false),
            ("made", "EXECUTE 'INSERT INTO t VALUES ($1)' USING p", false),
            (
                "skips",
                "UPDATE t SET a = a WHERE a IN (SELECT a FROM t WHERE a = 1 FOR UPDATE SKIP LOCKED)",
                false,
            ),
        ];
        s.statement_text("CREATE TABLE t (a int, b text)", &()).expect("a table");
        for (name, body, _) in bodies {
            let text = format!(
                "CREATE PROCEDURE {name}(p int) LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN {body}; END $$"
            );
            s.statement_text(&text, &()).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        for (n, (name, ..)) in bodies.iter().enumerate() {
            s.transact(&mut |s, schema| {
                let id = schema.catalog.procedures_named(*name).next().expect("is there").id;
                let (code, columns) = (&schema.routine(id)?.code, s.no_columns.clone());
                s.run(schema, code, &[Type::Int4], &columns, &(n as i32,), true)?;
                Ok(LogAs::Call { procedure: id, keeping: false })
            })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        s.engine.log.get().expect("a log").flush().expect("is on disk");
        drop(s);
        let reader = LogReader::open(disk.device()).expect("opens");
        let batches: Vec<_> = reader.batches(Epoch(0)).map(|b| b.expect("whole")).collect();
        let records = batches.iter().flat_map(|b| b.records()).map(|r| r.decode().expect("a record"));
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(|r| r.commit_ts);
        let calls = records.iter().map(|r| matches!(r.body, RecordBody::Call(_))).skip(1 + bodies.len());
        assert_eq!(calls.collect::<Vec<_>>(), bodies.map(|(.., is_call)| is_call));
    }
}
