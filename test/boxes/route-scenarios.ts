/** Scenarios for the answers of the box routes. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { BOXES_PATH, importStarterCode } from "./box-world.ts"

type Method = "GET" | "POST" | "PUT" | "DELETE"
type Ask = (method: Method, path: string, body?: object) => Promise<ApiAnswer>

/** Starts a box on a repository of one commit; `ask` calls its routes. */
async function startReadBox(world: World, company: Company) {
  const { key } = company
  await importStarterCode(world, company)
  const body = { size: "small", branch: "main", maxMinutes: 30, label: "Fix the tests" }
  const started = await world.call(key, "POST", BOXES_PATH, { body })
  await world.operate("wait")
  const ask: Ask = (method, path, sent) =>
    world.call(key, method, `${BOXES_PATH}/${started.body.id}${path}`, sent ? { body: sent } : {})
  return { started, ask }
}

/** Runs calls on a new box and returns the last answer; the box is deleted afterwards. */
const answerAfterStart =
  (last: (ask: Ask) => Promise<ApiAnswer>) => async (world: World, company: Company) => {
    const { ask } = await startReadBox(world, company)
    const answer = await last(ask)
    await ask("DELETE", "")
    return answer
  }

const README = { path: "README.md", content: "# Hello\n" }
const SERVER = { command: "serve 3000" }

/** Scenarios by operation and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "startBox 201": async (world, company) => {
    const { started, ask } = await startReadBox(world, company)
    await ask("DELETE", "")
    return started
  },
  "listBoxes 200": async (world, company) => {
    const { ask } = await startReadBox(world, company)
    await ask("POST", "/previews", { port: 3_000 })
    const listed = await world.call(company.key, "GET", BOXES_PATH)
    await ask("DELETE", "")
    return listed
  },
  "getBox 200": answerAfterStart(async (ask) => {
    await ask("POST", "/previews", { port: 3_000 })
    return ask("GET", "")
  }),
  "stopBox 200": answerAfterStart((ask) => ask("POST", "/stop")),
  "deleteBox 200": async (world, company) => (await startReadBox(world, company)).ask("DELETE", ""),
  "listBoxEvents 200": answerAfterStart(async (ask) => {
    await ask("POST", "/exec", { command: "echo hello" })
    return ask("GET", "/events")
  }),
  "runCommand 200": answerAfterStart((ask) => ask("POST", "/exec", { command: "echo hello" })),
  "startProcess 200": answerAfterStart((ask) => ask("POST", "/processes", SERVER)),
  "listProcesses 200": answerAfterStart(async (ask) => {
    await ask("POST", "/processes", SERVER)
    return ask("GET", "/processes")
  }),
  "getProcessLogs 200": answerAfterStart(async (ask) => {
    const { body } = await ask("POST", "/processes", SERVER)
    return ask("GET", `/processes/${body.id}/logs`)
  }),
  "stopProcess 200": answerAfterStart(async (ask) => {
    const { body } = await ask("POST", "/processes", SERVER)
    return ask("DELETE", `/processes/${body.id}`)
  }),
  "listFiles 200": answerAfterStart(async (ask) => {
    await ask("PUT", "/files/content", README)
    return ask("GET", "/files")
  }),
  "readFile 200": answerAfterStart(async (ask) => {
    await ask("PUT", "/files/content", README)
    return ask("GET", "/files/content?path=README.md")
  }),
  "writeFile 200": answerAfterStart((ask) => ask("PUT", "/files/content", README)),
  "deleteFile 200": answerAfterStart(async (ask) => {
    await ask("PUT", "/files/content", README)
    return ask("DELETE", "/files/content?path=README.md")
  }),
  "openPreview 200": answerAfterStart((ask) => ask("POST", "/previews", { port: 3_000 })),
  "closePreview 200": answerAfterStart(async (ask) => {
    await ask("POST", "/previews", { port: 3_000 })
    return ask("DELETE", "/previews/3000")
  }),
  "pushBox 200": answerAfterStart(async (ask) => {
    await ask("PUT", "/files/content", README)
    return ask("POST", "/push", { message: "Say hello" })
  }),
}

/** Changes, and where each of them is visible. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/sandboxes": {
    writeValue: async (world, company) => {
      const { key } = company
      await importStarterCode(world, company)
      // One box at a time: the clock does not advance, so the order of two boxes would be undefined.
      const { boxes } = (await world.call(key, "GET", BOXES_PATH)).body
      for (const { id } of boxes) await world.call(key, "DELETE", `${BOXES_PATH}/${id}`)
      await world.operate("wait")
      const started = await world.call(key, "POST", BOXES_PATH, { body: { size: "small" } })
      return started.body.id
    },
    readValue: (body) => body.boxes[0]?.id,
  },
}
