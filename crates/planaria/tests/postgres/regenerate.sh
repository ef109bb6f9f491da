#!/bin/sh
# Makes the expected outputs anew on PostgreSQL 15: regenerate.sh [psql options] in an empty database.
cd "$(dirname "$0")" || exit 1
psql -X -q "$@" -c 'SELECT 1' >/dev/null || exit 1 # before anything is overwritten
for script in *.sql; do
    psql -X -q -A -t -v VERBOSITY=verbose "$@" -f "$script" 2>&1 |
        sed -E -e 's/^psql:[^ ]+ //' -e 's/^(NOTICE|WARNING|INFO|LOG|DEBUG):  [0-9A-Z]{5}: /\1:  /' |
        grep -vE '^(LOCATION|CONTEXT|QUERY|LINE [0-9]+|SCHEMA NAME|TABLE NAME|COLUMN NAME|CONSTRAINT NAME|DATATYPE NAME):|^ *\^$|^PL/pgSQL function|^SQL (statement|expression)' \
        >"${script%.sql}.out"
done
