/**
 * Named places at which a test ends the process at once, as a power cut would, to see what it leaves
 * behind. Nothing is wrapped and nothing counted where none is named.
 */
import process from "node:process"

/** All of them. `answers.between`: one answer has left, and others of its batch have not. */
export const FAILPOINTS = [
  "append.before",
  "append.after",
  "answers.between",
  "projection.inside",
  "provider.before",
  "provider.after",
] as const

/** The name of a place. */
export type Failpoint = (typeof FAILPOINTS)[number]

/** Says that a place was reached. It does not return where the process ends there. */
export type Reach = (name: Failpoint) => void

/** Which places are set, and the how manieth arrival there ends the process. */
export type FailpointHits = ReadonlyMap<Failpoint, number>

/** Reads `name=arrival`, several with commas between them. @throws RangeError naming what is wrong */
export function parseFailpoints(text: string): FailpointHits {
  return new Map(text.split(",").map(parseOne))
}

function parseOne(text: string): [Failpoint, number] {
  const [, found, count] = /^([a-z.]+)=([1-9]\d{0,5})$/.exec(text.trim()) ?? []
  const name = FAILPOINTS.find((one) => one === found)
  if (name === undefined) {
    throw new RangeError(`must be like ${FAILPOINTS[0]}=3, of ${FAILPOINTS.join(", ")}`)
  }
  return [name, Number(count)]
}

/** Counts arrivals, and ends the process at the one that was named. */
export function openFailpoints(hits: FailpointHits, end: () => void = endAtOnce): Reach {
  const left = new Map(hits)
  return (name) => {
    const count = left.get(name)
    if (count === undefined) return
    left.set(name, count - 1)
    if (count === 1) end()
  }
}

/** No handler runs, nothing is flushed: the kernel takes the process away before this returns. */
function endAtOnce(): void {
  process.kill(process.pid, "SIGKILL")
}
