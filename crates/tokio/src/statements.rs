//! The statements that a database and a transaction have in common.

/// Their methods, for a type that has `run`: `statements!(self, &self)`, or `&mut self` where `run` takes that.
macro_rules! statements {
    ($this:ident, $($receiver:tt)+) => {
        /// Runs one statement; returns the number of rows affected or returned.
        pub async fn execute(
            $($receiver)+,
            sql: impl Into<String>,
            params: impl Params + Send + 'static,
        ) -> Result<u64> {
            let sql = sql.into();
            $this.run(move |s| s.execute(&sql, params)).await
        }

        /// Runs one statement; returns its rows.
        pub async fn query(
            $($receiver)+,
            sql: impl Into<String>,
            params: impl Params + Send + 'static,
        ) -> Result<Rows> {
            let sql = sql.into();
            $this.run(move |s| s.query(&sql, params)).await
        }

        /// The same as values of `T`.
        pub async fn query_as<T: FromRow + Send + 'static>(
            $($receiver)+,
            sql: impl Into<String>,
            params: impl Params + Send + 'static,
        ) -> Result<Vec<T>> {
            let sql = sql.into();
            $this.run(move |s| s.query_as(&sql, params)).await
        }

        /// The same of one row: P0002 where there is none, P0003 where there are several.
        pub async fn query_one<T: FromRow + Send + 'static>(
            $($receiver)+,
            sql: impl Into<String>,
            params: impl Params + Send + 'static,
        ) -> Result<T> {
            let sql = sql.into();
            $this.run(move |s| s.query_one(&sql, params)).await
        }

        /// The same of one row or none: P0003 where there are several.
        pub async fn query_optional<T: FromRow + Send + 'static>(
            $($receiver)+,
            sql: impl Into<String>,
            params: impl Params + Send + 'static,
        ) -> Result<Option<T>> {
            let sql = sql.into();
            $this.run(move |s| s.query_optional(&sql, params)).await
        }
    };
}

pub(crate) use statements;
