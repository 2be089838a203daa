/** Commands in a box: run and waited for, or in the background. */
import { z } from "zod"
import type { BoxProcess } from "../../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, WORKSPACE } from "../../../adapters/sandbox/boxhost/port.ts"
import { ProviderOutcomeUnknown } from "../../../adapters/providers/provider-errors.ts"
import { refusal } from "../../frame/routes/answers/refusal.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { nonBlankText, boundedText } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { logCallerActivity, logStartedActivity } from "../activity.ts"
import { BOXES_URL, BOX_ROUTE, BoxParams, withRunningBox } from "../box-route.ts"
import { BOX_REFUSALS } from "../box-errors.ts"
import { truncateText, hasReplacementCharacters, decodeUtf8 } from "../truncate-text.ts"
import { BOX_TOOLS } from "../tools.ts"

/** So many characters of each output are answered. */
const MAX_OUTPUT = 200_000
/** A character has four bytes at most. */
const MAX_OUTPUT_BYTES = 4 * MAX_OUTPUT

const command = nonBlankText(10_000).describe(
  "A shell command: bash runs it where the box has it, else sh",
)
const cwd = boundedText(1_000).optional().describe(`The folder it begins in; default ${WORKSPACE}`)

const Exec = z.object({
  command,
  cwd,
  timeoutMs: z
    .int()
    .min(1_000)
    .max(600_000)
    .default(120_000)
    .describe("After so many milliseconds all that it started is ended"),
})

const replacedBytes = z
  .literal(true)
  .exactOptional()
  .describe("True where an output has bytes that are no UTF-8: each is shown as U+FFFD")

const REPLACED_GAP =
  "The specification has no field for output that is no text: `replacedBytes` is added, and only where bytes were replaced."

const output = (what: string) =>
  z.string().describe(`${what}, up to 200,000 characters; the last line says where it was cut`)

/** Runs a command and waits for it. */
export const runCommand = route({
  ...BOX_ROUTE,
  name: "runCommand",
  method: "POST",
  url: `${BOXES_URL}/:id/exec`,
  summary: "Run a command in a box and wait for it",
  example: { params: { id: "box_4Zb0x7" }, body: { command: "npm test", timeoutMs: 60_000 } },
  operation: "sandbox.exec",
  tool: BOX_TOOLS.run_command,
  params: BoxParams,
  body: Exec,
  reply: z.object({
    exitCode: z.int().describe("124 where its time was over, 128 and more where a signal ended it"),
    success: z.boolean().describe("Whether the exit code is 0"),
    stdout: output("What it wrote"),
    stderr: output("What it complained of"),
    replacedBytes,
  }),
  specGap: REPLACED_GAP,
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, body, stopping }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const asked = {
        timeoutMs: body.timeoutMs,
        maxOutputBytes: MAX_OUTPUT_BYTES,
        isActivity: true,
      }
      const options = body.cwd === undefined ? asked : { ...asked, cwd: body.cwd }
      const noted = logStartedActivity(ports, caller, found, {
        action: "exec",
        detail: body.command,
      })
      const running = box.runShell(body.command, options)
      const ran = await awaitUnlessStopping(ports, running, stopping).catch(async (error) => {
        await noted(loggedResultOf(error))
        throw error
      })
      const { exitCode, isTruncated } = ran
      await noted(ran.isTimedOut ? "timed out" : `exit ${exitCode}`)
      const stdout = truncateText(decodeUtf8(ran.stdout), MAX_OUTPUT, isTruncated.stdout)
      const stderr = truncateText(decodeUtf8(ran.stderr), MAX_OUTPUT, isTruncated.stderr)
      const answer = { exitCode, success: exitCode === 0, stdout, stderr }
      const isReplaced =
        hasReplacementCharacters(ran.stdout, stdout) || hasReplacementCharacters(ran.stderr, stderr)
      return { ok: true, body: isReplaced ? { ...answer, replacedBytes: true as const } : answer }
    }),
})

/** A command that ends within this after its server is told to stop is still answered. */
const ANSWERED_WITHIN_MS = 3_000

