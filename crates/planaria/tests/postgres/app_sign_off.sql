-- with contexts
-- Documents that are signed off: a machine of states in tables, rights by row, delegation, a history by triggers, a report as roles see it.
CREATE ROLE so_staff NOLOGIN;
CREATE ROLE so_ann NOLOGIN IN ROLE so_staff;
CREATE ROLE so_bob NOLOGIN IN ROLE so_staff;
CREATE ROLE so_audit NOLOGIN;
CREATE SCHEMA so;
GRANT USAGE ON SCHEMA so TO so_staff, so_audit;
SET search_path = so, public;
CREATE TYPE state AS ENUM ('draft', 'submitted', 'approved', 'rejected', 'archived');
CREATE TABLE moves (from_state state, to_state state, needs text NOT NULL CHECK (needs IN ('owner', 'approver')), PRIMARY KEY (from_state, to_state));
INSERT INTO moves VALUES ('draft', 'submitted', 'owner'), ('submitted', 'approved', 'approver'), ('submitted', 'rejected', 'approver'), ('rejected', 'draft', 'owner'), ('approved', 'archived', 'owner'), ('submitted', 'draft', 'owner');
CREATE TABLE docs (id int PRIMARY KEY, owner name NOT NULL DEFAULT current_user, title text NOT NULL, amount numeric(10,2) NOT NULL CHECK (amount > 0), state state NOT NULL DEFAULT 'draft', secret boolean NOT NULL DEFAULT false, version int NOT NULL DEFAULT 1);
CREATE TABLE approvers (who name PRIMARY KEY, up_to numeric NOT NULL, deputy name);
CREATE TABLE history (doc int NOT NULL, version int NOT NULL, who name NOT NULL, was state, is_now state, note text, PRIMARY KEY (doc, version));
INSERT INTO approvers VALUES ('so_bob', 1000, NULL), ('so_ann', 100, 'so_bob');
GRANT SELECT ON moves, approvers TO so_staff;
GRANT SELECT, INSERT, DELETE ON docs TO so_staff;
GRANT UPDATE (title, amount, state) ON docs TO so_staff;
GRANT SELECT ON history TO so_staff;
GRANT SELECT ON ALL TABLES IN SCHEMA so TO so_audit;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
ALTER TABLE history ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION may_approve(p_amount numeric) RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT EXISTS (SELECT FROM approvers a WHERE (a.who = current_user OR a.deputy = current_user) AND p_amount <= a.up_to) $$;
CREATE POLICY own ON docs TO so_staff USING (owner = current_user) WITH CHECK (owner = current_user);
CREATE POLICY to_approve ON docs FOR SELECT TO so_staff USING (state <> 'draft' AND may_approve(amount));
CREATE POLICY approve ON docs FOR UPDATE TO so_staff USING (state = 'submitted' AND may_approve(amount)) WITH CHECK (state IN ('approved', 'rejected'));
CREATE POLICY not_secret ON docs AS RESTRICTIVE FOR SELECT TO so_staff USING (NOT secret OR owner = current_user);
CREATE POLICY keep ON docs AS RESTRICTIVE FOR DELETE TO so_staff USING (state = 'draft');
CREATE POLICY audit ON docs FOR SELECT TO so_audit USING (true);
CREATE POLICY seen ON history FOR SELECT TO so_staff USING (doc IN (SELECT id FROM docs));
CREATE POLICY all_seen ON history FOR SELECT TO so_audit USING (true);
CREATE FUNCTION check_move() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE m moves;
BEGIN
  IF NEW.state = OLD.state THEN
    IF OLD.state <> 'draft' THEN RAISE EXCEPTION 'document % is %', OLD.id, OLD.state USING ERRCODE = 'SO001'; END IF;
    RETURN NEW;
  END IF;
  SELECT * INTO m FROM moves WHERE (from_state, to_state) = (OLD.state, NEW.state);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no way from % to %', OLD.state, NEW.state USING ERRCODE = 'SO002', HINT = format('Possible: %s.', (SELECT string_agg(to_state::text, ', ' ORDER BY to_state) FROM moves WHERE from_state = OLD.state));
  END IF;
  IF m.needs = 'owner' AND current_user <> OLD.owner OR m.needs = 'approver' AND current_user = OLD.owner THEN
    RAISE EXCEPTION 'that is not for %', current_user USING ERRCODE = 'insufficient_privilege';
  END IF;
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER check_move BEFORE UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION check_move();
CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = so AS $$
BEGIN
  INSERT INTO history VALUES (NEW.id, NEW.version, session_user, CASE TG_OP WHEN 'UPDATE' THEN OLD.state END, NEW.state, nullif(current_setting('so.note', true), ''));
  RETURN NULL;
