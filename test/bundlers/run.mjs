import { runAlone } from "./app.mjs";
import { runWithPackages } from "./packages.mjs";

/** The app, with what it is to find where every optional package is installed. */
export function run() {
  const given = process.env.SEALDEX_APP;
  return given === undefined ? runAlone() : runWithPackages(JSON.parse(given));
}
