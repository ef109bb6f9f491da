// Inserts, upserts, joins, aggregates, arrays, jsonb, ranges.
use crate::model::*;
use crate::schema::{posts, tags, users};
use crate::show;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::debug_query;
use diesel::dsl::{
    IntervalDsl, OnlyDsl, TablesampleDsl, array, array_append, array_length, array_to_string, avg,
    cardinality, case_when, count, count_star, exists, isempty, jsonb_pretty, jsonb_strip_nulls,
    jsonb_typeof, lag, lower, max, not, now, row_number, select, sum, upper,
};
use diesel::prelude::*;
use diesel::query_dsl::positional_order_dsl::{OrderColumn, PositionalOrderDsl};
use diesel::sql_types::*;
use diesel::upsert::{excluded, on_constraint};
use std::ops::Bound;

#[diesel::declare_sql_function]
extern "SQL" {
    fn initcap(x: Text) -> Text;
    #[aggregate]
    fn string_agg(x: Text, y: Text) -> Nullable<Text>;
}

fn day(n: u32) -> DateTime<Utc> {
    chrono::NaiveDate::from_ymd_opt(2024, 1, n).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc()
}

pub fn queries(c: &mut PgConnection) -> QueryResult<()> {
    let ann = NewUser {
        name: "ann",
        email: Some("ann@x"),
        mood: Some(Mood::Glad),
        home: Some(Place { city: "Ulm".into(), number: Some(1) }),
    };
    show(
        "insert",
        diesel::insert_into(users::table).values(&ann).returning(User::as_returning()).get_result(c),
    );
    let more = [("bob", Some("bob@x")), ("cid", None), ("dee", Some("dee@x"))];
    let more = more.map(|(name, email)| NewUser { name, email, mood: None, home: None });
    show("batch", diesel::insert_into(users::table).values(&more).returning(users::id).get_results::<i32>(c));
    show("defaults", diesel::insert_into(tags::table).default_values().execute(c));
    show("do nothing", diesel::insert_into(users::table).values(&ann).on_conflict_do_nothing().execute(c));
    show(
        "upsert",
        diesel::insert_into(users::table)
            .values((users::name.eq("ann2"), users::email.eq("ann@x")))
            .on_conflict(users::email)
            .do_update()
            .set(users::name.eq(excluded(users::name)))
            .returning((users::id, users::name))
            .get_result::<(i32, String)>(c),
    );
    show(
        "upsert by constraint",
        diesel::insert_into(users::table)
            .values((users::name.eq("ann3"), users::email.eq("ann@x")))
            .on_conflict(on_constraint("users_email_key"))
            .do_update()
            .set(users::name.eq("ann"))
            .execute(c),
    );
    show(
        "no such key",
        diesel::insert_into(users::table)
            .values((users::name.eq("ann3"), users::email.eq("ann@x")))
            .on_conflict(users::name)
            .do_nothing()
            .execute(c),
    );
    let post = |user: i32, title: &str, labels: &[&str], price: Option<i32>, doc| {
        (
            posts::user_id.eq(user),
            posts::title.eq(title.to_string()),
            posts::tags.eq(labels.iter().map(|l| l.to_string()).collect::<Vec<_>>()),
            posts::price.eq(price.map(BigDecimal::from)),
            posts::doc.eq(doc),
        )
    };
    let new = vec![
        post(1, "first", &["a", "b"], Some(10), Some(serde_json::json!({"k": {"deep": [1, 2]}, "n": 1}))),
        post(1, "second", &["b"], Some(25), Some(serde_json::json!({"k": "text", "n": 2}))),
        post(2, "third", &[], None, None),
        post(3, "Fourth", &["c", "a,b"], Some(5), Some(serde_json::json!([1, {"x": null}]))),
    ];
    show("posts", diesel::insert_into(posts::table).values(&new).returning(posts::id).get_results::<i64>(c));
    show("ranges", diesel::update(posts::table.find(1)).set((posts::during.eq(Some((Bound::Included(day(1)), Bound::Excluded(day(5))))), posts::pages.eq(Some((Bound::Included(1), Bound::Included(9)))))).returning((posts::during, posts::pages)).get_result::<(Option<(Bound<DateTime<Utc>>, Bound<DateTime<Utc>>)>, Option<(Bound<i32>, Bound<i32>)>)>(c));
    show(
        "insert select",
        posts::table
            .select((posts::id, posts::title))
            .filter(posts::id.le(2))
            .insert_into(tags::table)
            .into_columns((tags::post_id, tags::label))
            .execute(c),
    );

    // Associations and joins
    let people = users::table.order(users::id).select(User::as_select()).load(c)?;
    let theirs = Post::belonging_to(&people).order(posts::id).select(Post::as_select()).load(c)?;
    let grouped = theirs
        .grouped_by(&people)
        .into_iter()
        .zip(&people)
        .map(|(p, u)| {
            (
                u.name.clone(),
                p.into_iter().map(|p| (p.title, p.price.map(|p| p.to_string()))).collect::<Vec<_>>(),
            )
        })
        .collect::<Vec<_>>();
    println!("associations: {grouped:?}");
    show(
        "inner",
        users::table
            .inner_join(posts::table.left_join(tags::table))
            .select((users::name, posts::title, tags::label.nullable()))
            .order(posts::id)
            .load::<(String, String, Option<String>)>(c),
    );
    show(
        "left",
        users::table
            .left_join(posts::table)
            .select((User::as_select(), posts::title.nullable()))
            .filter(posts::id.is_null())
            .load::<(User, Option<String>)>(c),
    );
    let (a, b) = diesel::alias!(users as a, users as b);
    show(
        "alias",
        a.inner_join(b.on(a.field(users::id).lt(b.field(users::id))))
            .select((a.field(users::name), b.field(users::name)))
            .order((a.field(users::id), b.field(users::id)))
            .limit(3)
            .load::<(String, String)>(c),
    );

    // Aggregates and windows
    show(
        "group",
        users::table
            .left_join(posts::table)
            .group_by(users::name)
            .having(count(posts::id.nullable()).gt(0))
            .select((
                users::name,
                count(posts::id.nullable()),
                sum(posts::price.nullable()),
                avg(posts::price.nullable()),
                max(posts::title.nullable()),
            ))
            .order(users::name)
            .load::<(String, i64, Option<BigDecimal>, Option<BigDecimal>, Option<String>)>(c),
    );
    show(
        "aggregates",
        posts::table
            .select((
                count_star(),
                count(posts::user_id).aggregate_distinct(),
                count(posts::id).aggregate_filter(posts::price.is_null()),
                string_agg(posts::title, ",").aggregate_order(posts::title.desc()),
            ))
            .get_result::<(i64, i64, i64, Option<String>)>(c),
    );
    show(
        "window",
        posts::table
            .select((
                posts::title,
                row_number().partition_by(posts::user_id).window_order(posts::id.desc()),
                sum(posts::price).over().window_order(posts::id),
                lag(posts::title).window_order(posts::id),
            ))
            .order(posts::id)
            .load::<(String, i64, Option<BigDecimal>, Option<String>)>(c),
    );
    show(
        "distinct on",
        posts::table
            .distinct_on(posts::user_id)
            .order((posts::user_id, posts::id.desc()))
            .select((posts::user_id, posts::title))
            .load::<(i32, String)>(c),
    );
    show(
        "union",
        users::table
            .select(users::name)
            .union(posts::table.select(posts::title))
            .positional_order_by(OrderColumn::from(1).desc())
            .limit(3)
            .load::<String>(c),
    );
    show("except", users::table.select(users::id).except(posts::table.select(posts::user_id)).load::<i32>(c));

    // Filters
    show(
        "in",
        users::table
            .filter(users::id.eq_any([1, 2]).and(users::name.ne_all(["bob"])).or(users::email.is_null()))
            .select(users::name)
            .order(users::id)
            .load::<String>(c),
    );
    show(
        "subquery",
        users::table
            .filter(
                users::id
                    .eq_any(posts::table.filter(posts::price.gt(BigDecimal::from(8))).select(posts::user_id)),
            )
            .select(users::name)
            .load::<String>(c),
    );
    show(
        "exists",
        users::table
            .filter(not(exists(posts::table.filter(posts::user_id.eq(users::id)))))
            .select(users::name)
            .load::<String>(c),
    );
    show("exists?", select(exists(users::table.filter(users::name.ilike("A%")))).get_result::<bool>(c));
    show(
        "texts",
        posts::table
            .filter(
                posts::title
                    .ilike("f%")
                    .and(posts::title.not_like("x\\_%"))
                    .and(posts::title.similar_to("(f|F)%")),
            )
            .select(posts::title)
            .order(posts::id)
            .load::<String>(c),
    );
    show(
        "distinct from",
        posts::table
            .filter(posts::price.is_distinct_from(BigDecimal::from(10)))
            .select(posts::id)
            .order((posts::price.desc().nulls_last(), posts::id))
            .load::<i64>(c),
    );
    show(
        "case",
        users::table
            .select(case_when(users::mood.eq(Mood::Glad), users::name).otherwise("-"))
            .order(users::id)
            .load::<String>(c),
    );
    show(
        "initcap",
        users::table.select(initcap(users::name.concat(" x"))).order(users::id).first::<String>(c),
    );
    show(
        "arithmetic",
        posts::table
            .select((posts::user_id * 2 + 1, posts::price / BigDecimal::from(3)))
            .order(posts::id)
            .first::<(i32, Option<BigDecimal>)>(c),
    );
    show("sample", users::table.tablesample_bernoulli(100).select(count_star()).get_result::<i64>(c));
    show("only", users::table.only().count().get_result::<i64>(c));
    let mut boxed = posts::table.select(posts::id).into_boxed();
    for word in ["first", "third"] {
        boxed = boxed.or_filter(posts::title.eq(word));
    }
    show("boxed", boxed.order(posts::id).limit(5).offset(0).load::<i64>(c));
    println!(
        "{}",
        debug_query::<diesel::pg::Pg, _>(
            &posts::table.filter(posts::tags.contains(vec!["a"])).select(posts::id)
        )
    );

    // Arrays, jsonb, ranges
    show(
        "contains",
        posts::table
            .filter(posts::tags.contains(vec!["b"]))
            .select(posts::id)
            .order(posts::id)
            .load::<i64>(c),
    );
    show(
        "overlaps",
        posts::table
            .filter(posts::tags.overlaps_with(vec!["c", "b"]))
            .select(posts::id)
            .order(posts::id)
            .load::<i64>(c),
    );
    show(
        "array",
        posts::table
            .find(1)
            .select((
                posts::tags.index(1),
                posts::tags.concat(vec!["z"]),
                array_append(posts::tags, "q"),
                array_length(posts::tags, 1),
                cardinality(posts::tags),
                array_to_string(posts::tags, "+"),
            ))
            .get_result::<(String, Vec<String>, Vec<String>, Option<i32>, i32, String)>(c),
    );
    show(
        "array of rows",
        select(array::<Integer, _>(users::table.select(users::id).order(users::id)))
            .get_result::<Vec<i32>>(c),
    );
    type J = Option<serde_json::Value>;
    show(
        "jsonb",
        posts::table
            .filter(posts::doc.contains(serde_json::json!({"n": 1})))
            .select((
                posts::doc.retrieve_as_object("k"),
                posts::doc.retrieve_as_text("n"),
                posts::doc.retrieve_by_path_as_text(vec!["k", "deep", "1"]),
                posts::doc.remove("n"),
                posts::doc.concat(serde_json::json!({"m": []})),
            ))
            .load::<(J, Option<String>, Option<String>, J, J)>(c),
    );
    show(
        "keys",
        posts::table
            .filter(
                posts::doc
                    .has_key("k")
                    .and(posts::doc.has_any_key(vec!["n", "o"]))
                    .and(posts::doc.has_all_keys(vec!["k", "n"])),
            )
            .select(posts::id)
            .order(posts::id)
            .load::<i64>(c),
    );
    show(
        "jsonb functions",
        posts::table
            .find(1)
            .select((jsonb_typeof(posts::doc), jsonb_pretty(posts::doc), jsonb_strip_nulls(posts::doc)))
            .get_result::<(Option<String>, Option<String>, J)>(c),
    );
    show(
        "update jsonb",
        diesel::update(posts::table.find(2))
            .set(posts::doc.eq(posts::doc.concat(serde_json::json!({"n": null}))))
            .returning(posts::doc)
            .get_result::<J>(c),
    );
    show(
        "range",
        posts::table
            .filter(posts::during.assume_not_null().contains(day(2)))
            .select((posts::id, lower(posts::pages), upper(posts::pages), isempty(posts::pages)))
            .load::<(i64, Option<i32>, Option<i32>, Option<bool>)>(c),
    );
    show(
        "range functions",
        posts::table
            .find(1)
            .select((
                posts::pages.assume_not_null().union_range((Bound::Included(5), Bound::Excluded(20))),
                posts::pages.assume_not_null().intersection_range((Bound::Included(5), Bound::Excluded(20))),
            ))
            .get_result::<((Bound<i32>, Bound<i32>), (Bound<i32>, Bound<i32>))>(c),
    );
    show(
        "times",
        posts::table
            .find(1)
            .select((posts::at.at_time_zone("Europe/Paris"), posts::at + 1_i32.day()))
            .get_result::<(chrono::NaiveDateTime, DateTime<Utc>)>(c),
    );
    show("now", select(now.into_sql::<Timestamptz>().gt(day(1))).get_result::<bool>(c));

    // Updates and deletes
    let mut user = users::table.find(2).select(User::as_select()).get_result(c)?;
    user.mood = Mood::Glad;
    user.home = Some(Place { city: "Bonn".into(), number: None });
    show(
        "save",
        user.save_changes::<User>(c).map(|u| (u.name, u.mood, u.home, u.updated_at > day(1).naive_utc())),
    );
    show(
        "changeset",
        diesel::update(users::table.find(3))
            .set(&NewUser { name: "cyd", email: None, mood: None, home: None })
            .returning((users::name, users::email))
            .get_result::<(String, Option<String>)>(c),
    );
    show(
        "nothing to change",
        diesel::update(users::table.find(3)).set((None::<String>.map(|n| users::name.eq(n)),)).execute(c),
    );
    show(
        "update by query",
        diesel::update(posts::table.filter(
            posts::user_id.eq_any(users::table.filter(users::mood.eq(Mood::Glad)).select(users::id)),
        ))
        .set(posts::price.eq(posts::price + BigDecimal::from(1)))
        .execute(c),
    );
    show(
        "delete",
        diesel::delete(users::table.filter(users::name.eq("dee"))).returning(users::id).get_results::<i32>(c),
    );
    show(
        "binds",
        diesel::sql_query("select id from users where name = $1 or mood = $2 order by id")
            .bind::<Text, _>("cyd")
            .bind::<crate::schema::sql_types::Mood, _>(Mood::Glad)
            .load::<Id>(c)
            .map(|v| v.into_iter().map(|i| i.id).collect::<Vec<_>>()),
    );
    Ok(())
}
