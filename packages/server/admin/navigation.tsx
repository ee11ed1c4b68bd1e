/** Which view is shown: the fragment of the address says so. It never holds a key. */

import { computed, signal } from "@preact/signals";

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  fragment.value = location.hash;
});

export const route = computed(() => {
  const [path, query] = fragment.value.replace(/^#\/?/, "").split("?");
  const [view, part = ""] = path.split("/");
  return { view, part, query: new URLSearchParams(query) };
});

interface NavigationProps {
  readonly label: string;
  readonly links: readonly { readonly path: string; readonly title: string }[];
  /** The title of what is shown. */
  readonly current: string;
}

export function Navigation({ label, links, current }: NavigationProps) {
  return (
    <nav aria-label={label}>
      {links.map(({ path, title }) => (
        <a key={path} href={`#/${path}`} aria-current={title === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
