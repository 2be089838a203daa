/** Routes that run commands in a box, in the foreground or background. */
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

const MAX_OUTPUT = 200_000
/** A character has at most four bytes in UTF-8. */
const MAX_OUTPUT_BYTES = 4 * MAX_OUTPUT

const command = nonBlankText(10_000).describe(
  "A shell command, run by bash, or by sh if the box has no bash",
)
const cwd = boundedText(1_000).optional().describe(`Working directory; default ${WORKSPACE}`)

const Exec = z.object({
  command,
  cwd,
  timeoutMs: z
    .int()
    .min(1_000)
    .max(600_000)
    .default(120_000)
    .describe("Milliseconds after which the command and its processes are ended"),
})

const replacedBytes = z
  .literal(true)
  .exactOptional()
  .describe("True if an output has bytes that are not UTF-8; each is shown as U+FFFD")

const REPLACED_GAP =
  "The specification has no field for output that is not text. `replacedBytes` is added, only if bytes were replaced."

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
    exitCode: z.int().describe("124 after a timeout; 128 or more if a signal ended the command"),
    success: z.boolean().describe("Whether the exit code is 0"),
    stdout: output("Standard output"),
    stderr: output("Standard error"),
    replacedBytes,
  }),
  specGap: REPLACED_GAP,
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, body, stopping }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const limits = {
        timeoutMs: body.timeoutMs,
        maxOutputBytes: MAX_OUTPUT_BYTES,
        isActivity: true,
      }
      const options = body.cwd === undefined ? limits : { ...limits, cwd: body.cwd }
      const logResult = logStartedActivity(ports, caller, found, {
        action: "exec",
        detail: body.command,
      })
      const running = box.runShell(body.command, options)
      const ran = await awaitUnlessStopping(ports, running, stopping).catch(async (error) => {
        await logResult(loggedResultOf(error))
        throw error
      })
      const { exitCode, isTruncated } = ran
      await logResult(ran.isTimedOut ? "timed out" : `exit ${exitCode}`)
      const stdout = truncateText(decodeUtf8(ran.stdout), MAX_OUTPUT, isTruncated.stdout)
      const stderr = truncateText(decodeUtf8(ran.stderr), MAX_OUTPUT, isTruncated.stderr)
      const answer = { exitCode, success: exitCode === 0, stdout, stderr }
      const isReplaced =
        hasReplacementCharacters(ran.stdout, stdout) || hasReplacementCharacters(ran.stderr, stderr)
      return { ok: true, body: isReplaced ? { ...answer, replacedBytes: true as const } : answer }
    }),
})

/** While the server shuts down, a command that ends within this time is still answered. */
const ANSWERED_WITHIN_MS = 3_000

/** Waits for a command, unless the server shuts down first. @throws ProviderOutcomeUnknown, and its errors */
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
    throw new ProviderOutcomeUnknown("the server shuts down, and the command continues")
  }
  try {
    return await Promise.race([running, stopped()])
  } finally {
    over.abort()
  }
}

/** The logged result of a command whose end was not seen. */
function loggedResultOf(error: unknown): string {
  if (error instanceof BoxGone) return "the box ended"
  return error instanceof ProviderOutcomeUnknown ? "no answer" : "not run"
}

const Process = z
  .object({
    id: z.string().describe("Id of the process within its box"),
    pid: z.int().describe("Process id in the box"),
    command: z.string().describe("The command as requested"),
    status: z.enum(["running", "exited"]).describe("Whether the process still runs"),
    exitCode: z.int().nullable().describe("Exit code; null while it runs"),
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
  reply: z.object({ processes: z.array(Process).describe("Oldest first") }),
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

const NO_PROCESS = "The box has no background command with this id. List them to see their ids."
const noProcess = () => ({ ok: false as const, refusal: refusal("not_found", NO_PROCESS) })

/** Reads the output of a background command. */
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
    stdout: z.string().describe("Standard output so far; a long output keeps its newest part"),
    stderr: z.string().describe("Standard error so far; a long output keeps its newest part"),
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
  reply: z.object({ ok: z.literal(true).describe("The process has ended") }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      if (!(await box.stopProcess(params.process))) return noProcess()
      const done = { detail: params.process, result: "stopped" }
      await logCallerActivity(ports, caller, found, { action: "stop_process", ...done })
      return { ok: true, body: { ok: true } }
    }),
})
