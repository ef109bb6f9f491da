// Conversations: transactions that a client has with a server statement by statement, as applications do
// (BEGIN, prepared statements, COMMIT), and repeats when they fail with 40001 or 40P01.
//
//	conversations -dsn postgresql://postgres@127.0.0.1:5432/postgres -workload tpcc -load
//	conversations -dsn ... -workload tpcc -clients 16 -seconds 10
//
// Prints one line of JSON: transactions that succeeded, in all and of each kind; how often one was repeated, and
// where it had failed with what; times of transactions, repeats included, and of statements. Latencies are those
// of the client, in milliseconds. ../conversations.py runs it beside PostgreSQL.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A workload: what its database is made of, the statements that each client prepares, and its transactions.
type workload struct {
	// SQL files and then a statement, run once.
	files []string
	load  string
	// Statements by name.
	statements map[string]string
	// Runs one transaction of the mix.
	step func(c *client) error
}

type options struct {
	dsn, workload, isolation, sql string
	clients                       int
	seconds                       float64
	load                          bool
	seed                          uint64
	warehouses, customers         int
	records, subscribers          int
}

func main() {
	var o options
	flag.StringVar(&o.dsn, "dsn", "postgresql://postgres@127.0.0.1:5432/postgres?sslmode=disable", "how to connect")
	flag.StringVar(&o.workload, "workload", "tpcc", "tpcc, smallbank, ycsb, tatp or empty")
	flag.StringVar(&o.isolation, "isolation", "serializable", "isolation level of all transactions")
	flag.StringVar(&o.sql, "sql", "", "directory of the suites' SQL files (crates/workload/sql)")
	flag.IntVar(&o.clients, "clients", 16, "connections")
	flag.Float64Var(&o.seconds, "seconds", 10, "how long")
	flag.BoolVar(&o.load, "load", false, "make the workload's tables and fill them, and do nothing else")
	flag.Uint64Var(&o.seed, "seed", 1, "of what the clients draw")
	flag.IntVar(&o.warehouses, "warehouses", 2, "of TPC-C")
	flag.IntVar(&o.customers, "customers", 10_000, "of SmallBank")
	flag.IntVar(&o.records, "records", 100_000, "of YCSB")
	flag.IntVar(&o.subscribers, "subscribers", 100_000, "of TATP")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "conversations:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	made := map[string]func(*options) workload{
		"tpcc": tpcc, "smallbank": smallbank, "ycsb": ycsb, "tatp": tatp, "empty": empty,
	}[o.workload]
	if made == nil {
		return fmt.Errorf("no such workload: %s", o.workload)
	}
	w := made(o)
	if o.load {
		return load(o, &w)
	}
	clients := make([]*client, o.clients)
	for i := range clients {
		var err error
		if clients[i], err = connect(o, &w, i); err != nil {
			return err
		}
		defer clients[i].conn.Close(context.Background())
	}
	var stop atomic.Bool
	var running sync.WaitGroup
	began := time.Now()
	for _, c := range clients {
		running.Add(1)
		go func() {
			defer running.Done()
			for !stop.Load() && c.failure == nil {
				c.failure = w.step(c)
			}
		}()
	}
	time.Sleep(time.Duration(o.seconds * float64(time.Second)))
	stop.Store(true)
	running.Wait()
	return report(o, clients, time.Since(began))
}

