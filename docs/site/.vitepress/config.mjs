import { defineConfig } from "vitepress";
import { writeForPrograms } from "../llms.mjs";
import { decisions, guides } from "../navigation.mjs";

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
  buildEnd: writeForPrograms,
  themeConfig: {
    search: {
      provider: "local",
      options: {
        // The home page repeats the README. Internals have many of the words that users search.
        _render: (source, env, md) =>
          /^(index\.md|docs\/internals\/)/.test(env.relativePath) ? "" : md.render(source, env),
        miniSearch: {
          searchOptions: { boostDocument: (page) => (page.startsWith("/api/") ? 0.3 : 1) },
        },
      },
    },
    nav: [
      { text: "Guide", link: "/docs/langchain" },
      { text: "API", link: "/api/" },
      { text: "Service", link: "/packages/server/README" },
      { text: "Changelog", link: "/CHANGELOG" },
    ],
    sidebar: [
      ...guides.map(({ topic, pages }) => ({
        text: topic,
        items: pages.map(({ text, path }) => ({ text, link: `/${path.replace(/\.md$/, "")}` })),
      })),
      {
        text: "Reference",
        items: [
          { text: "API", link: "/api/" },
          { text: "Benchmarks", link: "/bench/README" },
          { text: "Changelog", link: "/CHANGELOG" },
          { text: "Reporting a vulnerability", link: "/SECURITY" },
        ],
      },
      {
        text: "Internals",
        collapsed: true,
        items: [
          { text: "Architecture", link: "/docs/internals/architecture" },
          { text: "Stored format", link: "/docs/internals/format" },
          { text: "Contributing", link: "/CONTRIBUTING" },
          ...decisions.map((name) => ({
            text: `Decisions: ${name}`,
            link: `/docs/internals/decisions/${name}`,
          })),
        ],
      },
    ],
    outline: [2, 3],
  },
});
