CREATE TABLE member (
    id bigint PRIMARY KEY,
    name text NOT NULL
);
CREATE TABLE auction (
    id bigint PRIMARY KEY,
    seller bigint NOT NULL REFERENCES member,
    category text NOT NULL,
    ends_at timestamp NOT NULL,
    price bigint NOT NULL,
    bids bigint NOT NULL DEFAULT 0,
    winner bigint REFERENCES member
);
CREATE INDEX auction_by_category ON auction (category, ends_at);
CREATE TABLE bid (
    auction bigint REFERENCES auction,
    number bigint,
    bidder bigint NOT NULL REFERENCES member,
    amount bigint NOT NULL,
    note text,
    PRIMARY KEY (auction, number)
);
CREATE TABLE watched (
    member bigint REFERENCES member,
    auction bigint REFERENCES auction,
    PRIMARY KEY (member, auction)
);
