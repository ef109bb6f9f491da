//! Statements that change rows, and routines that are made of them.

use super::world::{Function, Ty, World, any};
use planaria_sim::dice::Dice;

/// A statement that changes rows; `key`: an expression that says which.
pub fn change(world: &World, dice: &mut Dice, key: &str) -> String {
    if dice.chance(35) {
        return format!("INSERT INTO note (txt) VALUES ({})", world.value(dice, Ty::Text));
    }
    let Some(table) = world.table(dice) else {
        return format!("INSERT INTO note (txt, who) VALUES ('{key}', {})", world.value(dice, Ty::Text));
    };
    let columns = world.typed(table);
    let name = &world.tables[table].name;
    let Some((column, ty)) = any(dice, &columns).cloned() else {
        return format!("INSERT INTO {name} (id) VALUES ({key})");
    };
    let value = world.value(dice, ty);
    match dice.below(6) {
        0 => format!("INSERT INTO {name} (id) VALUES ({key})"),
        1 => format!("INSERT INTO {name} (id, {column}) VALUES ({key}, {value})"),
        2 => format!(
            "INSERT INTO {name} (id, {column}) VALUES ({key}, {value}) ON CONFLICT (id) DO UPDATE SET {column} = {value}"
        ),
        3 => format!("DELETE FROM {name} WHERE id = {key}"),
        4 => format!("UPDATE {name} SET {column} = {value} WHERE id % 3 = {key} % 3"),
        _ => format!("UPDATE {name} SET {column} = {value} WHERE id = {key}"),
    }
}

/// A change of rows that are claimed first: somebody else's block may have them.
pub fn claim(dice: &mut Dice) -> String {
    format!(
        "UPDATE note SET txt = txt || '-' WHERE id IN (SELECT id FROM note ORDER BY id LIMIT 2 FOR UPDATE{})",
        dice.of(&["", " SKIP LOCKED", " NOWAIT"])
    )
}

fn rights(dice: &mut Dice) -> &'static str {
    if dice.chance(35) { " SECURITY DEFINER" } else { "" }
}

/// A function of no arguments, over those that there are.
pub fn function(world: &mut World, dice: &mut Dice) -> Vec<String> {
    let ty = dice.of(Ty::ALL);
    // Now and then one is replaced; it cannot call itself, as its name is taken out meanwhile.
    let replaced = if dice.chance(15) { world.functions.iter().position(|f| f.ty == ty) } else { None };
    let after = replaced.map(|at| world.functions.split_off(at));
    let views = after.as_ref().map(|_| std::mem::take(&mut world.views));
    let name = match &after {
        Some(after) => after[0].name.clone(),
        None => world.name("f"),
    };
    let (value, other) = (world.volatile(dice, ty), world.value(dice, ty));
    // What it says of itself need not be so.
    let said = dice.of(&["", "", "", " VOLATILE", " STABLE", " IMMUTABLE"]);
    let (rights, returns) = (format!("{said}{}", rights(dice)), ty.name());
    let view = any(dice, &world.views).cloned();
    let body = match dice.below(9) {
        0..3 => format!("LANGUAGE sql{rights} AS $$ SELECT {value} $$"),
        3 => match view.filter(|_| ty == Ty::Text) {
            Some(view) => format!("LANGUAGE sql{rights} AS $$ SELECT max(w) FROM {view} $$"),
            None => format!("LANGUAGE plpgsql{rights} AS $$ BEGIN RETURN {value}; END $$"),
        },
        4 => format!(
            "LANGUAGE plpgsql{rights} AS $$ DECLARE v {returns}; BEGIN v := {value}; RETURN coalesce(v, {other}); END $$"
        ),
        5 => format!(
            "LANGUAGE plpgsql{rights} AS $$ BEGIN IF random() < 0.3 THEN RAISE EXCEPTION 'no'; END IF; RETURN {value};
             EXCEPTION WHEN raise_exception THEN RETURN {other}; END $$"
        ),
        6 => format!(
            "LANGUAGE plpgsql{rights} AS $$ DECLARE v {returns}; BEGIN SELECT {value} INTO v FROM note LIMIT 1; RETURN v; END $$"
        ),
        7 => format!(
            "LANGUAGE plpgsql{rights} AS $$ BEGIN PERFORM pg_sleep(0.004); RETURN {value}; END $$"
        ),
        _ => format!(
            "LANGUAGE plpgsql{rights} AS $$ BEGIN INSERT INTO note (txt) VALUES ('{name}'); RETURN {value}; END $$"
        ),
    };
    let mut statements = vec![format!("CREATE OR REPLACE FUNCTION {name}() RETURNS {returns} {body}")];
    if let Some(views) = views {
        world.views = views;
    }
    match after {
        Some(after) => world.functions.extend(after),
        None => world.functions.push(Function { name: name.clone(), ty }),
    }
    if dice.chance(30) {
        let owner = dice.of(&["boss", "app", "clerk"]);
        statements.push(format!("ALTER FUNCTION {name}() OWNER TO {owner}"));
    }
    statements
}

