/** Histories of boxes as data, so that a failing one shrinks; and playing one. */
import fc from "fast-check"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { MINUTE_MS } from "../../domain/boxes/box.ts"
import type { Asked, StartRequest } from "./minute-company.ts"
import {
  KEY,
  addFunds,
  arrange,
  change,
  limitWeek,
  openCompany,
  openPrices,
  start,
  stop,
} from "./minute-company.ts"
import type { Fate, HostSays } from "./minute-world.ts"
import { MinuteWorld, settled } from "./minute-world.ts"

/** The company of every history. */
export const COMPANY = "co_aaaaaa"
const PROCESSES = 3

/** What happens next. */
export type Step =
  | {
      readonly does: "start"
      readonly asked: Asked
      readonly by: number
      readonly fate: Fate | null
    }
  | {
      readonly does: "again"
      readonly which: number
      readonly by: number
      readonly fate: Fate | null
    }
  | {
      readonly does: "row"
      readonly which: number
      readonly by: number
      readonly fate: Fate | null
    }
  | { readonly does: "let"; readonly which: number }
  | { readonly does: "pass"; readonly ms: number }
  /** Time passes until a row is due, and two processes take it at once. */
  | { readonly does: "due"; readonly which: number; readonly fates: readonly (Fate | null)[] }
  | { readonly does: "stop"; readonly which: number; readonly deletes: boolean }
  | { readonly does: "limit"; readonly micros: number | null }
  | { readonly does: "funds"; readonly micros: number }
  | { readonly does: "key"; readonly type: "PauseKey" | "ResumeKey" }
  | { readonly does: "account"; readonly type: "LockAccount" | "UnlockAccount" | "CloseLedger" }
  | { readonly does: "lose"; readonly which: number }
  | { readonly does: "busy"; readonly which: number }
  | { readonly does: "hosts"; readonly say: HostSays; readonly isCloneFailing: boolean }

const which = fc.nat(40)
const by = fc.nat(PROCESSES - 1)
const fate = fc.option(fc.record({ at: fc.integer({ min: 1, max: 14 }), isDone: fc.boolean() }), {
  freq: 2,
})
const asked = fc.record({
  size: fc.constantFrom("small", "medium", "large", "xlarge"),
  maxMinutes: fc.constantFrom(1, 3, 9, 30, 60),
  idleMinutes: fc.constantFrom(5, 60),
  budget: fc.constantFrom(null, null, 0.02, 0.05),
})
const ms = fc.constantFrom(
  1,
  500,
  30_000,
  MINUTE_MS - 1,
  MINUTE_MS,
  MINUTE_MS + 1,
  MINUTE_MS + 1,
  61_000,
  90_000,
  2 * MINUTE_MS + 2,
  5 * MINUTE_MS,
  16 * MINUTE_MS,
)
const does = <T extends string>(name: T) => fc.constant(name)

/** Boxes that run, and what happens then. */
export interface History {
  readonly running: readonly Asked[]
  readonly steps: readonly Step[]
}

/** A history of so many steps at most. */
export const histories = (maxLength: number): fc.Arbitrary<History> => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 30, arbitrary: fc.record({ does: does("let"), which }) },
    { weight: 14, arbitrary: fc.record({ does: does("row"), which, by, fate }) },
    { weight: 4, arbitrary: fc.record({ does: does("pass"), ms }) },
    {
      weight: 8,
      arbitrary: fc.record({ does: does("due"), which, fates: fc.tuple(fate, fate) }),
    },
    { weight: 3, arbitrary: fc.record({ does: does("start"), asked, by, fate }) },
    { weight: 1, arbitrary: fc.record({ does: does("again"), which, by, fate }) },
    { weight: 1, arbitrary: fc.record({ does: does("stop"), which, deletes: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        does: does("limit"),
        micros: fc.constantFrom(null, null, 1_000, 20_000, 50_000),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: does("funds"), micros: fc.constantFrom(4_000, 300_000) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        does: does("key"),
        type: fc.constantFrom("PauseKey" as const, "ResumeKey" as const, "ResumeKey" as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        does: does("account"),
        type: fc.constantFrom(
          ...(["LockAccount", "UnlockAccount", "UnlockAccount", "UnlockAccount"] as const),
          "CloseLedger" as const,
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: does("lose"), which }) },
    { weight: 1, arbitrary: fc.record({ does: does("busy"), which }) },
    {
      weight: 1,
      arbitrary: fc.record({
        does: does("hosts"),
        say: fc.constantFrom<HostSays>("ok", "ok", "unavailable", "silent"),
        isCloneFailing: fc.constantFrom(false, false, true),
      }),
    },
  )
  return fc.record({
    running: fc.array(asked, { maxLength: 4 }),
    steps: fc.array(step, { maxLength, size: "max" }),
  })
}

/** A history that is played. */
export class Play {
  readonly world = new MinuteWorld(PROCESSES)
  readonly #starts: StartRequest[] = []
  readonly #claimed = new Set<number>()