END $$;
CREATE TRIGGER keep_history AFTER INSERT OR UPDATE OF state ON docs FOR EACH ROW EXECUTE FUNCTION keep_history();
SET ROLE so_ann;
INSERT INTO docs (id, title, amount) VALUES (1, 'chairs', 80), (2, 'desks', 900), (3, 'house', 90000) RETURNING id, owner, state;
INSERT INTO docs (id, owner, title, amount) VALUES (4, 'so_bob', 'not mine', 1);
INSERT INTO docs (id, title, amount) VALUES (5, 'free', 0);
UPDATE docs SET state = 'submitted' RETURNING id, version;
UPDATE docs SET version = 9;
UPDATE docs SET title = 'x' WHERE id = 1;
UPDATE docs SET state = 'approved' WHERE id = 1;
DELETE FROM docs WHERE id = 1;
SELECT id, title FROM docs ORDER BY id;
RESET ROLE;
SET ROLE so_bob;
SELECT id, owner, title, amount FROM docs ORDER BY id;
SELECT set_config('so.note', 'fine by me', false);
UPDATE docs SET state = 'approved' WHERE amount < 500 RETURNING *;
UPDATE docs SET state = 'archived' WHERE id = 2;
UPDATE docs SET state = 'rejected', title = title || '!' WHERE id = 2 RETURNING id, title, state;
SELECT set_config('so.note', '', false);
UPDATE docs SET state = 'draft' WHERE id = 2;
INSERT INTO docs (id, title, amount) VALUES (10, 'mine', 5);
INSERT INTO docs (id, title, amount) VALUES (1, 'clash', 5) ON CONFLICT (id) DO NOTHING;
INSERT INTO docs (id, title, amount) VALUES (1, 'clash', 5) ON CONFLICT (id) DO UPDATE SET title = EXCLUDED.title;
SELECT doc, version, was, is_now, note FROM history ORDER BY 1, 2;
DELETE FROM docs RETURNING id;
RESET ROLE;
SET ROLE so_audit;
SELECT id, state, version FROM docs ORDER BY id;
SELECT count(*) FROM history;
UPDATE docs SET title = 'x';
RESET ROLE;
CREATE FUNCTION advance(p_doc int, p_to state) RETURNS state LANGUAGE plpgsql AS $$
DECLARE d docs;
BEGIN
  UPDATE docs SET state = p_to WHERE id = p_doc RETURNING * INTO d;
  IF NOT FOUND THEN RAISE EXCEPTION 'no document % for %', p_doc, current_user USING ERRCODE = 'P0002'; END IF;
  RETURN d.state;
END $$;
CREATE FUNCTION advance_all(VARIADIC p_docs int[]) RETURNS TABLE (doc int, ok boolean, message text) LANGUAGE plpgsql AS $$
BEGIN
  FOREACH doc IN ARRAY p_docs LOOP
    BEGIN
      message := advance(doc, (SELECT m.to_state FROM moves m JOIN docs d ON d.state = m.from_state WHERE d.id = doc ORDER BY m.to_state LIMIT 1));
      ok := true;
    EXCEPTION WHEN insufficient_privilege OR no_data_found THEN ok := false; message := SQLERRM;
      WHEN SQLSTATE 'SO002' THEN ok := NULL; message := SQLSTATE;
    END;
    RETURN NEXT;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION advance_all(int[]) TO so_staff;
SET ROLE so_ann;
SELECT * FROM advance_all(1, 2, 3, 10);
SELECT * FROM advance_all(VARIADIC ARRAY[2, 2]);
RESET ROLE;
SET ROLE so_bob;
SELECT * FROM advance_all(1, 2, 3);
RESET ROLE;
CREATE VIEW open_docs WITH (security_invoker = true) AS SELECT owner, state, count(*) AS n, sum(amount) AS total, array_agg(id ORDER BY id) AS ids FROM docs GROUP BY GROUPING SETS ((owner, state), (owner), ());
CREATE VIEW all_docs AS SELECT id, title, state FROM docs;
GRANT SELECT ON open_docs, all_docs TO so_staff;
SET ROLE so_bob;
SELECT * FROM open_docs ORDER BY owner NULLS LAST, state NULLS LAST;
SELECT * FROM all_docs ORDER BY id;
SELECT title FROM docs WHERE id = 3;
SELECT has_table_privilege('docs', 'UPDATE'), has_column_privilege('docs', 'state', 'UPDATE'), has_any_column_privilege('docs', 'UPDATE');
SELECT * FROM docs FOR UPDATE;
SET ROLE so_ann;
RESET ROLE;
ALTER TABLE docs FORCE ROW LEVEL SECURITY;
SELECT policyname, permissive, roles, cmd, qual, with_check FROM pg_policies WHERE tablename = 'docs' ORDER BY 1;
SET row_security = off;
SELECT count(*) FROM docs;
SET ROLE so_ann;
SELECT count(*) FROM docs;
RESET ROLE;
RESET row_security;
DO $$
DECLARE r record; role name;
BEGIN
  FOREACH role IN ARRAY '{so_ann,so_bob,so_audit}'::name[] LOOP
    EXECUTE format('SET LOCAL ROLE %I', role);
    FOR r IN EXECUTE 'SELECT state, count(*) AS n FROM docs GROUP BY 1 ORDER BY 1' LOOP RAISE NOTICE '% sees % %', current_user, r.n, r.state; END LOOP;
  END LOOP;
END $$;
SELECT current_user;
SELECT doc, string_agg(coalesce(was::text, '-') || '>' || is_now, ' ' ORDER BY version) AS way, count(*) FILTER (WHERE note IS NOT NULL) AS notes FROM history GROUP BY doc ORDER BY doc;
SELECT doc, is_now, lead(is_now) OVER (PARTITION BY doc ORDER BY version), row_number() OVER w FROM history WINDOW w AS (PARTITION BY doc ORDER BY version DESC) ORDER BY doc, version;
REASSIGN OWNED BY so_bob TO CURRENT_USER;
DROP OWNED BY so_staff, so_ann, so_bob, so_audit;
RESET search_path;
DROP SCHEMA so CASCADE;
DROP ROLE so_ann, so_bob, so_audit, so_staff;
