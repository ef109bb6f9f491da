DROP TABLE tags, posts, users;
DROP TYPE place, mood;
