import type { Input } from "./command.ts"

/** The words for the benchmarks. No file's name is taken for an option, whatever it begins with. */
export function benchWords({ names, json, folder, data, most, store }: Input): readonly string[] {
  const options = Object.entries({ json, out: folder, data, most, store })
  const given = options.filter(([, value]) => value !== undefined)
  const words = Array.isArray(names) ? names.map(String) : []
  return [...given.map(([name, value]) => `--${name}=${String(value)}`), "--", ...words]
}
