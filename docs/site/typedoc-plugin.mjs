// Leaves names that users never write out of the API reference: members that LangChain or Node.js calls, and base
// classes that Sealdex does not export. Describes each name by one sentence in lists.

import { Converter } from "typedoc";

const internal = /^(_|lc_|FilterType$|\[custom\]$)/;
const hasPage = (type) => type.reflection !== undefined;
/** A base of another package is part of what a user knows of a class, for example `Error`. */
const isKnown = (type) => hasPage(type) || type.package !== "sealdex";

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const member of Object.values(project.reflections)) {
      if (internal.test(member.name)) project.removeReflection(member);
    }
  });
  // Lists of names show the first paragraph of each: make it one sentence.
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const { comment, signatures = [] } of project.children.flatMap((module) => module.children)) {
      for (const { summary = [] } of [comment, ...signatures.map((each) => each.comment)].filter(Boolean)) {
        const part = summary.find(({ kind, text }) => kind === "text" && /\.\s/.test(text));
        if (part) part.text = part.text.replace(/\.\s+/, ".\n\n");
      }
    }
  });
  // Before TypeDoc makes the hierarchy of the types.
  converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      for (const type of Object.values(project.reflections)) {
        type.extendedTypes = type.extendedTypes?.filter(isKnown);
        if (type.extendedTypes?.length === 0) delete type.extendedTypes;
      }
    },
    1000,
  );
  // After TypeDoc links the members to those that they inherit or override.
  converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      for (const member of Object.values(project.reflections)) {
        for (const origin of ["inheritedFrom", "overwrites"]) {
          if (member[origin] && !hasPage(member[origin])) delete member[origin];
        }
      }
    },
    -1000,
  );
}
