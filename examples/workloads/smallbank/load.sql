CALL sb_load(:customers);
