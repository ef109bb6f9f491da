module.exports = { dialect: "postgresql", schema: "./schema.js", out: "./out", schemaFilter: ["public", "shop"], dbCredentials: { url: process.env.PLANARIA_DSN + "?sslmode=disable" } };
