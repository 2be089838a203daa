/** Runs the demo script: its steps are commands and API calls, each at its time. */
import type { FastifyInstance } from "fastify"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { PROGRAM } from "../../slices.ts"

/** The actor of the demo's facts. */
const ACTOR = "demo"
const REJECTED_STATUSES = [402, 429]
const HOUR_MS = 3_600_000

interface CommandAction {
  readonly command: string
  readonly input: object
}

interface CallAction {
  readonly key: string
  readonly method: "GET" | "POST" | "PATCH"
  readonly url: string
  readonly body?: object
}

interface StepOptions {
  /** Values of the answer that later steps need: the path, such as `numbers.0.id`, by name. */
  readonly captures: Readonly<Record<string, string>>
  /** Whether funds or a limit may reject it. */
  readonly mayBeRejected: boolean
  /** Whether all jobs of earlier steps must be done first. */
  readonly isAfterJobs: boolean
  readonly reason: string | null
}

/** A step of the demo; `{name}` in its texts is replaced by a value that an earlier step captured. */
export interface DemoStep extends StepOptions {
  /** Hours since the demo began. */
  readonly at: number
  readonly action: CommandAction | CallAction
}

const DEFAULT_OPTIONS: StepOptions = {
  captures: {},
  mayBeRejected: false,
  isAfterJobs: false,
  reason: null,
}

/** Creates a step that runs a command. */
export function commandStep(
  at: number,
  name: string,
  input: object,
  terms: Partial<StepOptions> = {},
): DemoStep {
  return { at, action: { command: name, input }, ...DEFAULT_OPTIONS, ...terms }
}

/** Creates a step that calls the API with one of the keys. */
export function callStep(
  at: number,
  key: string,
  line: `${CallAction["method"]} /${string}`,
  body?: object,
  terms: Partial<StepOptions> = {},
): DemoStep {
  const [method, url] = line.split(" ") as [CallAction["method"], string]
  const action = { key: `{${key}.key}`, method, url, ...(body !== undefined && { body }) }
  return { at, action, ...DEFAULT_OPTIONS, ...terms }
}

/** The dependencies of the steps. */
export interface DemoContext {
  readonly ports: AdminPorts
  readonly app: FastifyInstance
  readonly signal: AbortSignal
}

/** Runs an operation as the demo and returns its answer, an `A`. @throws OperatorRefused */
export async function runDemoOperation<A>(
  ports: AdminPorts,
  name: string,
  input: object,
  signal = new AbortController().signal,
  reason: string | null = null,
): Promise<A> {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  const cause = { ...causedBy(newId("cmd")), actor: ACTOR, reason }
  const talk = { progress: () => undefined, send: async () => undefined, signal }
  return found.run({ ports, cause, ...talk }, found.input.parse(input)) as Promise<A>
}

/**
 * Runs steps in order, each at its time.
 *
 * @param begun when the demo began, UTC milliseconds
 * @param values the captured values, by name; the steps add to them
 * @throws the signal's reason; Error if a step has an unexpected outcome
 */
export async function runSteps(
  context: DemoContext,
  steps: readonly DemoStep[],
  begun: number,
  values: Map<string, string>,
): Promise<void> {
  for (const step of steps) {
    context.signal.throwIfAborted()
    await advanceClockTo(context, begun + Math.round(step.at * HOUR_MS), step.isAfterJobs)
    const { action, ...terms } = fillPlaceholders(step, values)
    const answer =
      "command" in action
        ? await runCommandAction(context, action, terms)
        : await sendCallAction(context, action, terms)
    for (const [name, path] of Object.entries(step.captures))
      values.set(name, valueAt(answer, path))
  }
}

/** Sets the clock; with `isSettled`, jobs that become due on the way run first. */
async function advanceClockTo(
  { ports, signal }: DemoContext,
  to: number,
  isSettled: boolean,
): Promise<void> {
  if (isSettled)
    await runDemoOperation(ports, "clock set", { to: new Date(to).toISOString() }, signal)
  else if (to > ports.clock.now()) await ports.setClock?.(to)
}

async function runCommandAction(
  { ports, signal }: DemoContext,
  { command: name, input }: CommandAction,
  terms: StepOptions,
) {
  try {
    return await runDemoOperation(ports, name, input, signal, terms.reason)
  } catch (error) {
    if (terms.mayBeRejected && error instanceof OperatorRefused) return null
    throw error
  }
}

async function sendCallAction(
  { app }: DemoContext,
  { key, method, url, body }: CallAction,
  terms: StepOptions,
) {
  const { statusCode, body: text } = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}`, "idempotency-key": newId("demo") },
    ...(body !== undefined && { payload: body }),
  })
  if (statusCode < 300) return JSON.parse(text) as unknown
  if (terms.mayBeRejected && REJECTED_STATUSES.includes(statusCode)) return null
  throw new Error(`the demo's ${method} ${url} failed with status ${statusCode}: ${text}`)
}

/** Replaces each `{name}` in a value's texts by the captured value. */
function fillPlaceholders<T>(value: T, captured: ReadonlyMap<string, string>): T {
  const valueOf = (_match: string, name: string): string => {
    const found = captured.get(name)
    if (found === undefined) throw new Error(`the demo's script captured no ${name}`)
    return found
  }
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === "string" ? inner.replaceAll(/\{([\w.]+)\}/g, valueOf) : inner,
  )
  return JSON.parse(text) as T
}

/** Returns the text at a path of an answer. @throws Error if there is none */
function valueAt(answer: unknown, path: string): string {
  const found = path
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], answer)
  if (typeof found !== "string") throw new Error(`an answer in the demo has no ${path}`)
  return found
}
