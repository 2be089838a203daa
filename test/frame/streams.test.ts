import { expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { STORED_CATEGORIES } from "../kernel/stored-formats.ts"

it("the stored formats of every stream category are tested", () => {
  const stored = PROGRAM.streams.kinds.map(({ category }) => category)
  expect(stored.toSorted()).toEqual(STORED_CATEGORIES.map(({ category }) => category).toSorted())
})
