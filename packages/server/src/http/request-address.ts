/** The client and the index of a request. */

import { isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { addressIn } from "sealdex/wire";

/** The owner of a request, for fair sharing of limits. */
export function ownerOf({ caller, ip }: FastifyRequest): string {
  return caller?.id ?? networkOf(ip);
}

/**
 * The identity for limits per address: an IPv4 address, or the first 64 bits of an IPv6 address,
 * which belong to one customer.
 */
export function networkOf(address: string): string {
  const [, ipv4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (ipv4 !== undefined || !isIPv6(address)) return ipv4 ?? address;
  const [head, tail] = address.split("::");
  const groups = (text = "") => (text === "" ? [] : text.split(":"));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(Math.max(0, zeros)).fill("0"), ...groups(tail)];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

/** The index of a request and its key, from the body, or from the path and a header. */
export function addressOf({ body, params, headers }: FastifyRequest): ReturnType<typeof addressIn> {
  const { indexName, indexKey } = addressIn(body);
  const { name } = (params ?? {}) as { readonly name?: string };
  const { "x-index-key": header } = headers;
  return {
    indexName: indexName ?? name,
    indexKey: indexKey ?? (typeof header === "string" ? header : undefined),
  };
}
