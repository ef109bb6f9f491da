-- Views that are made again from what is shown of them have the same columns and rows.
CREATE TABLE sold (shop int, item text, n int);
INSERT INTO sold VALUES (1, 'a', 3), (1, 'b', 4), (2, 'a', 5), (2, NULL, 6);
CREATE VIEW by_shop (place, "how Many") AS SELECT shop, sum(n) FROM sold GROUP BY GROUPING SETS ((shop), ());
CREATE VIEW by_both AS SELECT shop, item, sum(n) AS total, grouping(shop, item) FROM sold GROUP BY CUBE (shop, item);
ALTER VIEW by_both RENAME COLUMN total TO "all";
CREATE VIEW few (a) AS SELECT shop, count(*) FROM sold GROUP BY ROLLUP (shop);
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['by_shop', 'by_both', 'few'] LOOP
        EXECUTE format('CREATE VIEW %I AS %s', name || '_again', pg_get_viewdef(name::regclass));
    END LOOP;
END $$;
SELECT attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid IN ('by_shop_again'::regclass, 'by_both_again'::regclass, 'few_again'::regclass) ORDER BY 1, 2;
SELECT * FROM by_shop_again ORDER BY 1;
SELECT * FROM by_both_again ORDER BY 1, 2, 4;
SELECT a FROM few_again ORDER BY 1;
SELECT count(*) FROM (SELECT * FROM by_both EXCEPT ALL SELECT * FROM by_both_again) d;
