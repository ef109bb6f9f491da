package main

import (
	"fmt"
	"math"
	"strings"
)

// YCSB: half reads of a row by its key, each alone; 30 % updates of a field, each alone; 20 % both as a transaction.
// Keys are drawn by Zipf's law (theta .99) and scattered.
func ycsb(o *options) workload {
	statements := map[string]string{"read": "SELECT * FROM usertable WHERE ycsb_key = $1"}
	for field := range 10 {
		statements[fmt.Sprintf("update %d", field)] =
			fmt.Sprintf("UPDATE usertable SET field%d = $2 WHERE ycsb_key = $1", field)
	}
	keys := newZipf(o.records, .99)
	value := strings.Repeat("abcdefghij", 10)
	return workload{
		files:      []string{"ycsb/schema.sql", "ycsb/load.sql"},
		load:       fmt.Sprintf("CALL ycsb_load(1, %d)", o.records),
		statements: statements,
		step: func(c *client) error {
			key := keys.draw(c)
			update := func() error { return c.exec(fmt.Sprintf("update %d", c.between(0, 9)), key, value) }
			read := func() error { return c.row("read", func([][]byte) {}, key) }
			switch n := c.between(1, 100); {
			case n <= 50:
				return c.repeat("read", read)
			case n <= 80:
				return c.repeat("update", update)
			default:
				return c.talk("read and update", func() error {
					if err := read(); err != nil {
						return err
					}
					return update()
				})
			}
		},
	}
}

// Numbers that the first of n come up most (Gray et al., SIGMOD 1994).
type zipf struct {
	n                       int
	theta, alpha, zeta, eta float64
}

func newZipf(n int, theta float64) zipf {
	sum := func(n int) (s float64) {
		for i := 1; i <= n; i++ {
			s += 1 / math.Pow(float64(i), theta)
		}
		return
	}
	zeta := sum(n)
	eta := (1 - math.Pow(2/float64(n), 1-theta)) / (1 - sum(2)/zeta)
	return zipf{n, theta, 1 / (1 - theta), zeta, eta}
}

// A key from 1 to n.
func (z *zipf) draw(c *client) int {
	u := c.random.Float64()
	rank := 0
	switch uz := u * z.zeta; {
	case uz < 1:
	case uz < 1+math.Pow(.5, z.theta):
		rank = 1
	default:
		rank = min(int(float64(z.n)*math.Pow(z.eta*u-z.eta+1, z.alpha)), z.n-1)
	}
	// Neighbours in rank do not lie side by side.
	return int(uint64(rank)*2_654_435_761%uint64(z.n)) + 1
}
