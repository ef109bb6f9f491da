-- What holds after transactions that insert no rows (parameter "no inserts"), in place of the conditions that compare
-- with rows of orders, order_line and history.  "violations" must be 0 in every row.

SELECT * FROM (
SELECT 'N01 sum(w_ytd) = sum(c_ytd_payment)' AS condition,
       CASE WHEN (SELECT sum(w_ytd) FROM warehouse) = (SELECT sum(c_ytd_payment) FROM customer)
            THEN 0::bigint ELSE 1 END AS violations
UNION ALL
SELECT 'N02 5 to 15 lines were ordered for each order number',
       CASE WHEN (SELECT sum(s_order_cnt) FROM stock)
                 BETWEEN 5 * (SELECT sum(d_next_o_id - 3001) FROM district)
                     AND 15 * (SELECT sum(d_next_o_id - 3001) FROM district)
            THEN 0::bigint ELSE 1 END
UNION ALL
SELECT 'N03 1 to 10 pieces were ordered by each line', count(*)
FROM stock WHERE s_ytd NOT BETWEEN s_order_cnt AND 10 * s_order_cnt OR s_remote_cnt > s_order_cnt
UNION ALL
SELECT 'N04 no order and no payment has left a row', count(*)
FROM (SELECT o_w_id FROM orders GROUP BY o_w_id, o_d_id HAVING count(*) <> 3000
      UNION ALL
      SELECT h_w_id FROM history GROUP BY h_w_id, h_d_id HAVING count(*) <> 3000) AS grown
) AS t
ORDER BY condition;
