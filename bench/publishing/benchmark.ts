/**
 * The cost of previews: a file of a site compared with a plain web server, a page of an app compared with the same
 * program called directly, the first page of a sleeping app, and the lost requests while a version replaces another.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import fastify from "fastify"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import { pageGetter } from "../boxes/box-tasks.ts"
import { openGitWorkspace } from "../code/git-workspace.ts"
import { measureMs } from "../fixtures/elapsed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import { assertStatuses, openHttpCallers } from "../http/http-callers.ts"
import type { Publisher } from "./publisher.ts"
import { openPublisher } from "./publisher.ts"

const CONNECTIONS = 16
const MEASURED_MS = 1_500
/** A version is built and replaces the other within this time, while callers continue. */
const SWAP_MS = 12_000
const PAGE = `<!doctype html>${"<p>A page of four kilobytes.</p>".repeat(130)}`
const SERVER = `require("node:http").createServer((_, answer) => {
  answer.setHeader("content-type", "text/html")
  answer.end(${JSON.stringify(PAGE)})
}).listen(process.env.PORT, "127.0.0.1", function () { console.log(this.address().port) })`

export const publishingBenchmark: Benchmark = {
  name: "publishing",
  title: "previews: a site's file, an app's page, waking, and one version after another",
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "bare", title: "bare Fastify GET of the same page", unit: "per second" },
    { name: "site", title: "a file of a site", unit: "per second" },
    { name: "direct", title: "the app on the machine, asked directly", unit: "per second" },
    { name: "app", title: "the app at its preview", unit: "per second" },
    { name: "waking", title: "first page of an app that sleeps, with its database", unit: "ms" },
    { name: "lost", title: "requests lost while a version takes another's place", unit: "%" },
  ],
  ratios: [
    {
      ...lowerIsBetter("preview site", "a site's file ÷ bare Fastify", "site", "bare", 0.7, 0.45),
      better: "more",
    },
    {
      ...lowerIsBetter("preview app", "an app's page ÷ asked directly", "app", "direct", 0.4, 0.2),
      better: "more",
    },
    lowerIsBetter(
      "preview waking",
      "first page of an app that sleeps, ms",
      "waking",
      null,
      1_100,
      2_300,
    ),
    lowerIsBetter("preview swap", "requests lost over a swap, %", "lost", null, 0, 0),
  ],
  open: openPublishing,
}

async function openPublishing({ report, signal }: BenchmarkContext): Promise<OpenBenchmark> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const desk = await openGitWorkspace()
    closers.push(() => desk.remove())
    const house = await openBenchInstallation()
    closers.push(() => house.close())
    if (process.platform !== "linux" || !(await house.ports.previewHost.canBuild())) {
      const why = "no sandbox can be made on this machine"
      const skipped = Object.fromEntries(publishingBenchmark.figures.map(({ name }) => [name, why]))
      return { measure: {}, skipped, check: async () => undefined, close }
    }
    const callers = openHttpCallers(signal)
    closers.push(() => callers.close())
    const port = await house.listen(
      await buildApp(house.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
        rateLimits: "off",
        pages: PROGRAM.pages,
        hostRoutes: PROGRAM.hostRoutes(house.ports),
      }),
    )
    report("publishing: a site and an app are built")
    const site = await openPublisher(house, desk, port, {
      name: "site",
      files: { "company.json": '{"company": "site", "static": "."}', "page.html": PAGE },
    })
    const app = await openPublisher(house, desk, port, {
      name: "app",
      files: { "company.json": '{"company": "app", "start": "node s.js"}', "s.js": SERVER },
    })
    closers.push(() => house.ports.previewHost.erase(app.companyId))
    for (const one of [site, app]) await publishAndWait(house, one)
    const program = spawn(process.execPath, ["-e", SERVER], { env: { PORT: "0" } })
    closers.push(async () => program.kill())
    return { ...(await measurements({ house, callers, port, site, app, program })), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Publishes, and waits until it is live. @throws InvalidMeasurement */
async function publishAndWait(house: BenchInstallation, one: Publisher): Promise<void> {
  await one.publish()
  await house.waitUntilIdle()
  const status = await one.status()
  assertMeasurement(status === "live", `a publish is ${status}`)
}

interface PublishingFixtures {
  readonly house: BenchInstallation
  readonly callers: HttpCallers
  readonly port: number
  readonly site: Publisher
  readonly app: Publisher
  /** The app, on the machine. */
  readonly program: ChildProcess
}

async function measurements(hall: PublishingFixtures): Promise<Omit<OpenBenchmark, "close">> {
  const { house, callers, port, site, app, program } = hall
  const bare = fastify().get("/page.html", (_request, reply) => reply.type("text/html").send(PAGE))
  const barePort = await house.listen(bare)
  const [said] = (await once(program.stdout as NodeJS.ReadableStream, "data")) as [Buffer]
  const atSite = { port, host: site.host, cookie: await site.signIn(), path: "/page.html" }
  const atApp = { port, host: app.host, cookie: await app.signIn(), path: "/" }
  const common = { method: "GET", keys: [], connections: CONNECTIONS } as const
  const many = (where: { readonly port: number; readonly path: string }) => async () => {
    const answers = await callers.ask({ ...common, forMs: MEASURED_MS, ...where })
    assertStatuses(answers, [200])
    return answers.perSecond
  }
  const page = pageGetter(port, app.host, "/", atApp.cookie)
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      bare: many({ port: barePort, path: "/page.html" }),
      site: many(atSite),
      direct: many({ port: Number(String(said)), path: "/" }),
      app: many(atApp),
      waking: async () => {
        await house.ports.previewHost.sleep(app.companyId)
        return measureMs(page)
      },
      lost: async () => {
        const asked = callers.ask({ ...common, forMs: SWAP_MS, ...atApp })
        await publishAndWait(house, app)
        const { statuses } = await asked
        const all = Object.values(statuses).reduce((sum, one) => sum + one, 0)
        assertMeasurement((statuses[200] ?? 0) > 0, "nothing was answered over a swap")
        return (100 * (all - (statuses[200] ?? 0))) / all
      },
    },
    check: async () => {
      await house.waitUntilIdle()
      for (const one of [site, app])
        assertMeasurement((await one.status()) === "live", "it is not live")
      house.assertNoWarnings()
    },
  }
}
