import { expect, it } from "vitest"
import { batchCalls } from "../../adapters/machine/promises.ts"

/** Answers each question with ten times its value, and records the batches. */
function timesTen(maxBatch = 100) {
  const batches: (readonly number[])[] = []
  const ask = batchCalls<number, number>(maxBatch, async (questions) => {
    batches.push(questions)
    return questions.map((question) => question * 10)
  })
  return { ask, batches }
}

it("sends the questions of one turn together, and returns each its own answer", async () => {
  const { ask, batches } = timesTen()
  expect(await Promise.all([1, 2, 3].map(ask))).toEqual([10, 20, 30])
  expect(batches).toEqual([[1, 2, 3]])
})

it("collects questions that arrive while a batch is in progress", async () => {
  const first = Promise.withResolvers<void>()
  const batches: (readonly number[])[] = []
  const ask = batchCalls<number, number>(100, async (questions) => {
    batches.push(questions)
    if (batches.length === 1) await first.promise
    return questions
  })
  const one = ask(1)
  await expect.poll(() => batches.length).toBe(1)
  const others = [ask(2), ask(3)]
  first.resolve()
  expect(await Promise.all([one, ...others])).toEqual([1, 2, 3])
  expect(batches).toEqual([[1], [2, 3]])
})

it("sends no batch above the maximum", async () => {
  const { ask, batches } = timesTen(2)
  expect(await Promise.all([1, 2, 3].map(ask))).toEqual([10, 20, 30])
  expect(batches).toEqual([[1, 2], [3]])
})

it("rejects all questions of a failed batch, and continues", async () => {
  const ask = batchCalls<number, number>(2, async (questions) => {
    if (questions.includes(1)) throw new Error("no 1 here")
    return questions
  })
  const outcomes = await Promise.allSettled([1, 2, 3].map(ask))
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"])
  expect(await ask(4)).toBe(4)
})

it("answers later questions while a batch is never answered", async () => {
  const ask = batchCalls<number, number>(1, async ([question = 0]) =>
    question === 1 ? new Promise<never>(() => undefined) : [question],
  )
  void ask(1)
  expect(await ask(2)).toBe(2)
})
