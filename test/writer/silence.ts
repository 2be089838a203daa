/** A runner on a store, locks and a database that fall silent on demand, and time that a test moves. */
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import type { RunnerPorts } from "../../src/frame/writer/runner/port.ts"
import { addFunds, execute, runnerOn } from "./bench.ts"
import { virtualPacer } from "./pacer.ts"

const NOON = Date.UTC(2026, 10, 21, 12)

/** What can fall silent: it does what it is asked, or not, and answers nobody until it speaks again. */
type Silent = "append" | "append unstored" | "read" | "lock" | "checkpoint"

/** Opens a bench whose callers wait so long unless they say otherwise; default as usual. */
export function silentBench(deadlineMs?: number) {
  const pacer = virtualPacer()
  const memory = openMemoryEventStore()
  const warnings: string[] = []
  let silent: Silent | null = null
  let answer = Promise.withResolvers<void>()
  let setAheadMs = 0
  let intruders = 0
  const quiet = async (what: Silent): Promise<void> => {
    if (silent === what) await answer.promise
  }
  const intrude = async (): Promise<void> => {
    if (intruders === 0) return
    intruders -= 1
    await execute(runnerOn(memory), addFunds(1))
  }
  const runner = openRunner({
    ...falling(memory, pacer, quiet, intrude),
    pacer,
    clock: { now: () => NOON + setAheadMs },
    warn: (message) => warnings.push(message),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
  return {
    runner,
    memory,
    warnings,
    /** Lets time pass once everything has gone as far as it can. */
    pass: async (ms: number) => {
      await settled()
      pacer.pass(ms)
      await settled()
    },
    /** Sets the ledger's time ahead. */
    setAhead: (ms: number) => (setAheadMs += ms),
    /** Another process writes right before each of the next appends. */
    intrude: (times: number) => (intruders = times),
    fallSilent: (what: Silent) => (silent = what),
    /** Answers whoever waits for an answer, with an error where there is one. */
    speak: async (fault?: Error) => {
      silent = null
      if (fault === undefined) answer.resolve()
      else answer.reject(fault)
      answer = Promise.withResolvers()
      await settled()
    },
  }
}

function falling(
  memory: EventStore,
  pacer: RunnerPorts["pacer"],
  quiet: (what: Silent) => Promise<void>,
  intrude: () => Promise<void>,
): Pick<RunnerPorts, "store" | "checkpoints" | "locks"> {
  const kept = openMemoryCheckpoints()
  const turns = openMemoryLocks(pacer)
  return {
    store: {
      ...memory,
      append: async (...args) => {
        await intrude()
        await quiet("append unstored")
        const appended = await memory.append(...args)
        await quiet("append")
        return appended
      },
      read: async function* (...args: Parameters<EventStore["read"]>) {
        await quiet("read")
        yield* memory.read(...args)
      },
    },
    checkpoints: {
      ...kept,
      load: async (stream) => {
        await quiet("checkpoint")
        return kept.load(stream)
      },
    },
    locks: {
      take: async (name, timeoutMs) => {
        await quiet("lock")
        return turns.take(name, timeoutMs)
      },
    },
  }
}

/** Resolves once everything has gone as far as it can without time passing. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
}
