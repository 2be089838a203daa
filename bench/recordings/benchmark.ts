/** Recordings: an hour of MP3 until its first byte and to its end, and a night of ten thousand. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { get } from "node:http"
import { toneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { recordingAudio } from "../../src/recordings/list-recordings.ts"
import type { Benchmark, Opened } from "../benchmark.ts"
import { honest, judged } from "../benchmark.ts"
import { elapsed, medianOf } from "../ground/elapsed.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { House } from "../ground/house.ts"
import { openHouse } from "../ground/house.ts"
import { openTextingCompany } from "../texts/companies.ts"
import { openShelf } from "./shelf.ts"

const HOUR_S = 3_600
const RECORDINGS = 10_000
const ASKED = 20
const LOOK_EACH_MS = 2
const MIB = 1024 * 1024
/** Listens to the end, and says how many bytes it heard. */
const LISTENER = `fetch(process.env.URL, { headers: { authorization: process.env.KEY } })
  .then((answer) => answer.bytes()).then((bytes) => process.stdout.write(String(bytes.length)))`

/** Recordings. */
export const recordings: Benchmark = {
  name: "recordings",
  title: `an hour of MP3, and a night of ${RECORDINGS} recordings`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "first", title: "an hour of MP3 until its first byte", unit: "ms" },
    { name: "memory", title: "memory that the server takes to send it, at most", unit: "bytes" },
    { name: "count", title: `a night that counts ${RECORDINGS} and charges them`, unit: "ms" },
    { name: "delete", title: `a night that deletes ${RECORDINGS}, blobs included`, unit: "ms" },
  ],
  ratios: [
    judged("recording first", "first byte of an hour of MP3, ms", "first", null, 50, 100),
    judged("recording memory", "memory to send it, bytes", "memory", null, 2 * MIB, 8 * MIB),
    judged("recording night", "a night that counts, ms", "count", null, 10_000, 20_000),
    judged("recording deletes", "a night that deletes, ms", "delete", null, 10_000, 20_000),
  ],
  open: async () => {
    const house = await openHouse(null, {}, "test")
    try {
      return { ...(await openOn(house)), close: () => house.close() }
    } catch (error) {
      await house.close()
      throw error
    }
  },
}

async function openOn(house: House): Promise<Omit<Opened, "close">> {
  const { companyId, keys } = await openTextingCompany(house, "recording", 2)
  const shelf = openShelf(house, companyId)
  const callId = await shelf.keep(HOUR_S, toneMp3(HOUR_S))
  const port = await house.serve(house.ports, [recordingAudio])
  const url = `http://127.0.0.1:${port}${recordingAudio.url.replace(":callId", callId)}`
  const authorization = `Bearer ${keys[1] ?? ""}`
  let bytes = 0
  for (const frame of toneMp3(HOUR_S)) bytes += frame.length
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      first: () => medianOf(ASKED, () => firstByte(url, authorization)),
      memory: async () => {
        const growth = sampled()
        const listener = spawn(process.execPath, ["-e", LISTENER], {
          env: { URL: url, KEY: authorization },
        })
        const [said] = (await once(listener.stdout, "data")) as [Buffer]
        honest(Number(String(said)) === bytes, `${String(said)} bytes were heard`)
        return growth()
      },
      count: async () => {
        await shelf.fill(RECORDINGS)
        await house.settle()
        return elapsed(() => shelf.night())
      },
      delete: async () => {
        await shelf.keepFor(30)
        const took = await elapsed(() => shelf.night())
        await shelf.keepFor(null)
        await shelf.checkEmpty()
        return took
      },
    },
    check: async () => {
      await house.settle()
      house.check()
    },
  }
}

/** Asks, and goes away once the first bytes are there. */
async function firstByte(url: string, authorization: string): Promise<void> {
  const request = get(url, { headers: { authorization } })
  const [answer] = (await once(request, "response")) as [NodeJS.ReadableStream]
  await once(answer, "data")
  request.destroy()
}

/** By how much the memory of this process grows until it is asked, in bytes. */
function sampled(): () => number {
  global.gc?.()
  const before = process.memoryUsage.rss()
  let most = before
  const look = () => {
    most = Math.max(most, process.memoryUsage.rss())
  }
  const timer = setInterval(look, LOOK_EACH_MS)
  return () => {
    clearInterval(timer)
    look()
    return most - before
  }
}