// Makes the workload's database.
func load(o *options, w *workload) error {
	conn, err := pgconn.Connect(context.Background(), o.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	scripts := []string{}
	for _, file := range w.files {
		text, err := os.ReadFile(filepath.Join(o.sql, file))
		if err != nil {
			return err
		}
		scripts = append(scripts, string(text))
	}
	for _, script := range append(scripts, w.load) {
		if _, err := conn.Exec(context.Background(), script).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

// Puts together what the clients have counted.
func report(o *options, clients []*client, took time.Duration) error {
	all := newCounts()
	for _, c := range clients {
		if c.failure != nil {
			return c.failure
		}
		all.add(c.counts)
	}
	seconds := took.Seconds()
	type transaction struct {
		Goodput   float64 `json:"goodput"`
		Done      int     `json:"done"`
		Refused   int     `json:"refused"`
		Retries   int     `json:"retries"`
		P50Millis float64 `json:"p50_ms"`
		P99Millis float64 `json:"p99_ms"`
	}
	type statement struct {
		Done      int     `json:"done"`
		P50Millis float64 `json:"p50_ms"`
		P99Millis float64 `json:"p99_ms"`
	}
	type failure struct {
		Where string `json:"where"`
		What  string `json:"what"`
		Times int    `json:"times"`
	}
	out := struct {
		Workload     string                 `json:"workload"`
		Isolation    string                 `json:"isolation"`
		Clients      int                    `json:"clients"`
		Seconds      float64                `json:"seconds"`
		Goodput      float64                `json:"goodput"`
		Retries      int                    `json:"retries"`
		Statements   int                    `json:"statements"`
		Transactions map[string]transaction `json:"transactions"`
		Kinds        map[string]statement   `json:"kinds"`
		Failures     []failure              `json:"failures"`
	}{
		Workload: o.workload, Isolation: o.isolation, Clients: o.clients, Seconds: seconds,
		Transactions: map[string]transaction{}, Kinds: map[string]statement{}, Failures: []failure{},
	}
	done := 0
	for name, t := range all.transactions {
		out.Transactions[name] = transaction{
			Goodput: float64(t.done) / seconds, Done: t.done, Refused: t.refused, Retries: t.retries,
			P50Millis: t.times.quantile(.5), P99Millis: t.times.quantile(.99),
		}
		done += t.done
		out.Retries += t.retries
	}
	out.Goodput = float64(done) / seconds
	for name, times := range all.statements {
		out.Statements += times.count
		out.Kinds[name] = statement{times.count, times.quantile(.5), times.quantile(.99)}
	}
	for f, times := range all.failures {
		out.Failures = append(out.Failures, failure{f.where, f.what, times})
	}
	sort.Slice(out.Failures, func(i, j int) bool { return out.Failures[i].Times > out.Failures[j].Times })
	return json.NewEncoder(os.Stdout).Encode(&out)
}

// A connection and what it has counted.
type client struct {
	conn    *pgconn.PgConn
	random  *rand.Rand
	number  int
	begin   string
	counts  *counts
	failure error
	// Of the transaction that runs.
	transaction string
	params      [][]byte
	text        []byte
}

func connect(o *options, w *workload, number int) (*client, error) {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, o.dsn)
	if err != nil {
		return nil, err
	}
	characteristics := "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + o.isolation
	if _, err := conn.Exec(ctx, characteristics).ReadAll(); err != nil {
		return nil, err
	}
	for name, text := range w.statements {
		if _, err := conn.Prepare(ctx, name, text, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &client{
		conn: conn, number: number, begin: "BEGIN ISOLATION LEVEL " + o.isolation, counts: newCounts(),
		random: rand.New(rand.NewPCG(o.seed, uint64(number))),
	}, nil
}

// A number from lo to hi.
func (c *client) between(lo, hi int) int {
	return lo + c.random.IntN(hi-lo+1)
}

// What a transaction ends with that the client takes back.
var refused = errors.New("taken back")

// Has a transaction of several statements until it succeeds, or is refused for good.
func (c *client) talk(name string, body func() error) error {
	return c.repeat(name, func() error {
		if err := c.simple(c.begin); err != nil {
			return err
		}
		err := body()
		if err == nil {
			return c.simple("COMMIT")
		}
		if again := c.simple("ROLLBACK"); again != nil {
			return again
		}
		return err
	})
}

// The same with what is its own transaction.
func (c *client) repeat(name string, attempt func() error) error {
	c.transaction = name
	t := c.counts.transaction(name)
	began := time.Now()
	for {
		err := attempt()
		switch {
		case err == nil:
			t.done++
		case err == refused:
			t.refused++
		case isConflict(err):
			t.retries++
			continue
		default:
			return fmt.Errorf("%s: %w", name, err)
		}
		t.times.add(time.Since(began))
		return nil
	}
}

func isConflict(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// A statement without parameters or rows, as its text.
func (c *client) simple(text string) error {
	began := time.Now()
	results := c.conn.Exec(context.Background(), text)
	for results.NextResult() {
		results.ResultReader().Close()
	}
	err := results.Close()
	kind := text
	if text == c.begin {
		kind = "BEGIN"
	}
	return c.timed(kind, began, err)
}

func (c *client) timed(kind string, began time.Time, err error) error {
	c.counts.statement(kind).add(time.Since(began))
	var e *pgconn.PgError
	if isConflict(err) && errors.As(err, &e) {
		what := e.Code + " " + e.Message
		if e.Detail != "" {
			what += " (" + e.Detail + ")"
		}
		c.counts.failures[where{c.transaction + ": " + kind, what}]++
	}
	return err
}

// Runs a prepared statement; hands its rows to `each`, in text.
func (c *client) query(name string, each func(row [][]byte) error, args ...any) error {
	c.params, c.text = c.params[:0], c.text[:0]
	for _, arg := range args {
		at := len(c.text)
		switch v := arg.(type) {
		case int:
			c.text = appendInt(c.text, v)
		case string:
			c.text = append(c.text, v...)
		case money:
			c.text = v.append(c.text)
		case nil:
			c.params = append(c.params, nil)
			continue
		default:
			return fmt.Errorf("a parameter of type %T", arg)
		}
		// Where the buffer moves, what was there before keeps what it holds.
		c.params = append(c.params, c.text[at:len(c.text):len(c.text)])
	}
	began := time.Now()
	rows := c.conn.ExecPrepared(context.Background(), name, c.params, nil, nil)
	var failed error
	for rows.NextRow() {
		if each != nil && failed == nil {
			failed = each(rows.Values())
		}
	}
	_, err := rows.Close()
	if err := c.timed(name, began, err); err != nil {
		return err
	}
	return failed
}

// The same, of no interest but whether it succeeds.
func (c *client) exec(name string, args ...any) error {
	return c.query(name, nil, args...)
}

// The same, of a statement that gives one row.
func (c *client) row(name string, each func(row [][]byte), args ...any) error {
	rows := 0
	err := c.query(name, func(row [][]byte) error {
		rows++
		each(row)
		return nil
	}, args...)
	if err == nil && rows != 1 {
		return fmt.Errorf("%s %v: %d rows", name, args, rows)
	}
	return err
}

// An empty statement, over and over.
func empty(*options) workload {
	return workload{step: func(c *client) error {
		return c.repeat("empty", func() error { return c.simple("") })
	}}
}
