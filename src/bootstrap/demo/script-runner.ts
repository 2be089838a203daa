/** The demo's player: steps of its script are commands and API calls, each done at its time. */
import type { FastifyInstance } from "fastify"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { PROGRAM } from "../../slices.ts"

/** The facts of the demo name it as their actor. */
const ACTOR = "demo"
const REJECTED_STATUSES = [402, 429]
const HOUR_MS = 3_600_000

/** An operator's command, by its name. */
interface CommandAction {
  readonly command: string
  readonly input: object
}

/** A call of the API by a key. */
interface CallAction {
  readonly key: string
  readonly method: "GET" | "POST" | "PATCH"
  readonly url: string
  readonly body?: object
}

interface StepOptions {
  /** What later steps need of the answer: its path there, such as `numbers.0.id`, by its name. */
  readonly captures: Readonly<Record<string, string>>
  /** Whether it may be refused: for want of funds, or by a limit. */
  readonly mayBeRejected: boolean
  /** Whether all jobs of the steps before must be done first. */
  readonly isAfterJobs: boolean
  readonly reason: string | null
}

/** A step of the demo; `{name}` in its texts stands for a value that an earlier step kept. */
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

/** A step that is a command. */
export function commandStep(
  at: number,
  name: string,
  input: object,
  terms: Partial<StepOptions> = {},
): DemoStep {
  return { at, action: { command: name, input }, ...DEFAULT_OPTIONS, ...terms }
}

/** A step that is a call by one of the keys. */
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

/** What the steps are done with. */
export interface DemoContext {
  readonly ports: AdminPorts
  readonly app: FastifyInstance
  readonly signal: AbortSignal
}

/** Does an operation in the demo's name; its answer is an `A`. @throws OperatorRefused */
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
 * Plays steps in their order, each at its time.
 *
 * @param begun when the demo began, UTC milliseconds
 * @param kept the values that steps keep of their answers, by their names
 * @throws the signal's reason; Error where a step has another outcome than it states
 */
export async function runSteps(
  stage: DemoContext,
  steps: readonly DemoStep[],
  begun: number,
  kept: Map<string, string>,
): Promise<void> {
  for (const step of steps) {
    stage.signal.throwIfAborted()
    await advanceClockTo(stage, begun + Math.round(step.at * HOUR_MS), step.isAfterJobs)
    const { action, ...terms } = fillPlaceholders(step, kept)
    const answer =
      "command" in action
        ? await runCommandAction(stage, action, terms)
        : await sendCallAction(stage, action, terms)
    for (const [name, path] of Object.entries(step.captures)) kept.set(name, valueAt(answer, path))
  }
}

/** Moves the clock; where the step needs it, all jobs that fall due on the way are done. */
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
  throw new Error(`the demo's ${method} ${url} was answered ${statusCode}: ${text}`)
}

/** The value with each `{name}` in its texts replaced by what was kept. */
function fillPlaceholders<T>(value: T, kept: ReadonlyMap<string, string>): T {
  const wordOf = (_whole: string, name: string): string => {
    const word = kept.get(name)
    if (word === undefined) throw new Error(`the demo's script kept no ${name}`)
    return word
  }
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === "string" ? inner.replaceAll(/\{([\w.]+)\}/g, wordOf) : inner,
  )
  return JSON.parse(text) as T
}

/** The text at a path of an answer. @throws Error where there is none */
function valueAt(answer: unknown, path: string): string {
  const found = path
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], answer)
  if (typeof found !== "string") throw new Error(`an answer of the demo's has no ${path}`)
  return found
}
