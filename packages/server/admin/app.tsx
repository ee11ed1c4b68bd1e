/** The frame around all views: navigation by the fragment of the address, which never holds a key. */

import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Audit } from "./audit.js";
import { Data } from "./data/data.js";
import { Indexes } from "./indexes.js";
import { Keys } from "./keys.js";
import { Navigation, route } from "./navigation.js";
import { Overview } from "./overview.js";
import { isSignedIn, signOut } from "./session.js";
import { SignIn } from "./sign-in.js";

interface View {
  readonly path: string;
  readonly title: string;
  readonly Content: ComponentType;
}

const views: readonly View[] = [
  { path: "", title: "Overview", Content: Overview },
  { path: "indexes", title: "Indexes", Content: Indexes },
  { path: "data", title: "Data", Content: Data },
  { path: "keys", title: "API keys", Content: Keys },
  { path: "audit", title: "Audit log", Content: Audit },
];

export function App() {
  return isSignedIn.value ? <SignedIn /> : <SignIn />;
}

function SignedIn() {
  const { title, Content } = views.find(({ path }) => path === route.value.view) ?? views[0];
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} – Sealdex`;
    // So that a screen reader says which view it is, and the keyboard goes on from its top.
    heading.current?.focus();
  }, [title]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <header>
        <strong class="brand">
          <img src="favicon.svg" alt="" width="28" height="28" /> Sealdex
        </strong>
        <Navigation label="Views" links={views} current={title} />
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <Content />
      </main>
    </>
  );
}

/** Not by the fragment of the address, which says which view is shown. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
