import { expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { STORED_CATEGORIES } from "../kernel/stored-formats.ts"

it("stores no category of streams whose forms are not tested", () => {
  const stored = PROGRAM.streams.kinds.map(({ category }) => category)
  expect(stored.toSorted()).toEqual(STORED_CATEGORIES.map(({ category }) => category).toSorted())
})