/// A procedure of a key, over functions, and over procedures that there are.
pub fn procedure(world: &mut World, dice: &mut Dice) -> String {
    let mut body = String::new();
    for _ in 0..1 + dice.below(3) {
        body += &part(world, dice, 2);
    }
    let name = match any(dice, &world.procedures).filter(|_| dice.chance(15)) {
        // Not one that calls others: it could come to call itself.
        Some(name) if !body.contains("CALL ") => name.clone(),
        _ => world.name("p"),
    };
    // Now and then with an argument that nobody gives.
    let (more, first) = match dice.chance(20) && !world.procedures.contains(&name) {
        true => (
            format!(", w text DEFAULT {}", world.volatile(dice, Ty::Text)),
            "INSERT INTO note (txt) VALUES (w); ",
        ),
        false => (String::new(), ""),
    };
    if !world.procedures.contains(&name) {
        world.procedures.push(name.clone());
    }
    format!(
        "CREATE OR REPLACE PROCEDURE {name}(k int{more}) LANGUAGE plpgsql{} AS $$
         DECLARE n bigint; t text; BEGIN {first}{body}END $$",
        rights(dice)
    )
}

/// A statement of a body, or several.
fn part(world: &World, dice: &mut Dice, depth: u64) -> String {
    let s = world.sequence(dice);
    match dice.below(if depth > 0 { 14 } else { 8 }) {
        0..4 => format!("{}; ", change(world, dice, "k")),
        4 => format!("n := {}; {}; ", world.volatile(dice, Ty::Int), change(world, dice, "(n % 1000)::int")),
        5 => format!("t := {}; INSERT INTO note (txt) VALUES (t); ", world.volatile(dice, Ty::Text)),
        6 => match any(dice, &world.procedures) {
            Some(name) => format!("CALL {name}(k + 1); "),
            None => format!("PERFORM {}; ", world.volatile(dice, Ty::Int)),
        },
        7 => match dice.below(7) {
            0 => format!("PERFORM setval('{s}', {}, {}); ", 1 + dice.below(5), dice.chance(50)),
            1 => format!(
                "PERFORM set_config('app.tag', {}, {}); ",
                world.value(dice, Ty::Text),
                dice.chance(50)
            ),
            2 => "EXECUTE 'INSERT INTO note (txt) VALUES (current_user || random())'; ".to_owned(),
            3 => "PERFORM pg_sleep(0.004); ".to_owned(),
            4 => format!("{}; ", claim(dice)),
            5 => match any(dice, &world.views) {
                Some(view) => format!("INSERT INTO note (txt, at) SELECT w, at FROM {view}; "),
                None => format!("PERFORM currval('{s}'); "),
            },
            _ => format!("PERFORM {}; ", world.volatile(dice, Ty::Text)),
        },
        8 | 9 => format!(
            "IF {} THEN {}ELSE {}END IF; ",
            dice.of(&["random() < 0.5", "session_user = 'app'", "current_user = 'boss'", "k % 2 = 0"]),
            part(world, dice, depth - 1),
            part(world, dice, depth - 1)
        ),
        10 | 11 => format!(
            "BEGIN {}IF k % 3 = 1 THEN RAISE EXCEPTION 'not %', k; END IF; EXCEPTION WHEN OTHERS THEN {}END; ",
            part(world, dice, depth - 1),
            part(world, dice, depth - 1)
        ),
        12 => format!("FOR i IN 1..2 LOOP {}END LOOP; ", part(world, dice, depth - 1)),
        _ => format!(
            "FOR n IN SELECT id FROM note ORDER BY id LIMIT 2 LOOP UPDATE note SET txt = txt || '.' WHERE id = n; {}END LOOP; ",
            part(world, dice, depth - 1)
        ),
    }
}

/// A view that asks who looks and when.
pub fn view(world: &mut World, dice: &mut Dice) -> String {
    let name = world.name("v");
    let w = world.volatile(dice, Ty::Text);
    world.views.push(name.clone());
    let from = dice.of(&["", "", " FROM note", " FROM note WHERE who = current_user"]);
    format!("CREATE VIEW {name} AS SELECT {w} AS w, now() AS at, session_user::text AS su{from}")
}
