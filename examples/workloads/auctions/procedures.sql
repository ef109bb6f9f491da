-- The number of the bid, or NULL where it was too low.
CREATE FUNCTION place_bid(p_auction bigint, p_bidder bigint, p_more bigint, p_note text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_price bigint;
    v_bids bigint;
BEGIN
    SELECT price, bids INTO STRICT v_price, v_bids FROM auction WHERE id = p_auction;
    IF p_more <= 0 THEN
        RETURN NULL;
    END IF;
    UPDATE auction SET price = v_price + p_more, bids = v_bids + 1, winner = p_bidder WHERE id = p_auction;
    INSERT INTO bid VALUES (p_auction, v_bids + 1, p_bidder, v_price + p_more, p_note);
    RETURN v_bids + 1;
END $$;

-- Watches several auctions at once.
CREATE PROCEDURE watch(p_member bigint, p_auctions bigint[])
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..coalesce(array_length(p_auctions, 1), 0) LOOP
        INSERT INTO watched VALUES (p_member, p_auctions[i]) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
