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
    execute: (aggregate, stream, command, execution) => {
      const deadlineMs = Math.min(execution.deadlineMs ?? leftMs, leftMs)
      return waited(runner.execute(aggregate, stream, command, { ...execution, deadlineMs }))
    },
    look: (aggregate, stream, view) => waited(runner.look(aggregate, stream, view, leftMs)),
    lookAtTail: (aggregate, stream, view) =>
      waited(runner.lookAtTail(aggregate, stream, view, leftMs)),
    glance: (aggregate, stream, view) => waited(runner.glance(aggregate, stream, view, leftMs)),
    gather: (aggregate, stream, item) => waited(runner.gather(aggregate, stream, item, leftMs)),
  }
}
