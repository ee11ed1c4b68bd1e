"use client";

import { useState } from "react";

export default function Page() {
  const [passages, setPassages] = useState([]);
  const [status, setStatus] = useState("");

  async function ask(event) {
    event.preventDefault();
    const question = new FormData(event.target).get("question");
    setPassages([]);
    setStatus("Searching…");
    try {
      const response = await fetch("/ask", { method: "POST", body: question });
      if (!response.ok) throw new Error(`The server answered ${response.status}.`);
      const found = await response.json();
      setPassages(found);
      setStatus(found.length === 0 ? "The handbook is empty." : "");
    } catch (error) {
      setStatus(error.message);
    }
  }

  return (
    <main>
      <h1>Ask the handbook</h1>
      <form onSubmit={ask}>
        <label htmlFor="question">Question</label>
        <input id="question" name="question" required placeholder="How often are keys rotated?" />
        <button>Ask</button>
      </form>
      <p role="status">{status}</p>
      {passages.map(({ id, pageContent, metadata }) => (
        <article key={id}>
          <p>{pageContent}</p>
          <footer>{metadata.source}</footer>
        </article>
      ))}
    </main>
  );
}
