/** Every stream category with the stored formats of its events, and an arbitrary for each event type. */
import { readFileSync, readdirSync } from "node:fs"
import type fc from "fast-check"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import { arbitrariesOf } from "./arbitraries.ts"

interface StoredCategory {
  /** The first part of the stream names. */
  readonly category: string
  /** Typed for any fact; tests pass only facts of the category. */
  readonly codec: Codec<Fact>
}

const DOMAIN = new URL("../../domain/", import.meta.url)

/** Domain files that extend `FactsByCategory`; each exports the aggregate of its streams. */
function filesWithStreams(): readonly URL[] {
  return readdirSync(DOMAIN, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && path !== "kernel/facts.ts")
    .map((path) => new URL(path, DOMAIN))
    .filter((file) => readFileSync(file, "utf8").includes("interface FactsByCategory"))
}

/** The category of an export: an aggregate, or a single stream with its aggregate. */
function categoryIn(exported: unknown): readonly StoredCategory[] {
  if (typeof exported !== "object" || exported === null) return []
  if ("aggregate" in exported) return categoryIn(exported.aggregate)
  return "category" in exported && "codec" in exported ? [exported as StoredCategory] : []
}

/** All categories, loaded from the domain only so that mutation testing needs nothing else. */
export const STORED_CATEGORIES: readonly StoredCategory[] = (
  await Promise.all(filesWithStreams().map((file) => import(file.href) as Promise<object>))
).flatMap((module) => Object.values(module).flatMap(categoryIn))

/** Field arbitraries by stream category and event type. */
export const EVENT_FIELD_ARBITRARIES: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = Object.fromEntries(
  STORED_CATEGORIES.map(({ category, codec }) => [category, arbitrariesOf(codec.formats)]),
)
