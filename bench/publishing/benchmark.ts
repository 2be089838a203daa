/**
 * What previews cost: a file of a site beside a bare web server, a page of an app beside the same program
 * asked directly, the first page of one that sleeps, and what is lost while a version takes another's place.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import fastify from "fastify"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest, judged } from "../benchmark.ts"
import { getter } from "../boxes/work.ts"
import { openDesk } from "../code/git.ts"
import { elapsed } from "../ground/elapsed.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { House } from "../ground/house.ts"
import { openHouse } from "../ground/house.ts"
import type { Callers } from "../http/callers.ts"
import { onlyStatuses, openCallers } from "../http/callers.ts"
import type { Publisher } from "./publisher.ts"
import { openPublisher } from "./publisher.ts"

const CONNECTIONS = 16
const MEASURED_MS = 1_500
/** A version is built and takes the other's place within this, while callers go on. */
const SWAP_MS = 12_000
const PAGE = `<!doctype html>${"<p>A page of four kilobytes.</p>".repeat(130)}`
const SERVER = `require("node:http").createServer((_, answer) => {
  answer.setHeader("content-type", "text/html")
  answer.end(${JSON.stringify(PAGE)})
}).listen(process.env.PORT, "127.0.0.1", function () { console.log(this.address().port) })`

/** Previews. */
export const publishing: Benchmark = {
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
      ...judged("preview site", "a site's file ÷ bare Fastify", "site", "bare", 0.7, 0.45),
      better: "more",
    },
    {
      ...judged("preview app", "an app's page ÷ asked directly", "app", "direct", 0.4, 0.2),
      better: "more",
    },
    judged("preview waking", "first page of an app that sleeps, ms", "waking", null, 1_100, 2_300),
    judged("preview swap", "requests lost over a swap, %", "lost", null, 0, 0),
  ],
  open: openPublishing,
}

async function openPublishing({ report, signal }: Setting): Promise<Opened> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const desk = await openDesk()
    closers.push(() => desk.remove())
    const house = await openHouse()
    closers.push(() => house.close())
    if (process.platform !== "linux" || !(await house.ports.previewHost.isAble())) {
      const why = "no sandbox can be made on this machine"
      const absent = Object.fromEntries(publishing.figures.map(({ name }) => [name, why]))
      return { measure: {}, absent, check: async () => undefined, close }
    }
    const callers = openCallers(signal)
    closers.push(() => callers.close())
    const port = await house.listen(
      await buildApp(house.ports, PROGRAM.entries, PROGRAM.retired, {
        rateLimits: "off",
        pages: PROGRAM.pages,
        doors: PROGRAM.doors(house.ports),
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
    for (const one of [site, app]) await live(house, one)
    const program = spawn(process.execPath, ["-e", SERVER], { env: { PORT: "0" } })
    closers.push(async () => program.kill())
    return { ...(await measuring({ house, callers, port, site, app, program })), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Publishes, and waits until it is live. @throws Dishonest */
async function live(house: House, one: Publisher): Promise<void> {
  await one.publish()
  await house.settle()
  const status = await one.status()
  honest(status === "live", `a publish is ${status}`)
}

interface Hall {
  readonly house: House
  readonly callers: Callers
  readonly port: number
  readonly site: Publisher
  readonly app: Publisher
  /** The app, on the machine. */
  readonly program: ChildProcess
}

async function measuring(hall: Hall): Promise<Omit<Opened, "close">> {
  const { house, callers, port, site, app, program } = hall
  const bare = fastify().get("/page.html", (_request, reply) => reply.type("text/html").send(PAGE))
  const barePort = await house.listen(bare)
  const [said] = (await once(program.stdout as NodeJS.ReadableStream, "data")) as [Buffer]
  const atSite = { port, host: site.host, cookie: await site.signIn(), path: "/page.html" }
  const atApp = { port, host: app.host, cookie: await app.signIn(), path: "/" }
  const common = { method: "GET", keys: [], connections: CONNECTIONS } as const
  const many = (where: { readonly port: number; readonly path: string }) => async () => {
    const answers = await callers.ask({ ...common, forMs: MEASURED_MS, ...where })
    onlyStatuses(answers, [200])
    return answers.perSecond
  }
  const page = getter(port, app.host, "/", atApp.cookie)
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      bare: many({ port: barePort, path: "/page.html" }),
      site: many(atSite),
      direct: many({ port: Number(String(said)), path: "/" }),
      app: many(atApp),
      waking: async () => {
        await house.ports.previewHost.sleep(app.companyId)
        return elapsed(page)
      },
      lost: async () => {
        const asked = callers.ask({ ...common, forMs: SWAP_MS, ...atApp })
        await live(house, app)
        const { statuses } = await asked
        const all = Object.values(statuses).reduce((sum, one) => sum + one, 0)
        honest((statuses[200] ?? 0) > 0, "nothing was answered over a swap")
        return (100 * (all - (statuses[200] ?? 0))) / all
      },
    },
    check: async () => {
      await house.settle()
      for (const one of [site, app]) honest((await one.status()) === "live", "it is not live")
      house.check()
    },
  }
}
