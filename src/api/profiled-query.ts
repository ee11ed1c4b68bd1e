/** Queries whose results come with a profile, which `include` asks for beside the fields of matches. */

import type { QueryProfile } from "../async/profile.js";
import { invalid, isArray } from "../checks/input.js";
import type { Match, MatchField, ScoredMatch, WordField } from "./items.js";
import type {
  BatchQuery,
  QueryOptions,
  RankedMatch,
  RankedQuery,
  SingleQuery,
  TextQuery,
  WordQuery,
} from "./queries.js";

export type { QueryProfile, QueryStage } from "../async/profile.js";

/** The result of a query whose `include` names `profile`: the one that it would have without, and the profile. */
export interface ProfiledMatches<M = Match[] | Match[][]> {
  readonly matches: M;
  readonly profile: QueryProfile;
}

type Including<Q, F> = Q extends unknown
  ? Omit<Q, "include"> & { readonly include: readonly (F | "profile")[] }
  : never;

/** A query of any kind whose `include` may name `profile`. */
export type ProfiledQuery =
  | Including<SingleQuery | TextQuery | RankedQuery | BatchQuery, MatchField>
  | Including<WordQuery, WordField>;

/** Matches no other query, so that the overloads for these come first. */
export type AskingForProfile<Q extends ProfiledQuery> = Q &
  ("profile" extends Q["include"][number] ? unknown : never);

type Without<I extends readonly unknown[]> = number extends I["length"]
  ? readonly Exclude<I[number], "profile">[]
  : readonly [Exclude<I[number], "profile">];

type FieldsOf<Q extends ProfiledQuery, F> = Extract<Without<Q["include"]>, readonly F[]>;

type MatchesOf<Q extends ProfiledQuery> = Q extends { readonly queryText: string }
  ? ScoredMatch<FieldsOf<Q, WordField>>[]
  : Q extends { readonly rerank: RankedQuery["rerank"] }
    ? RankedMatch<FieldsOf<Q, MatchField>>[]
    : Q extends { readonly queryVectors: readonly unknown[] }
      ? Match<FieldsOf<Q, MatchField>>[][]
      : Match<FieldsOf<Q, MatchField>>[];

/** If the list of fields is known only at run time, with or without a profile. */
export type ProfiledResult<Q extends ProfiledQuery> = Q extends unknown
  ? ProfiledMatches<MatchesOf<Q>> | (number extends Q["include"]["length"] ? MatchesOf<Q> : never)
  : never;

/** Throws `invalid_request` for a query that allows partial results without a profile, which counts the shards that are missing. */
export function checkPartial(query: Pick<QueryOptions, "allowPartialAfterMs">): void {
  if (query.allowPartialAfterMs === undefined || asksForProfile(query)) return;
  throw invalid(
    'allowPartialAfterMs: requires "profile" in include, which counts the shards that are missing',
  );
}

export function asksForProfile<Q extends object>(query: Q): query is Q & ProfiledQuery {
  const { include } = query as { readonly include?: unknown };
  return isArray(include) && (include as readonly unknown[]).includes("profile");
}

export function withProfile(query: SingleQuery | TextQuery | BatchQuery | WordQuery): ProfiledQuery {
  return { ...query, include: [...(query.include ?? []), "profile"] } as ProfiledQuery;
}

/** The same query, without a profile. */
export function withoutProfile({ include, ...query }: ProfiledQuery): SingleQuery {
  return { ...query, include: include.filter((field) => field !== "profile") } as SingleQuery;
}
