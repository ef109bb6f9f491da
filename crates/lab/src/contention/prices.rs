//! What operations on tables cost, kind by kind, for virtual time: measured on one real thread, under the scheme.
//!
//! Calls of procedures that do the same operation some times are held against calls that do nothing, or less; what that
//! takes more, in processor time, is the operation's. Of a row that is written that includes what commit does for it. The
//! least of some turns counts. A row that is read again costs what one costs that a scan meets: neither asks an index.
//! What is too short to be measured so, the steps of a commit from row to row and a turn of a loop that waits, costs a tenth
//! of a lookup.

use super::scheme::Kind;
use crate::load::cpu_seconds;
use planaria::{PreparedCall, Result, Session};
use planaria_sim::scheduler::Prices;
use rustix::time::ClockId;
use std::time::Duration;

const ROWS: i64 = 4096;
/// Operations of a call.
const EACH: i64 = 8;
const CALLS: i64 = 200;
const TURNS: usize = 5;
/// Whatever a clock says.
const LEAST: Duration = Duration::from_nanos(10);

const SCHEMA: &str = "
    CREATE TABLE priced (id bigint PRIMARY KEY, v bigint NOT NULL, note text NOT NULL);
    INSERT INTO priced SELECT i, 0, 'what is told of row ' || i FROM generate_series(0, 4095) AS g(i);
    CREATE PROCEDURE p_nothing(k bigint) LANGUAGE plpgsql AS $$
    DECLARE x bigint; BEGIN FOR i IN 0..7 LOOP x := k + i; END LOOP; END $$;
    CREATE PROCEDURE p_gets(k bigint) LANGUAGE plpgsql AS $$
    DECLARE x bigint; BEGIN FOR i IN 0..7 LOOP SELECT v INTO x FROM priced WHERE id = k + i; END LOOP; END $$;
    CREATE PROCEDURE p_scans(k bigint) LANGUAGE plpgsql AS $$
    DECLARE x bigint; BEGIN FOR x IN SELECT v FROM priced WHERE id BETWEEN k AND k + 7 LOOP END LOOP; END $$;
    CREATE PROCEDURE p_updates(k bigint) LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 0..7 LOOP UPDATE priced SET v = v + 1 WHERE id = k + i; END LOOP; END $$;
    CREATE PROCEDURE p_inserts(k bigint) LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 0..7 LOOP INSERT INTO priced VALUES (10000 + k + i, 0, 'a note'); END LOOP; END $$;
    CREATE PROCEDURE p_deletes(k bigint) LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 0..7 LOOP DELETE FROM priced WHERE id = 10000 + k + i; END LOOP; END $$;";

/// Seconds of a call, on keys that lie next to each other, all of them one after another.
fn call(session: &mut Session, call: &PreparedCall) -> Result<f64> {
    let began = cpu_seconds(ClockId::ThreadCPUTime);
    for i in 0..CALLS {
        session.submit(call, (i * EACH % ROWS,))?;
    }
    Ok((cpu_seconds(ClockId::ThreadCPUTime) - began) / CALLS as f64)
}

/// Prices under a scheme.
pub(super) fn measured(scheme: Kind) -> Result<Prices> {
    let db = scheme.in_memory()?;
    let mut session = db.session()?;
    session.execute_script(SCHEMA)?;
    let names = ["p_nothing", "p_gets", "p_scans", "p_updates", "p_inserts", "p_deletes"];
    let mut least = [f64::MAX; 6];
    let calls = names.iter().map(|name| session.prepare_call(name, 1)).collect::<Result<Vec<_>>>()?;
    // The first turn warms.
    for turn in 0..=TURNS {
        for (least, of) in least.iter_mut().zip(&calls) {
            let took = call(&mut session, of)?;
            *least = if turn == 0 { *least } else { least.min(took) };
        }
    }
    let [nothing, gets, scans, updates, inserts, deletes] = least;
    let each = |more: f64, less: f64| {
        let seconds = ((more - less) / EACH as f64).clamp(0.0, 1.0);
        Duration::from_secs_f64(seconds).max(LEAST)
    };
    let get = each(gets, nothing);
    Ok(Prices {
        gets: get,
        loads: each(scans, nothing),
        scans: each(scans, nothing),
        inserts: each(inserts, nothing),
        // What is written was looked up before.
        updates: each(updates, gets),
        deletes: each(deletes, gets),
        draws: Duration::from_secs_f64(nothing.clamp(0.0, 1.0)).max(LEAST),
        yields: get,
        spins: get / 10,
        others: get / 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_price() {
        let prices = measured(super::super::Scheme::find("silo").expect("a scheme").kind).expect("measures");
        let kinds = [prices.gets, prices.scans, prices.updates, prices.inserts, prices.deletes, prices.draws];
        assert!(
            kinds.iter().all(|price| *price >= LEAST && *price < Duration::from_millis(10)),
            "{prices:?}"
        );
        // A lookup goes down the index, the next row of a scan is beside the last one.
        assert!(prices.gets > prices.scans, "{prices:?}");
        let double = prices.times(2.0);
        assert!(double.gets == prices.gets * 2 && double.others == prices.others * 2, "{double:?}");
    }
}
