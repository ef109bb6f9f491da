CREATE TABLE branch (
    id integer PRIMARY KEY,
    name text NOT NULL,
    turnover numeric(14, 2) NOT NULL DEFAULT 0
);
CREATE TABLE account (
    id integer PRIMARY KEY,
    branch integer NOT NULL REFERENCES branch,
    owner text NOT NULL,
    opened date NOT NULL,
    balance numeric(12, 2) NOT NULL CHECK (balance >= 0)
);
CREATE TABLE transfer (
    id uuid PRIMARY KEY,
    payer integer NOT NULL REFERENCES account,
    payee integer NOT NULL REFERENCES account,
    amount numeric(12, 2) NOT NULL
);
