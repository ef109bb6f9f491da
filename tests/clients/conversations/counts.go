package main

import (
	"math/bits"
	"strconv"
	"time"
)

// What a client has seen.
type counts struct {
	transactions map[string]*outcomes
	statements   map[string]*times
	failures     map[where]int
}

type outcomes struct {
	done, refused, retries int
	times                  times
}

// In which transaction and statement what happened.
type where struct{ where, what string }

func newCounts() *counts {
	return &counts{map[string]*outcomes{}, map[string]*times{}, map[where]int{}}
}

func (c *counts) transaction(name string) *outcomes {
	t := c.transactions[name]
	if t == nil {
		t = &outcomes{}
		c.transactions[name] = t
	}
	return t
}

func (c *counts) statement(name string) *times {
	t := c.statements[name]
	if t == nil {
		t = &times{}
		c.statements[name] = t
	}
	return t
}

func (c *counts) add(other *counts) {
	for name, o := range other.transactions {
		t := c.transaction(name)
		t.done, t.refused, t.retries = t.done+o.done, t.refused+o.refused, t.retries+o.retries
		t.times.join(&o.times)
	}
	for name, o := range other.statements {
		c.statement(name).join(o)
	}
	for at, n := range other.failures {
		c.failures[at] += n
	}
}

// Times of which 16 buckets an octave are kept: a quantile is at most 6 % too high.
type times struct {
	count   int
	buckets [64 * 16]int
}

func (t *times) add(time time.Duration) {
	n := uint64(max(time.Nanoseconds(), 16))
	octave := bits.Len64(n) - 5
	t.count++
	t.buckets[octave*16+int(n>>octave)-16]++
}

func (t *times) join(other *times) {
	t.count += other.count
	for i, n := range other.buckets {
		t.buckets[i] += n
	}
}

// In milliseconds: the end of the bucket that it lies in.
func (t *times) quantile(share float64) float64 {
	before, limit := 0, int(share*float64(t.count))
	for i, n := range t.buckets {
		if before += n; before > limit {
			return float64((uint64(i%16)+17)<<(i/16)) / 1e6
		}
	}
	return 0
}

// An amount in hundredths.
type money int

func (m money) append(to []byte) []byte {
	if m < 0 {
		to, m = append(to, '-'), -m
	}
	to = appendInt(to, int(m/100))
	return append(to, '.', byte('0'+m/10%10), byte('0'+m%10))
}

// Of digits with two behind the point.
func parseMoney(text []byte) money {
	var m money
	negative := false
	for _, digit := range text {
		switch {
		case digit == '-':
			negative = true
		case digit != '.':
			m = m*10 + money(digit-'0')
		}
	}
	if negative {
		return -m
	}
	return m
}

func appendInt(to []byte, n int) []byte {
	return strconv.AppendInt(to, int64(n), 10)
}

func parseInt(text []byte) int {
	n, _ := strconv.Atoi(string(text))
	return n
}
