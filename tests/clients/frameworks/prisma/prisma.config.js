module.exports = { schema: "schema.prisma", datasource: { url: process.env.PLANARIA_DSN || "postgresql://x" } };
