//! The integration tests of the room in one binary, so that the parser is linked once.

mod parse_errors;
mod parse_expressions;
mod parse_plpgsql;
mod parse_policies;
mod parse_properties;
mod parse_rights;
mod parse_statements;
mod parse_suites;
