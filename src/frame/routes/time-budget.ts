/**
 * A request asks the ledger for one thing after another: who it is, what it may, the charge, the
 * text. All these waits together take no longer than one of them may.
 */
import type { Ports } from "../ports.ts"
import type { Runner } from "../writer/run.ts"

/** The ports as one request has them. What it waits for elsewhere is bounded there, and not counted. */
export function portsOfRequest(ports: Ports): Ports {
  return { ...ports, runner: runnerOfRequest(ports.runner) }
}

function runnerOfRequest(runner: Runner): Runner {
  let leftMs = runner.deadlineMs
  const waited = async <T>(asked: Promise<T>): Promise<T> => {
    const from = runner.elapsedMs()
    try {
      return await asked
    } finally {
      leftMs = Math.max(0, leftMs - (runner.elapsedMs() - from))
    }
  }
  return {
    ...runner,
    execute: (to, command, cause, view, deadlineMs = leftMs) =>
      waited(runner.execute(to, command, cause, view, Math.min(deadlineMs, leftMs))),
    read: (at, view) => waited(runner.read(at, view, leftMs)),
    readLatest: (at, view) => waited(runner.readLatest(at, view, leftMs)),
    glance: (at, view) => waited(runner.glance(at, view, leftMs)),
    gather: (beside, item) => waited(runner.gather(beside, item, leftMs)),
  }
}
