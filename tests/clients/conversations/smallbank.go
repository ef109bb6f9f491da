package main

import "fmt"

// SmallBank: six transactions on accounts that are found by name.
func smallbank(o *options) workload {
	return workload{
		files: []string{"smallbank/schema.sql", "smallbank/load.sql"},
		load:  fmt.Sprintf("CALL sb_load(%d)", o.customers),
		statements: map[string]string{
			"account":           "SELECT custid FROM sb_account WHERE name = $1",
			"savings":           "SELECT bal FROM sb_savings WHERE custid = $1",
			"checking":          "SELECT bal FROM sb_checking WHERE custid = $1",
			"change savings":    "UPDATE sb_savings SET bal = bal + $2 WHERE custid = $1",
			"change checking":   "UPDATE sb_checking SET bal = bal + $2 WHERE custid = $1",
			"withdraw savings":  "UPDATE sb_savings SET bal = 0 WHERE custid = $1",
			"withdraw checking": "UPDATE sb_checking SET bal = 0 WHERE custid = $1",
		},
		step: func(c *client) error {
			a := c.between(1, o.customers)
			b := (a+c.between(0, o.customers-2))%o.customers + 1
			amount := money(c.between(1, 10_000))
			switch n := c.between(1, 100); {
			case n <= 15:
				return c.balance(a)
			case n <= 30:
				return c.depositChecking(a, amount)
			case n <= 45:
				return c.transactSavings(a, money(c.between(-10_000, 10_000)))
			case n <= 60:
				return c.amalgamate(a, b)
			case n <= 75:
				return c.writeCheck(a, amount)
			default:
				return c.sendPayment(a, b, amount)
			}
		},
	}
}

func (c *client) account(n int) (id int, err error) {
	err = c.row("account", func(row [][]byte) { id = parseInt(row[0]) }, fmt.Sprintf("Customer%012d", n))
	return
}

func (c *client) held(kind string, id int) (held money, err error) {
	err = c.row(kind, func(row [][]byte) { held = parseMoney(row[0]) }, id)
	return
}

func (c *client) balance(n int) error {
	return c.talk("balance", func() error {
		id, err := c.account(n)
		if err != nil {
			return err
		}
		if _, err = c.held("savings", id); err != nil {
			return err
		}
		_, err = c.held("checking", id)
		return err
	})
}

func (c *client) depositChecking(n int, amount money) error {
	return c.talk("deposit checking", func() error {
		id, err := c.account(n)
		if err != nil {
			return err
		}
		return c.exec("change checking", id, amount)
	})
}

func (c *client) transactSavings(n int, amount money) error {
	return c.talk("transact savings", func() error {
		id, err := c.account(n)
		if err != nil {
			return err
		}
		savings, err := c.held("savings", id)
		if err != nil {
			return err
		}
		if savings+amount < 0 {
			return refused
		}
		return c.exec("change savings", id, amount)
	})
}

// All of the one's money goes to the other's checking account.
func (c *client) amalgamate(from, to int) error {
	return c.talk("amalgamate", func() error {
		a, err := c.account(from)
		if err != nil {
			return err
		}
		b, err := c.account(to)
		if err != nil {
			return err
		}
		savings, err := c.held("savings", a)
		if err != nil {
			return err
		}
		checking, err := c.held("checking", a)
		if err != nil {
			return err
		}
		if err := c.exec("withdraw savings", a); err != nil {
			return err
		}
		if err := c.exec("withdraw checking", a); err != nil {
			return err
		}
		return c.exec("change checking", b, savings+checking)
	})
}

// A check over the total is paid with a penalty of 1.
func (c *client) writeCheck(n int, amount money) error {
	return c.talk("write check", func() error {
		id, err := c.account(n)
		if err != nil {
			return err
		}
		savings, err := c.held("savings", id)
		if err != nil {
			return err
		}
		checking, err := c.held("checking", id)
		if err != nil {
			return err
		}
		if savings+checking < amount {
			amount += 100
		}
		return c.exec("change checking", id, -amount)
	})
}

func (c *client) sendPayment(from, to int, amount money) error {
	return c.talk("send payment", func() error {
		a, err := c.account(from)
		if err != nil {
			return err
		}
		b, err := c.account(to)
		if err != nil {
			return err
		}
		checking, err := c.held("checking", a)
		if err != nil {
			return err
		}
		if checking < amount {
			return refused
		}
		if err := c.exec("change checking", a, -amount); err != nil {
			return err
		}
		return c.exec("change checking", b, amount)
	})
}
