/** How the processes of an installation hold streams back and release them together. */
import { describe, expect, it } from "vitest"
import type { CorruptStream, CorruptStreams } from "../../adapters/corrupt-streams/port.ts"
import { openCorruptList } from "../../src/frame/writer/corrupt-list.ts"
import { isHeldBack } from "../../src/frame/writer/stream-proof.ts"
import { STREAM } from "./bench.ts"
import { virtualPacer } from "./pacer.ts"

const FOUND = { stream: STREAM, revision: 3, reason: "a test holds it back" }

/** An installation without processes so far. */
function installation() {
  const rows = new Map<string, CorruptStream>()
  const listeners: (readonly [string, string, (text: string | null) => void])[] = []
  const kept: CorruptStreams = {
    all: async () => [...rows.values()],
    add: async (found) => void rows.set(found.stream, found),
    remove: async (stream) => rows.delete(stream),
  }
  const others = new Set<string>()
  const time = virtualPacer()
  // A wait for the others is over as soon as all that can answer have answered.
  const pacer = { ...time, pause: (ms: number) => time.pause(ms) }
  const start = (own: string) => {
    others.add(own)
    const processes = {
      own,
      isAlive: async () => true,
      others: async () => [...others].filter((one) => one !== own),
      listen: async (name: string, onCall: (text: string | null) => void) => {
        listeners.push([own, name, onCall])
      },
      call: async (name: string, text: string) => {
        for (const [, heard, onCall] of listeners) if (heard === name) onCall(text)
      },
    }
    return openCorruptList(kept, { processes, pacer, warn: () => undefined })
  }
  return { rows, others, start }
}

describe("a release", () => {
  it("shows a stream in every process first, and lets it take commands last", async () => {
    const { rows, start } = installation()
    const here = await start("here")
    const there = await start("there")
    here.hold(FOUND)
    expect(await here.find(STREAM)).toEqual(FOUND)
    const during: unknown[] = []
    await here.release(STREAM, async () => {
      for (const list of [here, there]) {
        during.push([isHeldBack(list, STREAM, 3), list.of(STREAM) === null])
      }
      expect(await there.find(STREAM)).toEqual(FOUND)
    })
    expect(during).toEqual([
      [false, false],
      [false, false],
    ])
    await expect.poll(() => [here.of(STREAM), there.of(STREAM)]).toEqual([null, null])
    expect(rows.size).toBe(0)
  })

  it("that fails holds the stream back again, and can be given again", async () => {
    const { start } = installation()
    const here = await start("here")
    const there = await start("there")
    here.hold(FOUND)
    await here.store()
    const fails = async () => Promise.reject(new Error("no room"))
    await expect(here.release(STREAM, fails)).rejects.toThrow("no room")
    await expect.poll(() => [here.of(STREAM), there.of(STREAM)]).toEqual([FOUND, FOUND])
    await there.release(STREAM, async () => undefined)
    await expect.poll(() => [here.of(STREAM), there.of(STREAM)]).toEqual([null, null])
  })

  it("fails while a process that runs does not answer", async () => {
    const { rows, others, start } = installation()
    const here = await start("here")
    others.add("frozen")
    here.hold(FOUND)
    await here.store()
    let finished = false
    const finish = async () => void (finished = true)
    await expect(here.release(STREAM, finish)).rejects.toThrow("frozen")
    expect([finished, rows.size, here.of(STREAM)]).toEqual([false, 1, FOUND])
  })
})
