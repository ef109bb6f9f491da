SELECT quote_literal('a'::char(4)), quote_nullable('a'::char(4)), quote_ident('a'::char(4)), format('%L', 'a'::char(4))
;
SELECT octet_length('a'::char(4)), char_length('a'::char(4)), octet_length(('a'::text)::char(4)), length('a'::char(4))
