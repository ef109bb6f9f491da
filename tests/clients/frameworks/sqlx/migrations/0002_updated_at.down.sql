DROP TRIGGER customer_touch ON customer;
DROP FUNCTION touch();
ALTER TABLE customer DROP COLUMN updated_at;
