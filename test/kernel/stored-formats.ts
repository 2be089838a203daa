/** Every stream category with the stored forms of its events, and an arbitrary for each event type. */
import { readFileSync, readdirSync } from "node:fs"
import type fc from "fast-check"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import { arbitrariesOf } from "./arbitraries.ts"

/** The forms of one category of streams. */
interface StoredCategory {
  /** The first part of the streams' names. */
  readonly category: string
  /** It takes any fact here: the tests bring it the facts of its own formats only. */
  readonly codec: Codec<Fact>
}

const DOMAIN = new URL("../../domain/", import.meta.url)

/** The files of the domain that extend the union of all facts: each exports the rules of its streams. */
function filesWithStreams(): readonly URL[] {
  return readdirSync(DOMAIN, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && path !== "kernel/facts.ts")
    .map((path) => new URL(path, DOMAIN))
    .filter((file) => readFileSync(file, "utf8").includes("interface FactsByCategory"))
}

/** The category that an export is about: an aggregate, or the one stream of an aggregate. */
function categoryIn(exported: unknown): readonly StoredCategory[] {
  if (typeof exported !== "object" || exported === null) return []
  if ("aggregate" in exported) return categoryIn(exported.aggregate)
  return "category" in exported && "codec" in exported ? [exported as StoredCategory] : []
}

/** All categories, from the domain alone: mutation testing needs no more of the program. */
export const STORED_CATEGORIES: readonly StoredCategory[] = (
  await Promise.all(filesWithStreams().map((file) => import(file.href) as Promise<object>))
).flatMap((module) => Object.values(module).flatMap(categoryIn))

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELD_ARBITRARIES: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = Object.fromEntries(
  STORED_CATEGORIES.map(({ category, codec }) => [category, arbitrariesOf(codec.formats)]),
)
