package main

import (
	"fmt"
	"strings"
)

// TATP: 80 % reads of one row or few, 20 % small changes; what is one statement runs alone. A row that is not there,
// or is there already, is no failure.
func tatp(o *options) workload {
	n := o.subscribers
	fill := []string{
		"INSERT INTO subscriber SELECT i, lpad(i::text, 15, '0'), i % 2, i % 16, i % 256, i, i + 1 FROM generate_series(1, %d) AS g(i)",
		"INSERT INTO access_info SELECT i, t, i % 256, t, 'abc', 'abcde' FROM generate_series(1, %d) AS g(i), generate_series(1, 4) AS h(t) WHERE (i + t) % 4 <= i % 4",
		"INSERT INTO special_facility SELECT i, t, CASE WHEN (i + t) % 7 = 0 THEN 0 ELSE 1 END, 0, 0, 'abcde' FROM generate_series(1, %d) AS g(i), generate_series(1, 4) AS h(t) WHERE (i + t) % 4 <= i % 4",
		"INSERT INTO call_forwarding SELECT s_id, sf_type, t * 8, t * 8 + 8, '1' FROM special_facility, generate_series(0, 2) AS h(t) WHERE (s_id + sf_type + t) % 2 = 0 AND s_id <= %d",
	}
	for i := range fill {
		fill[i] = strings.Replace(fill[i], "%d", fmt.Sprint(n), 1)
	}
	return workload{
		files: []string{"../../../tests/clients/conversations/tatp.sql"},
		load:  strings.Join(fill, ";\n"),
		statements: map[string]string{
			"get subscriber": "SELECT s_id, sub_nbr, bit_1, hex_1, byte2_1, msc_location, vlr_location FROM subscriber WHERE s_id = $1",
			"get destination": `SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf
				WHERE sf.s_id = $1 AND sf.sf_type = $2 AND sf.is_active = 1
				AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type AND cf.start_time <= $3 AND $4 < cf.end_time`,
			"get access":        "SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = $1 AND ai_type = $2",
			"update bit":        "UPDATE subscriber SET bit_1 = $2 WHERE s_id = $1",
			"update facility":   "UPDATE special_facility SET data_a = $3 WHERE s_id = $1 AND sf_type = $2",
			"update location":   "UPDATE subscriber SET vlr_location = $2 WHERE sub_nbr = $1",
			"find subscriber":   "SELECT s_id FROM subscriber WHERE sub_nbr = $1",
			"get facilities":    "SELECT sf_type FROM special_facility WHERE s_id = $1",
			"insert forwarding": "INSERT INTO call_forwarding VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			"delete forwarding": "DELETE FROM call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3",
		},
		step: func(c *client) error {
			id, kind := c.between(1, n), c.between(1, 4)
			number := fmt.Sprintf("%015d", id)
			start := c.between(0, 2) * 8
			switch p := c.between(1, 100); {
			case p <= 35:
				return c.repeat("get subscriber data", func() error { return c.exec("get subscriber", id) })
			case p <= 45:
				end := c.between(1, 24)
				return c.repeat("get new destination", func() error { return c.exec("get destination", id, kind, start, end) })
			case p <= 80:
				return c.repeat("get access data", func() error { return c.exec("get access", id, kind) })
			case p <= 82:
				bit, data := c.between(0, 1), c.between(0, 255)
				return c.talk("update subscriber data", func() error {
					if err := c.exec("update bit", id, bit); err != nil {
						return err
					}
					return c.exec("update facility", id, kind, data)
				})
			case p <= 96:
				location := c.between(1, 1<<30)
				return c.repeat("update location", func() error { return c.exec("update location", number, location) })
			case p <= 98:
				return c.talk("insert call forwarding", func() error {
					if err := c.row("find subscriber", func(row [][]byte) { id = parseInt(row[0]) }, number); err != nil {
						return err
					}
					if err := c.exec("get facilities", id); err != nil {
						return err
					}
					return c.exec("insert forwarding", id, kind, start, start+8, number)
				})
			default:
				return c.talk("delete call forwarding", func() error {
					if err := c.row("find subscriber", func(row [][]byte) { id = parseInt(row[0]) }, number); err != nil {
						return err
					}
					return c.exec("delete forwarding", id, kind, start)
				})
			}
		},
	}
}
