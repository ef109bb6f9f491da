package main

import (
	"fmt"
	"strconv"
)

// TPC-C: the five transactions in the shares 45/43/4/4/4, as terminals have them that do not wait.
func tpcc(o *options) workload {
	return workload{
		files: []string{"tpcc/schema.sql", "tpcc/load.sql"},
		load:  fmt.Sprintf("CALL tpcc_load(1, %d)", o.warehouses),
		statements: map[string]string{
			"get warehouse":     "SELECT w_tax FROM warehouse WHERE w_id = $1",
			"get customer":      "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
			"lock district":     "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
			"next order":        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2",
			"insert order":      "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, localtimestamp, NULL, $5, $6)",
			"insert new order":  "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)",
			"get item":          "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1",
			"lock stock":        "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE",
			"update stock":      "UPDATE stock SET s_quantity = $3, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $5 WHERE s_w_id = $1 AND s_i_id = $2",
			"insert line":       "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)",
			"pay warehouse":     "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING w_name",
			"pay district":      "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_name",
			"customers by name": "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
			"pay customer":      "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_credit, c_data",
			"note customer":     "UPDATE customer SET c_data = $4 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
			"insert history":    "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, localtimestamp, $6, $7)",
			"customer balance":  "SELECT c_first, c_last, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
			"last order":        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1",
			"order lines":       "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
			"oldest new order":  "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1",
			"delete new order":  "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
			"deliver order":     "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id",
			"deliver lines":     "UPDATE order_line SET ol_delivery_d = localtimestamp WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
			"sum of lines":      "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
			"charge customer":   "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
			"district order":    "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2",
			"low stock":         "SELECT count(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
		},
		step: func(c *client) error {
			// Terminals belong to a warehouse.
			t := terminal{c, o.warehouses, c.number%o.warehouses + 1, c.between(1, 10)}
			switch n := c.between(1, 100); {
			case n <= 45:
				return t.newOrder()
			case n <= 88:
				return t.payment()
			case n <= 92:
				return t.orderStatus()
			case n <= 96:
				return t.delivery()
			default:
				return t.stockLevel()
			}
		},
	}
}

// Where a transaction is asked for.
type terminal struct {
	*client
	warehouses, w, d int
}

const customersOfDistrict, items = 3000, 100_000

// NURand(a, lo, hi) with the constant k (clause 2.1.6).
func (t *terminal) skewed(a, lo, hi, k int) int {
	return ((t.between(0, a)|t.between(lo, hi))+k)%(hi-lo+1) + lo
}

func (t *terminal) someCustomer() int {
	return t.skewed(1023, 1, customersOfDistrict, 259)
}

func (t *terminal) someName() string {
	part := [...]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
	n := t.skewed(255, 0, 999, 223)
	return part[n/100] + part[n/10%10] + part[n%10]
}

// Another warehouse, if there is one.
func (t *terminal) remote() int {
	if t.warehouses == 1 {
		return t.w
	}
	return (t.w+t.between(0, t.warehouses-2))%t.warehouses + 1
}

type line struct{ item, supply, quantity int }

