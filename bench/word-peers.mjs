// Search libraries that keep texts in memory or in SQLite, as far as they are installed: `build` takes passages and gives a search.

const wanted = 10;

const peers = {
  MiniSearch: async () => {
    const { default: MiniSearch } = await import("minisearch");
    return (passages) => {
      const index = new MiniSearch({ fields: ["text"] });
      index.addAll(passages.map((text, id) => ({ id, text })));
      return (query) => index.search(query).slice(0, wanted);
    };
  },
  FlexSearch: async () => {
    const { default: flexsearch } = await import("flexsearch");
    return (passages) => {
      const index = new flexsearch.Index();
      for (const [id, text] of passages.entries()) index.add(id, text);
      return (query) => index.search(query, { limit: wanted, suggest: true });
    };
  },
  Orama: async () => {
    const { create, insertMultiple, search } = await import("@orama/orama");
    return async (passages) => {
      const index = create({ schema: { text: "string" } });
      await insertMultiple(
        index,
        passages.map((text) => ({ text })),
        1000,
      );
      return (term) => search(index, { term, limit: wanted, threshold: 1 });
    };
  },
  "SQLite FTS5": async () => {
    const { default: Database } = await import("better-sqlite3");
    return (passages) => {
      const database = new Database(":memory:");
      database.exec("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'porter')");
      const insert = database.prepare("INSERT INTO passages (rowid, text) VALUES (?, ?)");
      database.transaction(() => passages.forEach((text, id) => insert.run(id, text)))();
      const select = database.prepare(
        `SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ${wanted}`,
      );
      return (query) => select.all(query.split(" ").join(" OR "));
    };
  },
};

export async function wordPeers() {
  const found = [];
  for (const [name, load] of Object.entries(peers)) {
    try {
      found.push({ name, build: await load() });
    } catch (error) {
      console.error(`${name}: ${error.code ?? error.message}`);
    }
  }
  return found;
}
