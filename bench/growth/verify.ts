/** `audit verify` against facts: its time and the memory that its process takes at most. */
import { execFile } from "node:child_process"
import { rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import type { DataSet } from "./data-set.ts"
import { openDataSet } from "./data-set.ts"
import { growsInStep } from "./findings.ts"
import type { Sized } from "./points.ts"
import { CURVE, figuresOf, linesOf, measuredAt } from "./points.ts"
import { writeTextedStore } from "./texted-store.ts"

const SIZES = [10_000, 100_000, 1_000_000]
/** Below it, starting takes longer than the events. */
const COUNTED_FROM = 100_000
const ALL: Sized = {
  name: "all",
  title: "audit verify",
  sizes: SIZES,
  of: "facts",
  unit: "ms",
}
const CPU: Sized = { ...ALL, name: "cpu", title: "processor time of its process" }
const MEMORY: Sized = {
  ...ALL,
  name: "memory",
  title: "memory of its process at most",
  unit: "bytes",
}
const EMPTY: Sized = { ...ALL, name: "empty", title: "audit verify of an empty company" }
const LINES = [ALL, CPU, MEMORY, EMPTY]

/** What a process that audited has measured. */
interface Verified {
  readonly events: number
  readonly ms: number
  readonly cpuMs: number
  readonly bytes: number
}

/** The companies of a store once it is written; the last is empty. */
interface Written {
  readonly companies: readonly CompanyId[]
}

/** The curve. */
export const growthVerify: Benchmark = {
  ...CURVE,
  name: "growth-verify",
  title: "time and memory of audit verify, by how many facts there are, a third of them streams",
  // The store is opened by processes of their own, which keep it in PostgreSQL.
  stores: [],
  figures: figuresOf(LINES),
  curves: [
    {
      title: "Auditing against facts",
      across: { title: "facts, in a third as many streams", scale: "log" },
      up: { title: "milliseconds", scale: "log" },
      lines: linesOf([ALL, CPU, EMPTY]),
      find: ([all]) => (all === undefined ? [] : [growsInStep(all, "facts", COUNTED_FROM)]),
    },
    {
      title: "Memory of an audit against facts",
      across: { title: "facts, in a third as many streams", scale: "log" },
      up: { title: "bytes", scale: "log" },
      lines: linesOf([MEMORY]),
      find: () => [],
    },
  ],
  open,
}

async function open(setting: Setting): Promise<Opened> {
  const sets = new Map<number, DataSet<Written>>()
  const close = async (): Promise<void> => {
    for (const set of sets.values()) await set.release()
    sets.clear()
  }
  try {
    for (const size of SIZES.filter((one) => one <= setting.most)) {
      sets.set(size, await writtenSet(size, setting))
    }
  } catch (error) {
    await close()
    throw error
  }
  const last = new Map<number, Verified>()
  const verified = async (size: number, company?: CompanyId): Promise<Verified> => {
    const { databaseDir } = sets.get(size) as DataSet<Written>
    return verifiedIn(databaseDir, company ?? "", setting.signal)
  }
  const ofLast = (field: "cpuMs" | "bytes") => async (size: number) =>
    (last.get(size) as Verified)[field]
  return {
    measure: {
      ...measuredAt(ALL, async (size) => {
        const found = await verified(size)
        honest(found.events >= size * 0.9, `${found.events} facts of ${size} were audited`)
        last.set(size, found)
        return found.ms
      }),
      ...measuredAt(CPU, ofLast("cpuMs")),
      ...measuredAt(MEMORY, ofLast("bytes")),
      ...measuredAt(EMPTY, async (size) => {
        const empty = sets.get(size)?.there().companies.at(-1)
        return (await verified(size, empty)).ms
      }),
    },
    check: async () => undefined,
    close,
  }
}

/** A store of so many facts: that of a run before, or one that is written now. */
async function writtenSet(size: number, setting: Setting): Promise<DataSet<Written>> {
  const which = { name: `texted-${size}`, form: 1, empty: { companies: [] } }
  const set = await openDataSet<Written>(which, setting)
  if (set.there().companies.length > 0) return set
  // What an interrupted run left is no whole store.
  await rm(set.databaseDir, { recursive: true, force: true, maxRetries: 10 })
  await set.note({ companies: await writeTextedStore(set.databaseDir, size, setting) })
  return set
}

async function verifiedIn(folder: string, company: string, signal: AbortSignal): Promise<Verified> {
  const script = fileURLToPath(new URL("verify-store.ts", import.meta.url))
  const env = { ...process.env, VERIFIED_FOLDER: folder, VERIFIED_COMPANY: company }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { signal, env })
  return JSON.parse(stdout) as Verified
}
