/** What `work retry` says to people. */
import { expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"

const DUE_AT = "2040-08-01T00:00:00.000Z"

it.each([
  ["done", null, null, "Work 7 was tried and is done.\n"],
  ["put_off", DUE_AT, null, `Work 7 was tried and put itself off until ${DUE_AT}.\n`],
  ["failed", DUE_AT, null, "Work 7 was tried and failed; it is tried again by itself.\n"],
  ["parked", DUE_AT, "no\u001b[2J", "Work 7 is parked: no\\u{1b}[2J.\n"],
  ["running", DUE_AT, null, "Work 7 is being tried.\n"],
  ["due", DUE_AT, null, "Work 7 is due and not begun yet.\n"],
])("says that a row is %s", (state, dueAt, parked, words) => {
  const render = PROGRAM.operations.find(({ name }) => name === "work retry")?.render
  const answer = { workId: 7, retried: true, state, dueAt, parked }
  expect(render?.(answer, { isTTY: false, columns: 80 })).toBe(words)
})
