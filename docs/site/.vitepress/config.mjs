import { defineConfig } from "vitepress";

/** A padlock. */
const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%233451b2'>" +
  "<path d='M3 7h1V5a4 4 0 0 1 8 0v2h1v8H3zm3 0h4V5a2 2 0 0 0-4 0z'/></svg>";

/** Pages have the paths that they have in the repository, so that their links work in both places. */
export default defineConfig({
  title: "Sealdex",
  description: "Encrypted vector index for Node.js and LangChain.js",
  head: [["link", { rel: "icon", href: icon }]],
  srcDir: "pages",
  outDir: "dist",
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/docs/langchain" },
      { text: "API", link: "/api/" },
      { text: "Service", link: "/packages/server/README" },
      { text: "Changelog", link: "/CHANGELOG" },
    ],
    sidebar: [
      { text: "Start", items: [{ text: "Overview", link: "/README" }] },
      {
        text: "Guides",
        items: [
          { text: "LangChain", link: "/docs/langchain" },
          { text: "Library", link: "/docs/library" },
          { text: "Items", link: "/docs/items" },
          { text: "Keyword and hybrid search", link: "/docs/hybrid" },
          { text: "Index types", link: "/docs/index-types" },
          { text: "Security", link: "/docs/security" },
          { text: "Storage locations", link: "/docs/storage" },
          { text: "Embedding models", link: "/docs/embeddings" },
          { text: "Training", link: "/docs/training" },
          { text: "Operations", link: "/docs/operations" },
          { text: "Bundlers and serverless", link: "/docs/bundling" },
          { text: "Storage drivers", link: "/docs/storage-drivers" },
          { text: "The HTTP service", link: "/packages/server/README" },
          { text: "Operating the service", link: "/docs/service" },
          { text: "Requests", link: "/docs/requests" },
          { text: "Other clients", link: "/docs/clients" },
          { text: "The dashboard", link: "/docs/dashboard" },
        ],
      },
      {
        text: "Reference",
        items: [
          { text: "API", link: "/api/" },
          { text: "Errors", link: "/docs/errors" },
          { text: "Stored format", link: "/docs/internals/format" },
          { text: "Architecture", link: "/docs/internals/architecture" },
          { text: "Benchmarks", link: "/bench/README" },
          { text: "Contributing", link: "/CONTRIBUTING" },
          { text: "Changelog", link: "/CHANGELOG" },
        ],
      },
      {
        text: "Decisions",
        collapsed: true,
        items: ["commit", "keys", "segments", "search", "training", "storage", "interfaces"].map((name) => ({
          text: name,
          link: `/docs/internals/decisions/${name}`,
        })),
      },
    ],
    outline: [2, 3],
  },
});
