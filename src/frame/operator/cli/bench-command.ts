/** The command that measures: its words go to the benchmarks as they are. */
import type { BenchCommand, Input } from "./command.ts"
import { someText } from "./option-values.ts"

/** `bench`. What its words may be is known to the benchmarks alone, which refuse what they do not know. */
export const BENCH_COMMAND: BenchCommand = {
  does: "bench",
  name: "bench",
  summary: "measure how fast the ledger is on this machine, as ratios taken side by side",
  notes: [
    "The same as npm run bench: it needs a checkout with what its developers install, and no server. A name that there is not is answered with those that there are.",
    "A JSON document and a page are written; exit code 1 where a measurement was not honest, never because a target was missed.",
  ],
  example: "bench decide --json decide.json",
  arguments: [
    {
      name: "NAME",
      description: 'what to measure; default all ratios; "growth": all curves',
      field: "names",
      isOptional: true,
      isVariadic: true,
      parse: someText,
    },
  ],
  options: [
    {
      flags: "--json <file>",
      description: "write what was measured to this file, and the page beside it",
      parse: someText,
    },
    {
      flags: "--out <folder>",
      description: "write both to a new file in this folder; default bench-results",
      field: "folder",
      parse: someText,
    },
    {
      flags: "--data <folder>",
      description: "where data sets are kept from run to run; default bench-data",
      parse: someText,
    },
    {
      flags: "--most <size>",
      description: "leave out points of curves beyond it, such as 1e6",
      parse: someText,
    },
    {
      flags: "--store <name>",
      description: "where the events live; default postgres",
      parse: someText,
    },
  ],
}

/** The words for the benchmarks. No file's name is taken for an option, whatever it begins with. */
export function benchWords({ names, json, folder, data, most, store }: Input): readonly string[] {
  const options = Object.entries({ json, out: folder, data, most, store })
  const given = options.filter(([, value]) => value !== undefined)
  const words = Array.isArray(names) ? names.map(String) : []
  return [...given.map(([name, value]) => `--${name}=${String(value)}`), "--", ...words]
}
