ALTER TABLE customer ADD COLUMN updated_at timestamptz;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := '2024-02-02 00:00Z';
    RETURN NEW;
END
$$;
CREATE TRIGGER customer_touch BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION touch();
DO $$ BEGIN PERFORM 1; END $$;
