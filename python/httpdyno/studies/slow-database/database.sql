CREATE ROLE page LOGIN;

REVOKE ALL ON DATABASE postgres FROM PUBLIC;

REVOKE ALL ON SCHEMA public FROM PUBLIC;

GRANT CONNECT ON DATABASE postgres TO page;

GRANT USAGE ON SCHEMA public TO page;

CREATE TABLE item (id integer PRIMARY KEY, name text, price integer);

INSERT INTO item SELECT n, 'item ' || to_char(n, 'FM0000'), 1000 + n * 7 % 1000 FROM generate_series(1, 1000) n;

CREATE TABLE turn ();

GRANT SELECT ON item TO page;

GRANT UPDATE ON turn TO page;
