#!/usr/bin/env bash
# drizzle-kit: push of schema.js, anew (nothing to do), pull, push of a schema that has changed.
set -uo pipefail
export CI=1
kit() {
    echo "== $*"
    npx --no-install drizzle-kit "$@" </dev/null 2>&1 | tr '\r' '\n' |
        sed -E 's/\x1b\[[0-9;?]*[a-zA-Z]//g; /^[[:space:]]*$/d; /^\[.*(fetching|fetched|file|Pulling)/d; /^Reading config|^Using |Pulling schema|No config/d' | uniq
}
push() {
    kit push --config push.config.js --force --verbose
}
push
push
kit pull --config pull.config.js
# The tables in the order of their names: they come in the order of the catalog.
(cat pulled/schema.ts && echo && echo && cat pulled/relations.ts) | sed '/^import /,/^$/d; /^} from/d' | awk 'BEGIN { RS = ""; ORS = "\1" } { gsub(/\n/, "\2"); print }' |
    tr '\1' '\n' | LC_ALL=C sort | tr '\2' '\n'
sed -i 's/archived"\]/archived", "deleted"]/; s/length: 80/length: 120/; s/balance: numeric("balance", { precision: 12, scale: 2 }).default("0.00")/balance: numeric("balance", { precision: 14, scale: 3 }).default("1.5")/; s/born: date("born"),/born: date("born").notNull().default("2000-01-01"), nick: text("nick").unique(),/; s/index("users_name_idx").on(t.name)/index("users_name_idx2").on(t.name.desc())/; s/< 200/< 150/' schema.js
push
push