  /** A company, some of whose boxes run. */
  async open(running: readonly Asked[]): Promise<void> {
    const { world } = this
    await openPrices(world)
    await openCompany(world, { companyId: COMPANY, plan: "29", fundsMicros: 100_000 })
    world.isFree = true
    for (const wanted of running) {
      this.#start(this.#request(wanted), 0, null, false)
      await world.finish()
    }
    for (const row of world.stored.rows.values()) {
      if (row.dueAt <= world.now) world.work(row, 0, null)
      await world.finish()
    }
    world.isFree = false
  }

  get #boxes(): readonly BoxId[] {
    return this.world.stored.facts.flatMap(({ fact }) =>
      fact.type === "BoxStarted" ? [fact.boxId] : [],
    )
  }

  async step(step: Step): Promise<void> {
    const { world } = this
    switch (step.does) {
      case "let":
        return world.let(step.which)
      case "pass":
        world.pass(step.ms)
        return
      case "due": {
        const rows = [...world.stored.rows.values()].toSorted((a, b) => a.dueAt - b.dueAt)
        const row = rows[step.which % Math.max(1, Math.min(4, rows.length))]
        if (row === undefined) return
        if (row.dueAt > world.now) world.pass(row.dueAt - world.now)
        for (const [i, dies] of step.fates.entries()) world.work(row, i, dies)
        return
      }
      case "start": {
        this.#start(this.#request(step.asked), step.by, step.fate, false)
        return
      }
      case "again":
        this.#start(step.which % Math.max(1, this.#starts.length), step.by, step.fate, true)
        return
      case "row": {
        const due = [...world.stored.rows.values()].filter(({ dueAt }) => dueAt <= world.now)
        const row = due[step.which % Math.max(1, due.length)]
        if (row !== undefined) world.work(row, step.by, step.fate)
        return
      }
      case "stop": {
        const boxId = this.#box(step.which)
        if (boxId === undefined) return
        void world.begin(0, null, (ports) => stop(ports, COMPANY, boxId, step.deletes))
        return
      }
      case "limit":
        return arrange(world, COMPANY, limitWeek(step.micros))
      case "funds":
        return arrange(world, COMPANY, addFunds(step.micros))
      case "key":
        return change(world, COMPANY, { type: step.type, keyId: KEY.keyId })
      case "account":
        return arrange(world, COMPANY, accountCommand(step.type))
      case "lose": {
        const boxId = this.#box(step.which)
        if (boxId !== undefined) for (const { machine } of world.processes) machine.delete(boxId)
        return
      }
      case "busy": {
        const boxId = this.#box(step.which)
        if (boxId === undefined) return
        for (const { machine } of world.processes) {
          const box = machine.get(boxId)
          if (box !== undefined) box.activities += 1
        }
        return
      }
      case "hosts":
        Object.assign(world, { hosts: step.say, isCloneFailing: step.isCloneFailing })
    }
  }

  #box(one: number): BoxId | undefined {
    const boxes = this.#boxes
    return boxes[one % Math.max(1, boxes.length)]
  }

  /** A request that nobody made before; answers its number. */
  #request(wanted: Asked): number {
    const name = `start ${this.#starts.length}`
    return this.#starts.push({ name, asked: wanted, attempt: 0 }) - 1
  }

  /** Starts a box; again only where nobody is at it: whoever carries a request out has a claim. */
  #start(i: number, process: number, dies: Fate | null, isAgain: boolean): void {
    const wanted = this.#starts[i]
    if (wanted === undefined || this.#claimed.has(i)) return
    this.#claimed.add(i)
    void this.world
      .begin(process, dies, (ports) => start(ports, COMPANY, wanted, isAgain))
      .then(() => this.#claimed.delete(i))
  }

  /** Everything that is owed is done: nobody dies any more, and boxes run until they end. */
  async end(): Promise<void> {
    const { world } = this
    Object.assign(world, { hosts: "ok", isCloneFailing: false })
    await world.finish()
    const until = world.now + 5 * 3_600_000
    for (let turn = 0; world.stored.rows.size > 0; turn += 1) {
      const rows = [...world.stored.rows.values()].toSorted((a, b) => a.dueAt - b.dueAt)
      const row = rows[0]
      if (row === undefined) break
      if (row.dueAt > world.now) world.pass(row.dueAt - world.now)
      if (world.now > until) throw new Error(`no end of ${row.key}`)
      world.work(row, turn % PROCESSES, null)
      await world.finish()
    }
  }
}

function accountCommand(type: "LockAccount" | "UnlockAccount" | "CloseLedger") {
  return { type } as Parameters<typeof arrange>[2]
}

/** Plays a history; `look` is asked now and then. */
export async function play(
  { running, steps }: History,
  look: (world: MinuteWorld, isOver: boolean) => void,
): Promise<MinuteWorld> {
  const played = new Play()
  await played.open(running)
  for (const step of steps) {
    await played.step(step)
    await settled()
  }
  look(played.world, false)
  await played.end()
  look(played.world, true)
  return played.world
}
