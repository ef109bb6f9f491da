-- no-transaction
DROP INDEX CONCURRENTLY customer_name;
