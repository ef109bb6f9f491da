module.exports = { dialect: "postgresql", out: "./pulled", schemaFilter: ["public", "shop"], dbCredentials: { url: process.env.PLANARIA_DSN + "?sslmode=disable" } };