/** What a command came to, unless its server stops before. @throws ProviderOutcomeUnknown; what it throws */
async function awaitUnlessStopping<T>(
  { pacer }: Pick<Ports, "pacer">,
  running: Promise<T>,
  stopping: AbortSignal,
): Promise<T> {
  const over = new AbortController()
  const stopped = async (): Promise<never> => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    stopping.addEventListener("abort", resolve, { signal: over.signal })
    if (!stopping.aborted) await promise
    await pacer.pause(ANSWERED_WITHIN_MS, over.signal)
    throw new ProviderOutcomeUnknown("the server stops, and the command goes on")
  }
  try {
    return await Promise.race([running, stopped()])
  } finally {
    over.abort()
  }
}

/** What is noted of a command whose end nobody saw. */
function loggedResultOf(error: unknown): string {
  if (error instanceof BoxGone) return "the box ended"
  return error instanceof ProviderOutcomeUnknown ? "no answer" : "not run"
}

const Process = z
  .object({
    id: z.string().describe("Names it within its box"),
    pid: z.int().describe("Its process in the box"),
    command: z.string().describe("As it was asked for"),
    status: z.enum(["running", "exited"]).describe("Whether it still runs"),
    exitCode: z.int().nullable().describe("Null while it runs"),
  })
  .meta({ id: "BoxProcess", description: "A background command of a box" })

const processAnswer = ({ id, pid, command: text, status, exitCode }: BoxProcess) => ({
  id,
  pid,
  command: text,
  status,
  exitCode,
})

/** Starts a background command. */
export const startProcess = route({
  ...BOX_ROUTE,
  name: "startProcess",
  method: "POST",
  url: `${BOXES_URL}/:id/processes`,
  summary: "Start a background command in a box",
  example: { params: { id: "box_4Zb0x7" }, body: { command: "npm run dev" } },
  operation: "sandbox.exec",
  tool: BOX_TOOLS.start_process,
  params: BoxParams,
  body: z.object({ command, cwd }),
  reply: Process.omit({ exitCode: true }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, body }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const { exitCode: _none, ...process } = processAnswer(await box.spawn(body.command, body.cwd))
      const done = { detail: body.command, result: `process ${process.id}` }
      await logCallerActivity(ports, caller, found, { action: "start_process", ...done })
      return { ok: true, body: process }
    }),
})

/** Lists background commands. */
export const processList = route({
  ...BOX_ROUTE,
  name: "listProcesses",
  method: "GET",
  url: `${BOXES_URL}/:id/processes`,
  summary: "List the background commands of a box",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.list_processes,
  params: BoxParams,
  reply: z.object({ processes: z.array(Process).describe("The first started first") }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params }) =>
    withRunningBox(ports, caller, params.id, async (box) => ({
      ok: true,
      body: { processes: (await box.listProcesses()).map(processAnswer) },
    })),
})

const ProcessParams = BoxParams.extend({
  process: boundedText(100).describe("Id of the background command"),
})

const NO_PROCESS = "There is no such background command in the box."
const noProcess = () => ({ ok: false as const, refusal: refusal("not_found", NO_PROCESS) })

/** Reads what a background command wrote. */
export const processLogs = route({
  ...BOX_ROUTE,
  name: "getProcessLogs",
  method: "GET",
  url: `${BOXES_URL}/:id/processes/:process/logs`,
  summary: "Read what a background command wrote",
  example: { params: { id: "box_4Zb0x7", process: "p1" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.process_logs,
  params: ProcessParams,
  reply: z.object({
    stdout: z.string().describe("What it wrote so far; of very much the newest"),
    stderr: z.string().describe("What it complained of so far; of very much the newest"),
    replacedBytes,
  }),
  specGap: REPLACED_GAP,
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params }) =>
    withRunningBox(ports, caller, params.id, async (box) => {
      const logs = await box.readLogs(params.process)
      return logs === null ? noProcess() : { ok: true, body: { ...logs } }
    }),
})

/** Stops a background command. */
export const stopProcess = route({
  ...BOX_ROUTE,
  name: "stopProcess",
  method: "DELETE",
  url: `${BOXES_URL}/:id/processes/:process`,
  summary: "Stop a background command",
  example: { params: { id: "box_4Zb0x7", process: "p1" } },
  operation: "sandbox.exec",
  tool: BOX_TOOLS.stop_process,
  params: ProcessParams,
  reply: z.object({ ok: z.literal(true).describe("It has ended") }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      if (!(await box.stopProcess(params.process))) return noProcess()
      const done = { detail: params.process, result: "stopped" }
      await logCallerActivity(ports, caller, found, { action: "stop_process", ...done })
      return { ok: true, body: { ok: true } }
    }),
})
