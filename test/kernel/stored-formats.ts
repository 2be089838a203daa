/** Every stream category with the stored forms of its events, and an arbitrary for each event type. */
import type fc from "fast-check"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import { PROGRAM } from "../../src/slices.ts"
import { arbitrariesOf } from "./arbitrary-kinds.ts"

/** The forms of one category of streams. */
interface StoredCategory {
  /** The first part of the streams' names. */
  readonly category: string
  /** It takes any fact here: the tests bring it the facts of its own formats only. */
  readonly codec: Codec<Fact>
}

/** All categories. */
export const STORED: readonly StoredCategory[] = PROGRAM.streams.kinds.map(
  ({ category, codec }) => ({
    category,
    codec: codec as unknown as Codec<Fact>,
  }),
)

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = Object.fromEntries(
  STORED.map(({ category, codec }) => [category, arbitrariesOf(codec.formats)]),
)
