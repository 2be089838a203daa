import { summarise } from "../statistics.ts"

/** How long something takes, in milliseconds. */
export async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** The median of so many times, in milliseconds. */
export async function medianOf(times: number, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  while (took.length < times) took.push(await elapsed(work))
  return summarise(took).median
}
