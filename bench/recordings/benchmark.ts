/** Recordings: the time to the first byte and to the end of an hour of MP3, and a night with ten thousand recordings. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { get } from "node:http"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { recordingAudio } from "../../src/recordings/list-recordings.ts"
import type { Benchmark, OpenBenchmark } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import { measureMs, medianMs } from "../fixtures/elapsed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { openTextingCompany } from "../texts/texting-company.ts"
import { openRecordingArchive } from "./recording-archive.ts"

const HOUR_S = 3_600
const RECORDINGS = 10_000
const REPETITIONS = 20
const LOOK_EACH_MS = 2
const MIB = 1024 * 1024
/** Reads to the end, and prints the number of bytes. */
const LISTENER = `fetch(process.env.URL, { headers: { authorization: process.env.KEY } })
  .then((answer) => answer.bytes()).then((bytes) => process.stdout.write(String(bytes.length)))`

export const recordingsBenchmark: Benchmark = {
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
    lowerIsBetter("recording first", "first byte of an hour of MP3, ms", "first", null, 50, 100),
    lowerIsBetter("recording memory", "memory to send it, bytes", "memory", null, 2 * MIB, 8 * MIB),
    lowerIsBetter("recording night", "a night that counts, ms", "count", null, 10_000, 20_000),
    lowerIsBetter("recording deletes", "a night that deletes, ms", "delete", null, 10_000, 20_000),
  ],
  open: async () => {
    const house = await openBenchInstallation(null, {}, "test")
    try {
      return { ...(await openOn(house)), close: () => house.close() }
    } catch (error) {
      await house.close()
      throw error
    }
  },
}

async function openOn(house: BenchInstallation): Promise<Omit<OpenBenchmark, "close">> {
  const { companyId, keys } = await openTextingCompany(house, "recording", 2)
  const shelf = openRecordingArchive(house, companyId)
  const callId = await shelf.add(HOUR_S, generateToneMp3(HOUR_S))
  const port = await house.serve(house.ports, [recordingAudio])
  const url = `http://127.0.0.1:${port}${recordingAudio.url.replace(":callId", callId)}`
  const authorization = `Bearer ${keys[1] ?? ""}`
  let bytes = 0
  for (const frame of generateToneMp3(HOUR_S)) bytes += frame.length
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      first: () => medianMs(REPETITIONS, () => firstByte(url, authorization)),
      memory: async () => {
        const growth = sampleMemory()
        const listener = spawn(process.execPath, ["-e", LISTENER], {
          env: { URL: url, KEY: authorization },
        })
        const [said] = (await once(listener.stdout, "data")) as [Buffer]
        assertMeasurement(Number(String(said)) === bytes, `${String(said)} bytes were heard`)
        return growth()
      },
      count: async () => {
        await shelf.fill(RECORDINGS)
        await house.waitUntilIdle()
        return measureMs(() => shelf.runNight())
      },
      delete: async () => {
        await shelf.setRetention(30)
        const took = await measureMs(() => shelf.runNight())
        await shelf.setRetention(null)
        await shelf.checkEmpty()
        return took
      },
    },
    check: async () => {
      await house.waitUntilIdle()
      house.assertNoWarnings()
    },
  }
}

/** Requests a recording, and disconnects after the first bytes. */
async function firstByte(url: string, authorization: string): Promise<void> {
  const request = get(url, { headers: { authorization } })
  const [answer] = (await once(request, "response")) as [NodeJS.ReadableStream]
  await once(answer, "data")
  request.destroy()
}

/** Samples by how much the memory of this process grows until the call, bytes. */
function sampleMemory(): () => number {
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
