-- After the rows of generators: every member watches one auction.
INSERT INTO watched SELECT id, id % :auctions + 1 FROM member;
