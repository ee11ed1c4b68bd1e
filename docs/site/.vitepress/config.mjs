import { defineConfig } from "vitepress";

/** Pages have the paths that they have in the repository, so that their links work in both places. */
export default defineConfig({
  title: "Sealdex",
  description: "Encrypted vector index for Node.js and LangChain.js",
  srcDir: "pages",
  outDir: "dist",
  rewrites: {
    "README.md": "index.md",
    "packages/server/README.md": "packages/server/index.md",
    "bench/README.md": "bench/index.md",
  },
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/docs/langchain" },
      { text: "API", link: "/api/" },
      { text: "Service", link: "/packages/server/" },
      { text: "Changelog", link: "/CHANGELOG" },
    ],
    sidebar: [
      { text: "Start", items: [{ text: "Overview", link: "/" }] },
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
          { text: "The HTTP service", link: "/packages/server/" },
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
          { text: "Benchmarks", link: "/bench/" },
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
