/** `audit verify` by the number of facts: its time and its process's peak memory. */
import { execFile } from "node:child_process"
import { rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { DataSet } from "./data-set.ts"
import { openDataSet } from "./data-set.ts"
import { growsLinearly } from "./findings.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, curveFigures, curveLines, measureAtSizes } from "./points.ts"
import { writeTextedStore } from "./texted-store.ts"

const SIZES = [10_000, 100_000, 1_000_000]
/** With fewer events the start takes longer than the events. */
const COUNTED_FROM = 100_000
const ALL: SizedLine = {
  name: "all",
  title: "audit verify",
  sizes: SIZES,
  of: "facts",
  unit: "ms",
}
const CPU: SizedLine = { ...ALL, name: "cpu", title: "processor time of its process" }
const MEMORY: SizedLine = {
  ...ALL,
  name: "memory",
  title: "memory of its process at most",
  unit: "bytes",
}
const EMPTY: SizedLine = { ...ALL, name: "empty", title: "audit verify of an empty company" }
const LINES = [ALL, CPU, MEMORY, EMPTY]

/** The measurements of a process that audited. */
interface VerifyResult {
  readonly events: number
  readonly ms: number
  readonly cpuMs: number
  readonly bytes: number
}

/** The companies of a written store; the last one is empty. */
interface WrittenStore {
  readonly companies: readonly CompanyId[]
}

export const verifyGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-verify",
  title: "time and memory of audit verify, by how many facts there are, a third of them streams",
  // The store is opened by other processes, in PostgreSQL.
  stores: [],
  figures: curveFigures(LINES),
  curves: [
    {
      title: "Auditing against facts",
      across: { title: "facts, in a third as many streams", scale: "log" },
      up: { title: "milliseconds", scale: "log" },
      lines: curveLines([ALL, CPU, EMPTY]),
      find: ([all]) => (all === undefined ? [] : [growsLinearly(all, "facts", COUNTED_FROM)]),
    },
    {
      title: "Memory of an audit against facts",
      across: { title: "facts, in a third as many streams", scale: "log" },
      up: { title: "bytes", scale: "log" },
      lines: curveLines([MEMORY]),
      find: () => [],
    },
  ],
  open,
}

async function open(setting: BenchmarkContext): Promise<OpenBenchmark> {
  const sets = new Map<number, DataSet<WrittenStore>>()
  const close = async (): Promise<void> => {
    for (const set of sets.values()) await set.release()
    sets.clear()
  }
  try {
    for (const size of SIZES.filter((one) => one <= setting.maxSize)) {
      sets.set(size, await openWrittenSet(size, setting))
    }
  } catch (error) {
    await close()
    throw error
  }
  const last = new Map<number, VerifyResult>()
  const verified = async (size: number, company?: CompanyId): Promise<VerifyResult> => {
    const { databaseDir } = sets.get(size) as DataSet<WrittenStore>
    return runVerify(databaseDir, company ?? "", setting.signal)
  }
  const ofLast = (field: "cpuMs" | "bytes") => async (size: number) =>
    (last.get(size) as VerifyResult)[field]
  return {
    measure: {
      ...measureAtSizes(ALL, async (size) => {
        const found = await verified(size)
        assertMeasurement(
          found.events >= size * 0.9,
          `${found.events} facts of ${size} were audited`,
        )
        last.set(size, found)
        return found.ms
      }),
      ...measureAtSizes(CPU, ofLast("cpuMs")),
      ...measureAtSizes(MEMORY, ofLast("bytes")),
      ...measureAtSizes(EMPTY, async (size) => {
        const empty = sets.get(size)?.contents().companies.at(-1)
        return (await verified(size, empty)).ms
      }),
    },
    check: async () => undefined,
    close,
  }
}

/** Opens a store of so many facts: of an earlier run, or written now. */
async function openWrittenSet(
  size: number,
  setting: BenchmarkContext,
): Promise<DataSet<WrittenStore>> {
  const which = { name: `texted-${size}`, formatVersion: 1, empty: { companies: [] } }
  const set = await openDataSet<WrittenStore>(which, setting)
  if (set.contents().companies.length > 0) return set
  // An interrupted run leaves an incomplete store.
  await rm(set.databaseDir, { recursive: true, force: true, maxRetries: 10 })
  await set.save({ companies: await writeTextedStore(set.databaseDir, size, setting) })
  return set
}

async function runVerify(
  folder: string,
  company: string,
  signal: AbortSignal,
): Promise<VerifyResult> {
  const script = fileURLToPath(new URL("verify-store.ts", import.meta.url))
  const env = { ...process.env, VERIFIED_FOLDER: folder, VERIFIED_COMPANY: company }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { signal, env })
  return JSON.parse(stdout) as VerifyResult
}
