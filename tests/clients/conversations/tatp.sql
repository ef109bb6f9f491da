-- TATP (Telecom Application Transaction Processing benchmark): subscribers, their access and facilities, and where
-- their calls are forwarded to.
DROP TABLE IF EXISTS call_forwarding, special_facility, access_info, subscriber CASCADE;

CREATE TABLE subscriber (
    s_id          integer      NOT NULL PRIMARY KEY,
    sub_nbr       varchar(15)  NOT NULL UNIQUE,
    bit_1         smallint     NOT NULL,
    hex_1         smallint     NOT NULL,
    byte2_1       smallint     NOT NULL,
    msc_location  integer      NOT NULL,
    vlr_location  integer      NOT NULL
);
CREATE TABLE access_info (
    s_id     integer   NOT NULL,
    ai_type  smallint  NOT NULL,
    data1    smallint  NOT NULL,
    data2    smallint  NOT NULL,
    data3    char(3)   NOT NULL,
    data4    char(5)   NOT NULL,
    PRIMARY KEY (s_id, ai_type)
);
CREATE TABLE special_facility (
    s_id         integer   NOT NULL,
    sf_type      smallint  NOT NULL,
    is_active    smallint  NOT NULL,
    error_cntrl  smallint  NOT NULL,
    data_a       smallint  NOT NULL,
    data_b       char(5)   NOT NULL,
    PRIMARY KEY (s_id, sf_type)
);
CREATE TABLE call_forwarding (
    s_id        integer      NOT NULL,
    sf_type     smallint     NOT NULL,
    start_time  smallint     NOT NULL,
    end_time    smallint     NOT NULL,
    numberx     varchar(15)  NOT NULL,
    PRIMARY KEY (s_id, sf_type, start_time)
);
