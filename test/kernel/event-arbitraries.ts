/** An arbitrary for every event type there is, made from the forms that its slice declares. */
import type fc from "fast-check"
import { arbitrariesOf } from "./arbitrary-kinds.ts"
import { STORED } from "./stored-formats.ts"

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = Object.fromEntries(
  STORED.map(({ category, codec }) => [category, arbitrariesOf(codec.formats)]),
)
