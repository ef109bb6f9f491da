--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: Odd one; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA "Odd one";


ALTER SCHEMA "Odd one" OWNER TO postgres;

--
-- Name: stock; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA stock;


ALTER SCHEMA stock OWNER TO postgres;

--
-- Name: SCHEMA stock; Type: COMMENT; Schema: -; Owner: postgres
--

COMMENT ON SCHEMA stock IS 'what there is';


--
-- Name: amount; Type: DOMAIN; Schema: stock; Owner: postgres
--

CREATE DOMAIN stock.amount AS integer
	CONSTRAINT amount_check CHECK ((VALUE > 0));


ALTER DOMAIN stock.amount OWNER TO postgres;

--
-- Name: kind; Type: TYPE; Schema: stock; Owner: postgres
--

CREATE TYPE stock.kind AS ENUM (
    'part',
    'whole'
);


ALTER TYPE stock.kind OWNER TO postgres;

--
-- Name: names(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.names() RETURNS SETOF text
    LANGUAGE sql
    AS $$SELECT name FROM customer ORDER BY 1$$;


ALTER FUNCTION public.names() OWNER TO postgres;

--
-- Name: FUNCTION names(); Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON FUNCTION public.names() IS 'all of them';


--
-- Name: pay(integer, numeric); Type: PROCEDURE; Schema: public; Owner: postgres
--

CREATE PROCEDURE public.pay(IN p_order integer, INOUT p_left numeric)
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE "Order" SET state = 'paid' WHERE id = p_order;
    p_left := p_left - (SELECT total FROM "Order" WHERE id = p_order);
END $$;


ALTER PROCEDURE public.pay(IN p_order integer, INOUT p_left numeric) OWNER TO postgres;

--
-- Name: total_of(bigint, text); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.total_of(p_customer bigint, p_state text DEFAULT 'paid'::text) RETURNS numeric
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE o "Order"%ROWTYPE; t numeric := 0;
BEGIN
    FOR o IN SELECT * FROM "Order" WHERE customer_id = p_customer AND state = p_state LOOP
        t := t + o.total;
    END LOOP;
    RETURN t;
END $$;


ALTER FUNCTION public.total_of(p_customer bigint, p_state text) OWNER TO postgres;

--
-- Name: twice(integer); Type: FUNCTION; Schema: stock; Owner: postgres
--

CREATE FUNCTION stock.twice(n integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$SELECT 2 * n$$;


ALTER FUNCTION stock.twice(n integer) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: item; Type: TABLE; Schema: stock; Owner: postgres
--

CREATE TABLE stock.item (
    id integer NOT NULL,
    kind stock.kind DEFAULT 'part'::stock.kind,
    n stock.amount DEFAULT 3,
    doubled integer GENERATED ALWAYS AS (stock.twice(id)) STORED,
    CONSTRAINT positive CHECK ((stock.twice(id) > 0))
);


ALTER TABLE stock.item OWNER TO postgres;

--
-- Name: item_id_seq; Type: SEQUENCE; Schema: stock; Owner: postgres
--

CREATE SEQUENCE stock.item_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE stock.item_id_seq OWNER TO postgres;

--
-- Name: item_id_seq; Type: SEQUENCE OWNED BY; Schema: stock; Owner: postgres
--

ALTER SEQUENCE stock.item_id_seq OWNED BY stock.item.id;


--
-- Name: T x; Type: TABLE; Schema: Odd one; Owner: postgres
--

CREATE TABLE "Odd one"."T x" (
    a bigint,
    b bigint DEFAULT nextval('stock.item_id_seq'::regclass)
);


ALTER TABLE "Odd one"."T x" OWNER TO postgres;

--
-- Name: customer; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.customer (
    id bigint NOT NULL,
    name character varying(40) NOT NULL,
    email text,
    born date,
    since timestamp(3) with time zone DEFAULT '2026-01-02 03:04:05.678+00'::timestamp with time zone,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    profile jsonb DEFAULT '{}'::jsonb NOT NULL,
    raw json,
    score real,
    wakes time(0) without time zone,
    stays interval,
    key uuid DEFAULT gen_random_uuid(),
    photo bytea,
    CONSTRAINT customer_email_check CHECK ((email ~~ '%@%'::text))
);


ALTER TABLE public.customer OWNER TO postgres;

--
-- Name: TABLE customer; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public.customer IS 'who buys';


--
-- Name: COLUMN customer.tags; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON COLUMN public.customer.tags IS 'it''s theirs';


--
-- Name: w; Type: VIEW; Schema: Odd one; Owner: postgres
--

CREATE VIEW "Odd one".w AS
 SELECT i.id,
    c.name
   FROM (stock.item i
     JOIN public.customer c ON ((c.id = i.id)));


ALTER TABLE "Odd one".w OWNER TO postgres;

--
-- Name: Order; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public."Order" (
    id integer NOT NULL,
    customer_id bigint NOT NULL,
    parent_id integer,
    state character(4) DEFAULT 'new'::bpchar NOT NULL,
    total numeric(12,2) DEFAULT 0,
    placed timestamp without time zone DEFAULT '2026-11-26 10:00:00'::timestamp without time zone,
    CONSTRAINT "Order_total_check" CHECK ((total >= (0)::numeric)),
    CONSTRAINT known CHECK (((state = ANY (ARRAY['new'::bpchar, 'paid'::bpchar, 'sent'::bpchar])) AND ((total > (0)::numeric) OR (state = 'new'::bpchar))))
);


ALTER TABLE public."Order" OWNER TO postgres;

--
-- Name: Order_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public."Order_id_seq"
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public."Order_id_seq" OWNER TO postgres;

--
-- Name: Order_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public."Order_id_seq" OWNED BY public."Order".id;


--
-- Name: customer_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

ALTER TABLE public.customer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.customer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: invoice; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.invoice
    START WITH 1000
    INCREMENT BY 10
    MINVALUE 1000
    MAXVALUE 100000
    CACHE 1
    CYCLE;


ALTER TABLE public.invoice OWNER TO postgres;

--
-- Name: invoice_line; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.invoice_line (
    invoice integer DEFAULT nextval('public.invoice'::regclass) NOT NULL,
    line smallint NOT NULL,
    order_id integer
);


ALTER TABLE public.invoice_line OWNER TO postgres;

--
-- Name: open_orders; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.open_orders AS
 SELECT o.id,
    c.name
   FROM (public."Order" o
     JOIN public.customer c ON ((c.id = o.customer_id)))
  WHERE (o.state = 'new'::bpchar);


ALTER TABLE public.open_orders OWNER TO postgres;

--
-- Name: Order id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."Order" ALTER COLUMN id SET DEFAULT nextval('public."Order_id_seq"'::regclass);


--
-- Name: item id; Type: DEFAULT; Schema: stock; Owner: postgres
--

ALTER TABLE ONLY stock.item ALTER COLUMN id SET DEFAULT nextval('stock.item_id_seq'::regclass);


--
-- Data for Name: T x; Type: TABLE DATA; Schema: Odd one; Owner: postgres
--

COPY "Odd one"."T x" (a, b) FROM stdin;
1	3
\.


--
-- Data for Name: Order; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public."Order" (id, customer_id, parent_id, state, total, placed) FROM stdin;
1	1	\N	paid	12.50	2026-11-26 10:00:00
2	1	1	new 	0.00	2026-11-26 10:00:00
3	2	\N	sent	99999.99	2026-11-26 10:00:00
\.


--
-- Data for Name: customer; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.customer (id, name, email, born, since, tags, profile, raw, score, wakes, stays, key, photo) FROM stdin;
1	Ada	ada@example.org	1815-12-10	2026-01-02 03:04:05.678+00	{a,"b c",NULL}	{"a": {"x": "\\t\\"é"}, "b": [1, 2.50, null]}	{ "k" : 1 }	1.1	06:30:00	1 mon 2 days 03:04:05	00000000-0000-0000-0000-000000000001	\\x00ff
2	tab\tnew\nline\\	\N	\N	2026-01-02 03:04:05.678+00	{}	null	\N	2.5	\N	\N	00000000-0000-0000-0000-000000000002	\N
\.


--
-- Data for Name: invoice_line; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.invoice_line (invoice, line, order_id) FROM stdin;
1000	1	1
1010	2	3
\.


--
-- Data for Name: item; Type: TABLE DATA; Schema: stock; Owner: postgres
--

COPY stock.item (id, kind, n) FROM stdin;
1	whole	3
2	part	3
\.


--
-- Name: Order_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public."Order_id_seq"', 3, true);


--
-- Name: customer_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.customer_id_seq', 2, true);


--
-- Name: invoice; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.invoice', 1010, true);


--
-- Name: item_id_seq; Type: SEQUENCE SET; Schema: stock; Owner: postgres
--

SELECT pg_catalog.setval('stock.item_id_seq', 3, true);


--
-- Name: Order Order_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."Order"
    ADD CONSTRAINT "Order_pkey" PRIMARY KEY (id);


--
-- Name: customer customer_email_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customer
    ADD CONSTRAINT customer_email_key UNIQUE (email);


--
-- Name: customer customer_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.customer
    ADD CONSTRAINT customer_pkey PRIMARY KEY (id);


--
-- Name: invoice_line invoice_line_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.invoice_line
    ADD CONSTRAINT invoice_line_pkey PRIMARY KEY (invoice, line);


--
-- Name: item item_pkey; Type: CONSTRAINT; Schema: stock; Owner: postgres
--

ALTER TABLE ONLY stock.item
    ADD CONSTRAINT item_pkey PRIMARY KEY (id);


--
-- Name: order_customer; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX order_customer ON public."Order" USING btree (customer_id, placed DESC);


--
-- Name: order_paid; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX order_paid ON public."Order" USING btree (placed, id);


--
-- Name: item_twice; Type: INDEX; Schema: stock; Owner: postgres
--

CREATE INDEX item_twice ON stock.item USING btree (stock.twice((n)::integer));


--
-- Name: T x T x_a_fkey; Type: FK CONSTRAINT; Schema: Odd one; Owner: postgres
--

ALTER TABLE ONLY "Odd one"."T x"
    ADD CONSTRAINT "T x_a_fkey" FOREIGN KEY (a) REFERENCES public.customer(id);


--
-- Name: Order Order_customer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."Order"
    ADD CONSTRAINT "Order_customer_id_fkey" FOREIGN KEY (customer_id) REFERENCES public.customer(id) ON DELETE CASCADE;


--
-- Name: Order Order_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public."Order"
    ADD CONSTRAINT "Order_parent_id_fkey" FOREIGN KEY (parent_id) REFERENCES public."Order"(id) ON DELETE SET NULL;


--
-- Name: invoice_line invoice_line_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.invoice_line
    ADD CONSTRAINT invoice_line_order_id_fkey FOREIGN KEY (order_id) REFERENCES public."Order"(id) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: SCHEMA stock; Type: ACL; Schema: -; Owner: postgres
--

GRANT USAGE ON SCHEMA stock TO PUBLIC;


--
-- PostgreSQL database dump complete
--


