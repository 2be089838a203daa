/**
 * Clones and pushes through the server, compared with the same over `file://`, and the time of a push's checks. The
 * checks are part of the server's pushes and not of git's own.
 */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { IncomingPush, PushVerdict } from "../../adapters/git/port.ts"
import { PROGRAM } from "../../src/slices.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import { measureMs } from "../fixtures/elapsed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import type { GitWorkspace } from "./git-workspace.ts"
import { createBareRepository, createWorkingCopy, openGitWorkspace } from "./git-workspace.ts"
import type { CodeCompany } from "./code-company.ts"
import { openCodeCompany } from "./code-company.ts"

const MIB = 1024 * 1024
const LARGE = { files: 50, bytes: 4 * MIB }
const MANY = { files: 3_000, bytes: 500 }
const SAMPLE_INTERVAL_MS = 20

export const codeBenchmark: Benchmark = {
  name: "code",
  title: "clones and pushes of 200 MB, of one small commit, of 3,000 small files",
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "pushFile", title: "push of 200 MB over file://", unit: "ms" },
    { name: "push", title: "the same through the server, with its checks", unit: "ms" },
    { name: "memory", title: "memory that the server takes for that push, at most", unit: "bytes" },
    { name: "cloneFile", title: "clone of 200 MB over file://", unit: "ms" },
    { name: "clone", title: "the same through the server", unit: "ms" },
    { name: "smallFile", title: "clone of one small commit over file://", unit: "ms" },
    { name: "small", title: "the same through the server", unit: "ms" },
    { name: "checksOne", title: "checks of a push of one small commit", unit: "ms" },
    { name: "checksMany", title: "checks of a push of 3,000 small files", unit: "ms" },
  ],
  ratios: [
    lowerIsBetter("code clone", "clone of 200 MB ÷ over file://", "clone", "cloneFile", 1.15, 1.5),
    lowerIsBetter("code small", "clone of one commit ÷ over file://", "small", "smallFile", 2, 3),
    lowerIsBetter("code push", "push of 200 MB ÷ over file://", "push", "pushFile", 1.5, 2),
    lowerIsBetter("code memory", "memory for it, bytes", "memory", null, 30 * MIB, 80 * MIB),
    lowerIsBetter("code checks", "checks of one commit, ms", "checksOne", null, 50, 150),
    lowerIsBetter("code many", "checks of 3,000 files, ms", "checksMany", null, 400, 1_000),
  ],
  open: openCode,
}

async function openCode({ report }: BenchmarkContext): Promise<OpenBenchmark> {
  const desk = await openGitWorkspace()
  const house = await openBenchInstallation().catch(async (error: unknown) => {
    await desk.remove()
    throw error
  })
  const close = async (): Promise<void> => {
    await house.close()
    await desk.remove()
  }
  try {
    const checks: number[] = []
    const app = await buildApp(
      withTimedChecks(house.ports, checks),
      PROGRAM.entries,
      PROGRAM.retiredPaths,
      {
        rateLimits: "off",
        pages: PROGRAM.pages,
      },
    )
    const port = await house.listen(app)
    report("code: making 200 MB of files")
    await createWorkingCopy(desk, "large", LARGE.files, LARGE.bytes)
    await createWorkingCopy(desk, "one", 3, 500)
    await createWorkingCopy(desk, "many", MANY.files, MANY.bytes)
    return { ...measurements(house, desk, port, checks), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Wraps ports to record how long each push was checked, milliseconds. */
function withTimedChecks(ports: AdminPorts, checks: number[]): AdminPorts {
  const { repositories } = ports
  const judgeTimed =
    (judge: (push: IncomingPush) => Promise<PushVerdict>) => async (push: IncomingPush) => {
      const begun = performance.now()
      const verdict = await judge(push)
      checks.push(performance.now() - begun)
      return verdict
    }
  return {
    ...ports,
    repositories: {
      ...repositories,
      receivePush: (conversation, judge) =>
        repositories.receivePush(conversation, judgeTimed(judge)),
    },
  }
}

function measurements(
  house: BenchInstallation,
  desk: GitWorkspace,
  port: number,
  checks: readonly number[],
): Omit<OpenBenchmark, "close"> {
  let made = 0
  const pushed: string[] = []
  const fileAt = (name: string) => pathToFileURL(join(desk.folder, name)).href
  const createBare = async (): Promise<string> => {
    made += 1
    await createBareRepository(desk, `bare-${made}`)
    return fileAt(`bare-${made}`)
  }
  const place = async (): Promise<CodeCompany> => {
    made += 1
    const opened = await openCodeCompany(house, port, { name: `code ${made}` })
    pushed.push(opened.companyId)
    return opened
  }
  const push = (from: string, to: string) => desk.git(from, "push", "-q", to, "main")
  const clone = async (from: string): Promise<number> => {
    made += 1
    const into = `clone-${made}`
    return measureMs(() => desk.git(".", "clone", "-q", "--bare", from, into))
  }
  const checked = async (from: string): Promise<number> => {
    await push(from, (await place()).repositoryUrl)
    return checks.at(-1) ?? Number.NaN
  }
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      ...transfers({
        createBare,
        createServed: async () => (await place()).repositoryUrl,
        push,
        clone,
      }),
      checksOne: () => checked("one"),
      checksMany: () => checked("many"),
    },
    check: async () => {
      await house.waitUntilIdle()
      for (const company of pushed) {
        const { pushes } = (await house.operate("code pushes", { company })) as {
          readonly pushes: readonly { readonly status: string }[]
        }
        const statuses = pushes.map(({ status }) => status).join()
        assertMeasurement(statuses === "landed", `the push of ${company} is ${statuses}`)
      }
      house.assertNoWarnings()
    },
  }
}

/** Clones and pushes, by address. */
interface TransferActions {
  readonly createBare: () => Promise<string>
  readonly createServed: () => Promise<string>
  readonly push: (from: string, to: string) => Promise<void>
  readonly clone: (from: string) => Promise<number>
}

/** Clones and pushes of one repository to a folder, and through the server. */
function transfers({
  createBare,
  createServed,
  push,
  clone,
}: TransferActions): OpenBenchmark["measure"] {
  const large: { file?: string; served?: string } = {}
  const small: { file?: string; served?: string } = {}
  let memory = 0
  return {
    pushFile: async () => {
      large.file = await createBare()
      return measureMs(() => push("large", large.file ?? ""))
    },
    push: async () => {
      large.served = await createServed()
      const sampling = sampleMemory()
      const took = await measureMs(() => push("large", large.served ?? ""))
      memory = sampling.end()
      return took
    },
    memory: async () => memory,
    cloneFile: () => clone(large.file ?? ""),
    clone: () => clone(large.served ?? ""),
    smallFile: async () => {
      if (small.file === undefined) {
        small.file = await createBare()
        await push("one", small.file)
      }
      return clone(small.file)
    },
    small: async () => {
      if (small.served === undefined) {
        small.served = await createServed()
        await push("one", small.served)
      }
      return clone(small.served)
    },
  }
}

/** Samples by how much the memory of this process grows until `end`, bytes. */
function sampleMemory(): { readonly end: () => number } {
  global.gc?.()
  const before = process.memoryUsage.rss()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, SAMPLE_INTERVAL_MS)
  return {
    end: () => {
      clearInterval(timer)
      return Math.max(most, process.memoryUsage.rss()) - before
    },
  }
}
