// What `diesel print-schema` writes of the migrations.
pub mod sql_types {
    #[derive(diesel::query_builder::QueryId, Clone, diesel::sql_types::SqlType)]
    #[diesel(postgres_type(name = "mood"))]
    pub struct Mood;

    #[derive(diesel::query_builder::QueryId, Clone, diesel::sql_types::SqlType)]
    #[diesel(postgres_type(name = "place"))]
    pub struct Place;
}

diesel::table! {
    use diesel::sql_types::*;
    use super::sql_types::{Mood, Place};

    users (id) {
        id -> Int4,
        #[max_length = 40]
        name -> Varchar,
        email -> Nullable<Text>,
        mood -> Mood,
        home -> Nullable<Place>,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    posts (id) {
        id -> Int8,
        user_id -> Int4,
        title -> Text,
        tags -> Array<Text>,
        doc -> Nullable<Jsonb>,
        price -> Nullable<Numeric>,
        at -> Timestamptz,
        during -> Nullable<Tstzrange>,
        pages -> Nullable<Int4range>,
    }
}

diesel::table! {
    tags (post_id, label) {
        post_id -> Int8,
        label -> Text,
    }
}

diesel::joinable!(posts -> users (user_id));
diesel::joinable!(tags -> posts (post_id));
diesel::allow_tables_to_appear_in_same_query!(users, posts, tags);
