/** Loads an optional package when it is needed. */

import { checkPeer, peerFailure, type PeerPackage } from "sealdex/wire";

/** Throws `not_supported` with the command that installs it. */
export async function loadPackage<T extends object>(load: () => Promise<T>, peer: PeerPackage): Promise<T> {
  try {
    return checkPeer(await load(), peer);
  } catch (cause) {
    throw peerFailure(cause, peer);
  }
}
