//! Accounts over HTTP: axum in front, Planaria in the same process. A transfer is a stored procedure: one serializable
//! transaction, and on disk before the answer leaves.
//!
//! ```sh
//! cargo run -p planaria-examples --example ledger -- ledger-data
//! curl -X POST localhost:3000/accounts -H 'content-type: application/json' -d '{"owner": "Ada", "balance": "100.00"}'
//! curl -X POST localhost:3000/transfers -H 'content-type: application/json' -d '{"from": 1, "to": 2, "amount": "5.00"}'
//! curl localhost:3000/accounts/1
//! ```

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use planaria::{FromRow, Params, SqlState, named};
use planaria_tokio::Database;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "
    CREATE TABLE account (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner text NOT NULL,
        balance numeric(14,2) NOT NULL CHECK (balance >= 0)
    );
    CREATE TABLE transfer (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        from_account bigint NOT NULL REFERENCES account,
        to_account bigint NOT NULL REFERENCES account,
        amount numeric(14,2) NOT NULL CHECK (amount > 0)
    );
    CREATE PROCEDURE transfer(p_from bigint, p_to bigint, p_amount numeric)
    LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - p_amount WHERE id = p_from;
        UPDATE account SET balance = balance + p_amount WHERE id = p_to;
        INSERT INTO transfer (from_account, to_account, amount) VALUES (p_from, p_to, p_amount);
    END $$;";

#[derive(Deserialize, Params)]
struct NewAccount {
    owner: String,
    balance: Decimal,
}

#[derive(Serialize, FromRow)]
struct Account {
    id: i64,
    owner: String,
    balance: Decimal,
}

#[derive(Deserialize)]
struct Transfer {
    from: i64,
    to: i64,
    amount: Decimal,
}

/// An error of the database as an answer.
struct Failed(planaria::Error);

impl From<planaria::Error> for Failed {
    fn from(error: planaria::Error) -> Failed {
        Failed(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = match self.0.sqlstate() {
            SqlState::CHECK_VIOLATION => StatusCode::CONFLICT,
            SqlState::FOREIGN_KEY_VIOLATION | SqlState::NO_DATA_FOUND => StatusCode::NOT_FOUND,
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, self.0.message().to_owned()).into_response()
    }
}

async fn open_account(
    State(db): State<Database>,
    Json(account): Json<NewAccount>,
) -> Result<(StatusCode, Json<Account>), Failed> {
    let sql = "INSERT INTO account (owner, balance) VALUES (:owner, :balance) RETURNING id, owner, balance";
    Ok((StatusCode::CREATED, Json(db.query_one(sql, account).await?)))
}

async fn show_account(State(db): State<Database>, Path(id): Path<i64>) -> Result<Json<Account>, Failed> {
    Ok(Json(db.query_one("SELECT id, owner, balance FROM account WHERE id = $1", (id,)).await?))
}

async fn transfer(State(db): State<Database>, Json(wanted): Json<Transfer>) -> Result<StatusCode, Failed> {
    db.call("transfer", (wanted.from, wanted.to, wanted.amount)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The sum of all accounts and the number of transfers, as of one moment.
async fn audit(State(db): State<Database>) -> Result<String, Failed> {
    let (sum, transfers) = db
        .run(|session| {
            let mut reader = session.read_only_transaction()?;
            let (sum,): (Option<Decimal>,) = reader.query_one("SELECT sum(balance) FROM account", ())?;
            let (transfers,): (i64,) = reader
                .query_one("SELECT count(*) FROM transfer WHERE amount > :least", named! { least: 0 })?;
            reader.commit()?;
            Ok((sum.unwrap_or_default(), transfers))
        })
        .await?;
    Ok(format!("{sum} after {transfers} transfers"))
}

/// The routes, over a database that has the schema.
pub fn app(db: Database) -> Router {
    Router::new()
        .route("/accounts", post(open_account))
        .route("/accounts/{id}", get(show_account))
        .route("/transfers", post(transfer))
        .route("/audit", get(audit))
        .with_state(db)
}

/// Makes the tables and the procedure, where they are not there yet.
pub async fn migrate(db: &Database) -> planaria::Result<()> {
    let (there,): (bool,) = db.query_one("SELECT to_regclass('account') IS NOT NULL", ()).await?;
    if there { Ok(()) } else { db.execute_script(SCHEMA).await }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = match std::env::args().nth(1) {
        Some(directory) => Database::open(directory).await?,
        None => Database::new(planaria::Database::in_memory()?),
    };
    migrate(&db).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(db)).await?;
    Ok(())
}
