#!/bin/sh
# Makes the expected outputs anew on PostgreSQL 15: regenerate.sh [psql options] in an empty database. Where errors arose is left
# out, but in scripts that begin with "-- with contexts".
cd "$(dirname "$0")" || exit 1
psql -X -q "$@" -c 'SELECT 1' >/dev/null || exit 1 # before anything is overwritten
own='LOCATION|LINE [0-9]+|SCHEMA NAME|TABLE NAME|COLUMN NAME|CONSTRAINT NAME|DATATYPE NAME'
for script in *.sql; do
    left_out="^($own|CONTEXT|QUERY):|^ *\\^$|^PL/pgSQL function|^SQL (statement|expression|function)"
    head -n 1 "$script" | grep -q '^-- with contexts' && left_out="^($own):|^ *\\^$"
    psql -X -q -A -t -v VERBOSITY=verbose "$@" -f "$script" 2>&1 |
        sed -E -e 's/^psql:[^ ]+ //' -e 's/^(NOTICE|WARNING|INFO|LOG|DEBUG):  [0-9A-Z]{5}: /\1:  /' |
        grep -vE "$left_out" \
        >"${script%.sql}.out"
done
