DROP TABLE purchase, customer;
DROP DOMAIN code;
DROP TYPE place, mood;