func (t *terminal) newOrder() error {
	customer := t.someCustomer()
	lines := make([]line, t.between(5, 15))
	local := 1
	for i := range lines {
		lines[i] = line{t.skewed(8191, 1, items, 7911), t.w, t.between(1, 10)}
		if t.between(1, 100) == 1 {
			lines[i].supply = t.remote()
		}
		if lines[i].supply != t.w {
			local = 0
		}
	}
	if t.between(1, 100) == 1 {
		lines[len(lines)-1].item = items + 1
	}
	return t.talk("new order", func() error {
		nothing := func([][]byte) {}
		if err := t.row("get customer", nothing, t.w, t.d, customer); err != nil {
			return err
		}
		if err := t.row("get warehouse", nothing, t.w); err != nil {
			return err
		}
		order := 0
		next := func(row [][]byte) { order = parseInt(row[0]) }
		if err := t.row("lock district", next, t.w, t.d); err != nil {
			return err
		}
		if err := t.exec("next order", t.w, t.d); err != nil {
			return err
		}
		if err := t.exec("insert order", t.w, t.d, order, customer, len(lines), local); err != nil {
			return err
		}
		if err := t.exec("insert new order", t.w, t.d, order); err != nil {
			return err
		}
		for i, line := range lines {
			if err := t.orderLine(order, i+1, line); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *terminal) orderLine(order, number int, line line) error {
	found, price := false, money(0)
	item := func(row [][]byte) error {
		found, price = true, parseMoney(row[0])
		return nil
	}
	if err := t.query("get item", item, line.item); err != nil {
		return err
	}
	if !found {
		return refused
	}
	quantity, dist := 0, ""
	stock := func(row [][]byte) { quantity, dist = parseInt(row[0]), string(row[1+t.d]) }
	if err := t.row("lock stock", stock, line.supply, line.item); err != nil {
		return err
	}
	if quantity >= line.quantity+10 {
		quantity -= line.quantity
	} else {
		quantity += 91 - line.quantity
	}
	remote := 0
	if line.supply != t.w {
		remote = 1
	}
	if err := t.exec("update stock", line.supply, line.item, quantity, line.quantity, remote); err != nil {
		return err
	}
	amount := price * money(line.quantity)
	return t.exec("insert line", t.w, t.d, order, number, line.item, line.supply, line.quantity, amount, dist)
}

// The customer that is asked for: by a number, or the middle one of a name.
type wanted struct {
	w, d, id int
	name     string
}

func (t *terminal) wanted(w, d int) wanted {
	if t.between(1, 100) <= 60 {
		return wanted{w, d, 0, t.someName()}
	}
	return wanted{w, d, t.someCustomer(), ""}
}

func (t *terminal) find(customer wanted) (int, error) {
	if customer.id != 0 {
		return customer.id, nil
	}
	var ids []int
	each := func(row [][]byte) error {
		ids = append(ids, parseInt(row[0]))
		return nil
	}
	if err := t.query("customers by name", each, customer.w, customer.d, customer.name); err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, fmt.Errorf("no customer %s", customer.name)
	}
	return ids[(len(ids)-1)/2], nil
}

func (t *terminal) payment() error {
	w, d := t.w, t.d
	if t.between(1, 100) <= 15 {
		w, d = t.remote(), t.between(1, 10)
	}
	customer, amount := t.wanted(w, d), money(t.between(100, 500_000))
	return t.talk("payment", func() error {
		var names [2]string
		if err := t.row("pay warehouse", func(row [][]byte) { names[0] = string(row[0]) }, t.w, amount); err != nil {
			return err
		}
		if err := t.row("pay district", func(row [][]byte) { names[1] = string(row[0]) }, t.w, t.d, amount); err != nil {
			return err
		}
		id, err := t.find(customer)
		if err != nil {
			return err
		}
		bad, data := false, ""
		paid := func(row [][]byte) { bad, data = string(row[0]) == "BC", string(row[1]) }
		if err := t.row("pay customer", paid, w, d, id, amount); err != nil {
			return err
		}
		if bad {
			data = strconv.Itoa(id) + " " + strconv.Itoa(d) + " " + strconv.Itoa(w) + "|" + data
			if err := t.exec("note customer", w, d, id, data[:min(len(data), 500)]); err != nil {
				return err
			}
		}
		return t.exec("insert history", id, d, w, t.d, t.w, amount, names[0]+"    "+names[1])
	})
}

func (t *terminal) orderStatus() error {
	customer := t.wanted(t.w, t.d)
	return t.talk("order status", func() error {
		id, err := t.find(customer)
		if err != nil {
			return err
		}
		if err := t.exec("customer balance", t.w, t.d, id); err != nil {
			return err
		}
		order := 0
		if err := t.row("last order", func(row [][]byte) { order = parseInt(row[0]) }, t.w, t.d, id); err != nil {
			return err
		}
		return t.exec("order lines", t.w, t.d, order)
	})
}

func (t *terminal) delivery() error {
	carrier := t.between(1, 10)
	return t.talk("delivery", func() error {
		for d := 1; d <= 10; d++ {
			order := 0
			oldest := func(row [][]byte) error {
				order = parseInt(row[0])
				return nil
			}
			if err := t.query("oldest new order", oldest, t.w, d); err != nil {
				return err
			}
			if order == 0 {
				continue
			}
			if err := t.exec("delete new order", t.w, d, order); err != nil {
				return err
			}
			customer, sum := 0, money(0)
			delivered := func(row [][]byte) { customer = parseInt(row[0]) }
			if err := t.row("deliver order", delivered, t.w, d, order, carrier); err != nil {
				return err
			}
			if err := t.exec("deliver lines", t.w, d, order); err != nil {
				return err
			}
			if err := t.row("sum of lines", func(row [][]byte) { sum = parseMoney(row[0]) }, t.w, d, order); err != nil {
				return err
			}
			if err := t.exec("charge customer", t.w, d, customer, sum); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *terminal) stockLevel() error {
	threshold := t.between(10, 20)
	return t.talk("stock level", func() error {
		next := 0
		if err := t.row("district order", func(row [][]byte) { next = parseInt(row[0]) }, t.w, t.d); err != nil {
			return err
		}
		return t.exec("low stock", t.w, t.d, next-20, next, t.w, threshold)
	})
}
