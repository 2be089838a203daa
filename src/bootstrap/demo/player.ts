/** Plays the steps of the demo: commands by their operations, calls by the routes, at their times. */
import type { FastifyInstance } from "fastify"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { PROGRAM } from "../../slices.ts"
import type { Call, Command, Step } from "./step.ts"
import { filled, placed } from "./step.ts"

/** Whom the facts of the demo name as who did it. */
const ACTOR = "demo"
const REFUSED = [402, 429]
const HOUR_MS = 3_600_000

/** What the steps are done with. */
export interface Stage {
  readonly ports: AdminPorts
  readonly app: FastifyInstance
  readonly signal: AbortSignal
}

/** Does an operation in the demo's name. @throws OperatorRefused where it is refused */
export async function operate(
  ports: AdminPorts,
  name: string,
  input: object,
  {
    reason = null,
    signal = new AbortController().signal,
  }: { readonly reason?: string | null; readonly signal?: AbortSignal } = {},
): Promise<unknown> {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  const cause = { ...causedBy(newId("cmd")), actor: ACTOR, reason }
  const talk = { progress: () => undefined, send: async () => undefined, signal }
  return found.run({ ports, cause, ...talk }, found.input.parse(input))
}

/**
 * Plays steps in their order, each at its time.
 *
 * @param begun when the demo began, UTC milliseconds
 * @param kept what steps keep of their answers, for those behind them
 * @throws the signal's reason; Error where a step comes to something else than it says
 */
export async function play(
  stage: Stage,
  steps: readonly Step[],
  begun: number,
  kept: Map<string, string>,
): Promise<void> {
  for (const step of steps) {
    stage.signal.throwIfAborted()
    await moveTo(stage, begun + Math.round(step.at * HOUR_MS), step.isSettled)
    const answer = await doStep(stage, filled(step, kept))
    for (const [name, place] of Object.entries(step.keep)) kept.set(name, placed(answer, place))
  }
}

/** Moves the clock; where that matters, it waits until all that is due on the way is done. */
async function moveTo({ ports, signal }: Stage, to: number, isSettled: boolean): Promise<void> {
  if (isSettled) await operate(ports, "clock set", { to: new Date(to).toISOString() }, { signal })
  else if (to > ports.clock.now()) await ports.setClock?.(to)
}

async function doStep(stage: Stage, { does, mayBeRefused }: Step): Promise<unknown> {
  return "command" in does ? runCommand(stage, does, mayBeRefused) : send(stage, does, mayBeRefused)
}

async function runCommand(
  { ports, signal }: Stage,
  { command, input, reason }: Command,
  mayBeRefused: boolean,
): Promise<unknown> {
  try {
    return await operate(ports, command, input, { reason, signal })
  } catch (error) {
    if (mayBeRefused && error instanceof OperatorRefused) return null
    throw error
  }
}

async function send(
  { app }: Stage,
  { key, method, url, body }: Call,
  mayBeRefused: boolean,
): Promise<unknown> {
  const { statusCode, body: text } = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}`, "idempotency-key": newId("demo") },
    ...(body === undefined ? {} : { payload: body }),
  })
  if (statusCode < 300) return JSON.parse(text) as unknown
  if (mayBeRefused && REFUSED.includes(statusCode)) return null
  throw new Error(`the demo's ${method} ${url} was answered ${statusCode}: ${text}`)
}
