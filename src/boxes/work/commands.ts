/** Commands in a box: run and waited for, or in the background. */
import { z } from "zod"
import type { BoxProcess } from "../../../adapters/providers/boxhost/port.ts"
import { BoxGone, WORKSPACE } from "../../../adapters/providers/boxhost/port.ts"
import { ProviderSilent } from "../../../adapters/providers/outside.ts"
import { refusal } from "../../frame/calls/refusal.ts"
import { route } from "../../frame/calls/route.ts"
import { shortText } from "../../frame/kernel/schema.ts"
import { note } from "../activity.ts"
import { BOXES_URL, BOX_ROUTE, OfBox } from "../box-route.ts"
import { WORK_REFUSALS } from "../codes.ts"
import { BOX_TOOLS } from "../tools.ts"
import { inBox } from "./in-box.ts"

/** So many characters of each output are answered. */
const MOST_OUTPUT = 200_000
/** A character has four bytes at most. */
const MOST_OUTPUT_BYTES = 4 * MOST_OUTPUT

const command = shortText(10_000)
  .refine((text) => text !== "", "Must not be empty.")
  .describe("A command of the shell, as it would be typed")
const cwd = shortText(1_000).optional().describe(`The folder it begins in; default ${WORKSPACE}`)

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

const output = (what: string) => z.string().describe(`${what}, cut at 200,000 characters`)

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
  params: OfBox,
  body: Exec,
  reply: z.object({
    exitCode: z.int().describe("124 where its time was over, 128 and more where a signal ended it"),
    success: z.boolean().describe("Whether the exit code is 0"),
    stdout: output("What it wrote"),
    stderr: output("What it complained of"),
  }),
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params, body }) =>
    inBox(ports, caller, params.id, async (box, found) => {
      const asked = { timeoutMs: body.timeoutMs, mostBytes: MOST_OUTPUT_BYTES, activity: true }
      const options = body.cwd === undefined ? asked : { ...asked, cwd: body.cwd }
      const noted = (result: string) =>
        note(ports, caller, found, { action: "exec", detail: body.command, result })
      const ran = await box.run(["sh", "-c", body.command], options).catch(async (error) => {
        // It began, whatever it did before nobody heard of it any more.
        if (error instanceof BoxGone) await noted("the box ended")
        if (error instanceof ProviderSilent) await noted("no answer")
        throw error
      })
      const { exitCode } = ran
      await noted(ran.isTimedOut ? "timed out" : `exit ${exitCode}`)
      const [stdout, stderr] = [textOf(ran.stdout), textOf(ran.stderr)]
      return { ok: true, body: { exitCode, success: exitCode === 0, stdout, stderr } }
    }),
})

/** Bytes as text of so many characters at most; what is no UTF-8 is replaced. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  return text.length <= MOST_OUTPUT ? text : text.slice(0, MOST_OUTPUT).toWellFormed()
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
  ...{ id, pid, command: text, status, exitCode },
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
  params: OfBox,
  body: z.object({ command, cwd }),
  reply: Process.omit({ exitCode: true }),
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params, body }) =>
    inBox(ports, caller, params.id, async (box, found) => {
      const { exitCode: _none, ...process } = processAnswer(await box.spawn(body.command, body.cwd))
      const done = { detail: body.command, result: `process ${process.id}` }
      await note(ports, caller, found, { action: "start_process", ...done })
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
  params: OfBox,
  reply: z.object({ processes: z.array(Process).describe("The first started first") }),
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params }) =>
    inBox(ports, caller, params.id, async (box) => ({
      ok: true,
      body: { processes: (await box.processes()).map(processAnswer) },
    })),
})

const OfProcess = OfBox.extend({
  process: shortText(100).describe("Id of the background command"),
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
  params: OfProcess,
  reply: z.object({
    stdout: z.string().describe("What it wrote so far; of very much the newest"),
    stderr: z.string().describe("What it complained of so far; of very much the newest"),
  }),
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params }) =>
    inBox(ports, caller, params.id, async (box) => {
      const logs = await box.logs(params.process)
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
  params: OfProcess,
  reply: z.object({ ok: z.literal(true).describe("It has ended") }),
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params }) =>
    inBox(ports, caller, params.id, async (box, found) => {
      if (!(await box.stopProcess(params.process))) return noProcess()
      const done = { detail: params.process, result: "stopped" }
      await note(ports, caller, found, { action: "stop_process", ...done })
      return { ok: true, body: { ok: true } }
    }),
})
