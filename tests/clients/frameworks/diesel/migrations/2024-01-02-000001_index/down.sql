DROP INDEX users_name;
