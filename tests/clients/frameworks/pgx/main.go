// pgx as an application has it: pool, batch, CopyFrom, listen/notify, types, errors. Prints what it saw.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var ctx = context.Background()

func show(name string, v any, err error) {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		fmt.Println(name, "error", e.Severity, e.Code, e.Message, "|", e.Detail, "|", e.ConstraintName, e.TableName, e.ColumnName, e.DataTypeName, e.Position)
	} else if err != nil {
		fmt.Println(name, "error", err)
	} else {
		fmt.Println(name, v)
	}
}

type row struct {
	ID    int64
	Name  string
	Email *string
	Seen  time.Time
	Doc   map[string]any
	Tags  []string
	Kind  string
	Num   pgtype.Numeric
}

type pair struct {
	X int32
	Y *string
}

func main() {
	config, err := pgxpool.ParseConfig(os.Args[1])
	if err != nil {
		panic(err)
	}
	config.MaxConns = 8
	if len(os.Args) > 2 && os.Args[2] == "pooled" {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		for _, name := range []string{"gx_kind", "_gx_kind", "gx_pair", "_gx_pair", "gx_code"} {
			t, err := c.LoadType(ctx, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			c.TypeMap().RegisterType(t)
		}
		return nil
	}
	first, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		panic(err)
	}
	_, err = first.Exec(ctx, `drop table if exists gx_order, gx_person; drop type if exists gx_kind, gx_pair; drop domain if exists gx_code;
		create type gx_kind as enum ('low', 'high'); create type gx_pair as (x int, y text); create domain gx_code as text check (value <> '');
		create table gx_person (id bigint generated always as identity primary key, name text not null, email text unique, seen timestamptz not null default '2024-01-01 00:00Z', doc jsonb not null default '{}', tags text[] not null default '{}', kind gx_kind not null default 'low', num numeric(20,5));
		create table gx_order (id int primary key, person_id bigint not null references gx_person deferrable, total numeric check (total >= 0))`, pgx.QueryExecModeSimpleProtocol)
	show("schema", "ok", err)
	first.Close(ctx)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	show("ping", "ok", pool.Ping(ctx))

	// Types, there and back, in binary.
	for _, t := range []string{"'2024-01-01Z'::timestamptz", "1::int2", "2::int4", "3::int8", "1.5::float4", "'nan'::float8", "12345.678900::numeric", "'NaN'::numeric", "true", "'x'::text", "'ab'::varchar(5)", "'a'::char(3)", "'c'::\"char\"", "'n'::name", "'\\x00ff'::bytea",
		"'2024-02-29'::date", "'infinity'::date", "'12:34:56.789'::time", "'2024-02-29 12:34:56.789012'::timestamp", "'1 year 2 mons 3 days 04:05:06.7'::interval", "'00000000-0000-0000-0000-00000000000a'::uuid", "'{\"a\": [1, null]}'::jsonb", "'{\"b\" : 1}'::json",
		"'{1,2,null}'::int[]", "'{{1,2},{3,4}}'::int8[]", "'{a,\"b,c\",null}'::text[]", "'{2024-01-01}'::date[]", "'{1.5,2}'::numeric[]", "'[1,5)'::int4range", "'[2024-01-01,2024-02-01)'::daterange", "'{[1,2),[5,6)}'::int4multirange", "'empty'::numrange", "'high'::gx_kind", "'{low,high}'::gx_kind[]", "row(1, 'y')::gx_pair", "array[row(1, null)::gx_pair]", "'dom'::gx_code",
		"'10.0.0.1/8'::inet", "'10.0.0.0/8'::cidr", "'08:00:2b:01:02:03'::macaddr", "B'101'::bit(3)", "B'1101'::varbit", "'(1,2)'::point", "'((0,0),(1,1))'::box", "'<(1,2),3>'::circle", "'[(0,0),(1,1)]'::lseg", "'((0,0),(1,1))'::path", "'((0,0),(1,1),(2,0))'::polygon", "'a b'::tsvector", "'{1,2,3}'::line", "'gx_order'::regclass::oid > 0", "row(1, 'a', null::int)", "'12:00+02'::timetz", "'1.50'::money", "'<a/>'::xml", "null::int", "'0/16B3748'::pg_lsn", "'$.a'::jsonpath", "1::oid", "'5'::xid"} {
		rows, err := pool.Query(ctx, "select "+t)
		if err != nil {
			show(t, nil, err)
			continue
		}
		v, err := pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) (string, error) {
			f := r.FieldDescriptions()[0]
			v, err := r.Values()
			if err != nil {
				return fmt.Sprint(f.DataTypeOID > 16384, f.Format, " text ", string(r.RawValues()[0])), nil
			}
			oid := f.DataTypeOID
			if oid >= 16384 {
				oid = 0
			}
			return fmt.Sprintf("%d %d %d %d %T %v", oid, f.DataTypeSize, f.TypeModifier, f.Format, v[0], v[0]), err
		})
		show(t, v, err)
	}
	var d time.Duration
	var ip netip.Prefix
	var u [16]byte
	var p pair
	var ps []pair
	var r pgtype.Range[pgtype.Int4]
	var n pgtype.Numeric
	err = pool.QueryRow(ctx, "select $1::interval, $2::inet, $3::uuid, $4::gx_pair, $5::gx_pair[], $6::int4range, $7::numeric", 90*time.Second, netip.MustParsePrefix("10.1.2.3/32"), [16]byte{1, 15: 9}, pair{1, nil}, []pair{{2, nil}, {3, nil}}, pgtype.Range[pgtype.Int4]{Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 9, Valid: true}, LowerType: pgtype.Inclusive, UpperType: pgtype.Inclusive, Valid: true}, "123456789012345678901234567890.0123456789").Scan(&d, &ip, &u, &p, &ps, &r, &n)
	show("parameters", fmt.Sprint(d, ip, u, p.X, len(ps), r.Upper.Int32, n.Int, n.Exp), err)

	// Rows
	var id int64
	err = pool.QueryRow(ctx, "insert into gx_person (name, email, doc, tags, kind, num) values ($1, $2, $3, $4, $5, $6) returning id", "one", "one@x", map[string]any{"a": 1, "b": []int{1, 2}}, []string{"t", "u,v"}, "high", "1.25").Scan(&id)
	show("insert", id, err)
	rows, _ := pool.Query(ctx, "select * from gx_person")
	people, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	for _, q := range people {
		fmt.Println(q.ID, q.Name, *q.Email, q.Seen.UTC(), q.Doc, q.Tags, q.Kind, q.Num.Int, q.Num.Exp)
	}
	show("struct", len(people), err)
	tag, err := pool.Exec(ctx, "insert into gx_person (name, email) select 'p' || g, 'p' || g from generate_series(1, $1::int) g on conflict (email) do nothing", 10)
	show("many", tag.String(), err)
	rows, _ = pool.Query(ctx, "select name from gx_person where name = any ($1) or id between @lo and @hi order by id", pgx.NamedArgs{"lo": 3, "hi": 4})
	_, err = pgx.CollectRows(rows, pgx.RowTo[string])
	show("mixed arguments", nil, err)
	rows, _ = pool.Query(ctx, "select name from gx_person where name = any (@names) or id between @lo and @hi order by id", pgx.NamedArgs{"lo": 3, "hi": 4, "names": []string{"one", "p7"}})
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	show("named arguments", names, err)

	// Bulk
	count, err := pool.CopyFrom(ctx, pgx.Identifier{"gx_order"}, []string{"id", "person_id", "total"}, pgx.CopyFromSlice(5000, func(i int) ([]any, error) {
		return []any{i, int64(i%10 + 1), fmt.Sprintf("%d.25", i)}, nil
	}))
	show("copy", count, err)
	count, err = pool.CopyFrom(ctx, pgx.Identifier{"gx_order"}, []string{"id", "person_id", "total"}, pgx.CopyFromRows([][]any{{6000, int64(1), nil}, {1, int64(1), nil}}))
	show("copy twice", count, err)
	count, err = pool.CopyFrom(ctx, pgx.Identifier{"gx_person"}, []string{"name", "doc", "tags", "kind", "seen"}, pgx.CopyFromRows([][]any{{"copied", map[string]any{"k": "v"}, []string{"a"}, "high", time.Date(2024, 5, 6, 7, 8, 9, 1000, time.UTC)}}))
	show("copy types", count, err)
	var sum pgtype.Numeric
	err = pool.QueryRow(ctx, "select count(*), sum(total) from gx_order").Scan(&count, &sum)
	show("sum", fmt.Sprint(count, sum.Int, sum.Exp), err)

	// A batch: one round trip, an implicit transaction.
	batch := &pgx.Batch{}
	batch.Queue("insert into gx_order values ($1, $2, $3)", 7000, 1, "1")
	batch.Queue("select count(*) from gx_order where id >= $1", 7000).QueryRow(func(r pgx.Row) error { var n int; err := r.Scan(&n); show("in batch", n, err); return err })
	batch.Queue("update gx_order set total = total + 1 where id = $1", 7000).Exec(func(t pgconn.CommandTag) error { show("in batch", t, nil); return nil })
	show("batch", "ok", pool.SendBatch(ctx, batch).Close())
	batch = &pgx.Batch{}
	batch.Queue("insert into gx_order values (7001, 1, 1)")
	batch.Queue("insert into gx_order values (7001, 1, 1)")
	batch.Queue("insert into gx_order values (7002, 1, 1)")
	show("batch, bad", "ok", pool.SendBatch(ctx, batch).Close())
	err = pool.QueryRow(ctx, "select count(*) from gx_order where id > 7000").Scan(&count)
	show("after bad", count, err)

	// Transactions
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		tx.Exec(ctx, "insert into gx_order values (8000, 1, 1)")
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "insert into gx_order values (8000, 1, 1)"); return err })
		show("nested", "ok", err)
		return nil
	})
	show("transaction", "ok", err)
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable}, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "delete from gx_order"); return err })
	show("read only", "ok", err)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		tx.Exec(ctx, "set constraints all deferred")
		_, err := tx.Exec(ctx, "insert into gx_order values (8001, 99999, 1)")
		show("deferred", "ok", err)
		return nil
	})
	show("commit", "ok", err)
	for _, s := range []string{"insert into gx_person (name, email) values ('x', 'p1')", "insert into gx_order values (9000, 99999, 1)", "insert into gx_order values (9000, 1, -1)", "insert into gx_person (name) values (null)", "insert into gx_person (name, kind) values ('x', 'odd')", "select 1/0", "selec 1", "select nothing from gx_order", "delete from gx_person where id = 1", "select ''::gx_code", "select * from nowhere where id = $1"} {
		_, err := pool.Exec(ctx, s)
		show(s, "ok", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	_, err = pool.Exec(short, "select pg_sleep(5)")
	cancel()
	fmt.Println("timeout", errors.Is(err, context.DeadlineExceeded))

	// The statements of a table that changes under the cache.
	show("cache", "ok", func() error {
		c, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer c.Release()
		for i := 0; i < 2; i++ {
			rows, _ := c.Query(ctx, "select * from gx_order where id = $1", 1)
			v, err := pgx.CollectRows(rows, pgx.RowToMap)
			if err == nil {
				fmt.Println("columns", len(v[0]))
			} else {
				show("columns", nil, err)
			}
			c.Exec(ctx, "alter table gx_order add column if not exists extra int")
		}
		rows, _ := c.Query(ctx, "select * from gx_order where id = $1", 1)
		v, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err == nil {
			fmt.Println("columns", len(v[0]))
		}
		return err
	}())

	// A queue that many empty.
	var lock sync.Mutex
	var wait sync.WaitGroup
	taken := map[int]bool{}
	for w := 0; w < 8; w++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for tries := 0; tries < 1000; tries++ {
				var id int
				err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if err := tx.QueryRow(ctx, "select id from gx_order where id < 200 order by id for update skip locked limit 1").Scan(&id); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, "delete from gx_order where id = $1", id)
					return err
				})
				if errors.Is(err, pgx.ErrNoRows) {
					return
				}
				if err == nil {
					lock.Lock()
					taken[id] = true
					lock.Unlock()
				}
			}
		}()
	}
	wait.Wait()
	fmt.Println("taken", len(taken))

	// Notifications
	l, err := pool.Acquire(ctx)
	if err != nil {
		panic(err)
	}
	_, err = l.Exec(ctx, `listen "gx chan"`)
	show("listen", "ok", err)
	go pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		tx.Exec(ctx, "select pg_notify('gx chan', 'one')")
		tx.Exec(ctx, `notify "gx chan", 'one'`)
		tx.Exec(ctx, `notify "gx chan", 'two'`)
		return nil
	})
	for i := 0; i < 2; i++ {
		some, cancel := context.WithTimeout(ctx, 3*time.Second)
		n, err := l.Conn().WaitForNotification(some)
		cancel()
		if err != nil {
			show("notification", nil, err)
		} else {
			fmt.Println("notification", n.Channel, n.Payload)
		}
	}
	some, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = l.Conn().WaitForNotification(some)
	cancel()
	fmt.Println("no more", err != nil)
	l.Release()
	pool.Exec(ctx, "drop table gx_order, gx_person")
}
