//! Which workload a command runs: one of the shelf, or a folder; and the folder that one begins with.

use clap::Args;
use planaria::{Error, Result, SqlState};
use planaria_workload::Workload;
use std::path::{Path, PathBuf};

/// What of a workload is one's own: variables of a folder, SQL that is run before it is measured.
#[derive(Args, Clone, Default)]
pub struct Variables {
    /// Set a variable of a workload folder; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = set)]
    set: Vec<(String, String)>,
    /// Run the SQL of a file once the workload is loaded: triggers, indexes, settings
    #[arg(long, value_name = "FILE")]
    prepare: Option<PathBuf>,
}

fn set(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Variables {
    /// The workload of a name or a folder.
    pub fn find(&self, workload: &str) -> Result<Workload> {
        let read =
            |file: &PathBuf| std::fs::read_to_string(file).map_err(|e| Error::file("read file", file, e));
        Workload::find(workload, &self.set, self.prepare.as_ref().map(read).transpose()?)
    }
}

const FILES: [(&str, &str); 3] = [
    (
        "schema.sql",
        "-- Tables and indexes. :name is a variable of workload.toml.
CREATE TABLE item (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    stock integer NOT NULL
);
CREATE TABLE sale (
    id uuid PRIMARY KEY,
    item bigint NOT NULL REFERENCES item,
    quantity integer NOT NULL
);
",
    ),
    (
        "procedures.sql",
        "-- Procedures that transactions call. Their calls are what is logged.
CREATE PROCEDURE sell(p_id uuid, p_item bigint, p_quantity integer)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE item SET stock = stock - p_quantity WHERE id = p_item;
    INSERT INTO sale VALUES (p_id, p_item, p_quantity);
END $$;
",
    ),
    (
        "workload.toml",
        r#"# A workload: planaria bench DIR, planaria lab recovery --workload DIR. docs/guide/workloads.md has all of it.
about = "Sales of items"
scale = "items"                 # the variable that is the size: --rows N, or --set items=N

[variables]                     # known to generators and, as :name, to SQL; --set NAME=VALUE
items = 10_000
theta = 0.8

# Rows that are made before a run; after them load.sql is run, if there is one.
[tables.item]
rows = "items"
columns.id = "row"              # the number of the row, from 1
columns.name = { string = [5, 20] }
columns.stock = 100

# What is run, each as often as its weight says.
[transactions.sell]
weight = 60
call = "sell"                   # a procedure or a function, with the parameters in order
[transactions.sell.parameters]
id = { uuid = true }
item = { zipf = "items", theta = "theta" }
quantity = { uniform = [1, 5] }

[transactions.look]
weight = 30
sql = "SELECT name, stock FROM item WHERE id = :item"
parameters.item = { uniform = "items" }

[transactions.restock]          # several statements are a transaction block
weight = 10
sql = [
    "SELECT stock FROM item WHERE id = :item",
    "UPDATE item SET stock = stock + :quantity WHERE id = :item",
]
parameters.item = { uniform = "items" }
parameters.quantity = { uniform = [10, 50] }

# What must hold: 0, no row, or what is expected.
[checks.items]
sql = "SELECT count(*) - :items FROM item"
expect = 0
"#,
    ),
];

/// Writes a workload to begin with.
pub fn write_new(dir: &Path) -> Result<()> {
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let what = format!("the directory {} is not empty", dir.display());
        return Err(Error::new(SqlState::OBJECT_IN_USE, what));
    }
    std::fs::create_dir_all(dir).map_err(|e| Error::file("create directory", dir, e))?;
    for (name, text) in FILES {
        let file = dir.join(name);
        std::fs::write(&file, text).map_err(|e| Error::file("write file", &file, e))?;
    }
    println!("wrote an example workload to {0}; run it with planaria bench {0}", dir.join("").display());
    Ok(())
}
