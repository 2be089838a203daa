/** Whether an app is well: it answers, and not with a fault of its own. */
import { request } from "node:http"
import type { Duplex } from "node:stream"
import type { Pacer } from "../../machine/clock/port.ts"

/** It is asked again after so long, at first; what does not listen says so at once. */
const FIRST_PAUSE_MS = 20
const PAUSE_MS = 250
/** One question is waited for so long. */
const ANSWER_MS = 10_000

/** An app to look at. */
export interface Patient {
  readonly dial: () => Promise<Duplex | null>
  /** Whether it will not come up any more. */
  readonly hasEnded: () => Promise<boolean>
  readonly path: string
  readonly host: string
  readonly withinMs: number
}

/** Resolves once it is well: null; or says why it is not, in words behind "The app". */
export async function comesUp(pacer: Pacer, patient: Patient): Promise<string | null> {
  const { path, withinMs } = patient
  const until = pacer.elapsedMs() + withinMs
  let said = "did not listen on PORT"
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS, pauseMs * 1.25)) {
    const left = until - pacer.elapsedMs()
    const answer = left > 0 ? await answerOf(pacer, patient, Math.min(left, ANSWER_MS)) : null
    if (typeof answer === "number" && answer < 500) return null
    if (answer !== null) said = `answered GET ${path} with ${answer}`
    if (await patient.hasEnded()) return `ended before it answered; it ${said}`
    if (pacer.elapsedMs() >= until) return `${said} within ${Math.round(withinMs / 1000)} seconds`
    await pacer.pause(pauseMs)
  }
}

/** The status that it answers with; null where it does not listen, and words where it says nothing sensible. */
async function answerOf(
  pacer: Pacer,
  { dial, host, path }: Patient,
  withinMs: number,
): Promise<number | "nothing" | null> {
  const socket = await dial()
  if (socket === null) return null
  const over = new AbortController()
  const late = pacer.pause(withinMs, over.signal).then(() => "nothing" as const)
  try {
    return await Promise.race([statusOf(socket, { host, path }), late])
  } finally {
    over.abort()
    socket.destroy()
  }
}

function statusOf(
  socket: Duplex,
  { host, path }: Pick<Patient, "host" | "path">,
): Promise<number | "nothing"> {
  return new Promise((resolve) => {
    const call = request({
      path,
      headers: { host, connection: "close" },
      // Whatever can be written to and read from will do.
      createConnection: () => socket,
    })
    call.once("response", ({ statusCode = 0 }) => resolve(statusCode))
    call.on("error", () => resolve("nothing"))
    call.once("close", () => resolve("nothing"))
    call.end()
  })
}
