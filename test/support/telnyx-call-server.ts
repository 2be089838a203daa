/**
 * A simulated server for Telnyx's call control, on a port of this machine, after the shapes in its public
 * documentation. Tests choose what people do, and get its webhook events by a callback.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"

export interface TelnyxLeg {
  /** Its `call_control_id`. */
  readonly ref: string
  /** Its `call_leg_id`. */
  readonly legId: string
  readonly direction: "incoming" | "outgoing"
  readonly from: string
  readonly to: string
  /** The leg for which it was dialed; null for the caller's leg. */
  readonly linkedTo: TelnyxLeg | null
  state: "ringing" | "open" | "gone"
  clientState: string | null
  endedAt: number | null
  isCollectingDigits: boolean
  /** Number of prompts being spoken. */
  pendingPrompts: number
  bridgedTo: TelnyxLeg | null
  recordingSince: number | null
}

/** A recording that the server stores. */
interface TelnyxRecording {
  readonly id: string
  readonly legId: string
  readonly seconds: number
}

export interface TelnyxCallEvent {
  readonly type: string
  readonly leg: TelnyxLeg
  readonly raw: string
}

function newTelnyxLeg(
  direction: TelnyxLeg["direction"],
  from: string,
  to: string,
  linkedTo: TelnyxLeg | null = null,
): TelnyxLeg {
  return {
    ref: `v3:${randomUUID()}`,
    legId: randomUUID(),
    direction,
    from,
    to,
    state: "ringing",
    clientState: null,
    endedAt: null,
    isCollectingDigits: false,
    pendingPrompts: 0,
    bridgedTo: null,
    recordingSince: null,
    linkedTo,
  }
}

/** Makes an event of a leg. Speak and recording events omit the numbers, recording events also `call_control_id`. */
function telnyxEvent(
  type: string,
  leg: TelnyxLeg,
  at: number,
  others: object = {},
): TelnyxCallEvent {
  const { ref, legId, clientState, direction, from, to } = leg
  const numbers =
    type === "call.speak.ended" || type.startsWith("call.recording") ? {} : { from, to }
  const name = type.startsWith("call.recording") ? {} : { call_control_id: ref }
  const payload = {
    ...name,
    call_leg_id: legId,
    call_session_id: legId,
    connection_id: "1684641123236054244",
    ...(type === "call.initiated" ? { direction } : {}),
    ...(clientState === null ? {} : { client_state: clientState }),
    ...numbers,
    ...others,
  }
  const data = { record_type: "event", event_type: type, id: randomUUID() }
  const occurred = { occurred_at: new Date(at).toISOString(), payload }
  return {
    type,
    leg,
    raw: JSON.stringify({ data: { ...data, ...occurred }, meta: { attempt: 1 } }),
  }
}

/** Ends a leg and everything attached to it; returns the events in order. */
function endTelnyxLeg(
  leg: TelnyxLeg,
  now: number,
  store: (recording: TelnyxRecording) => void,
): readonly TelnyxCallEvent[] {
  if (leg.state === "gone") return []
  const events: TelnyxCallEvent[] = []
  if (leg.pendingPrompts > 0)
    events.push(telnyxEvent("call.speak.ended", leg, now, { status: "call_hangup" }))
  if (leg.isCollectingDigits) {
    events.push(telnyxEvent("call.gather.ended", leg, now, { digits: "", status: "call_hangup" }))
  }
  Object.assign(leg, { state: "gone", endedAt: now, pendingPrompts: 0, isCollectingDigits: false })
  events.push(telnyxEvent("call.hangup", leg, now, { hangup_cause: "normal_clearing" }))
  if (leg.recordingSince !== null) {
    const seconds = Math.round((now - leg.recordingSince) / 1_000)
    store({ id: randomUUID(), legId: leg.legId, seconds })
    events.push(
      telnyxEvent("call.recording.saved", leg, now, {
        channels: "single",
        recording_urls: { mp3: "https://example.com/old.mp3" },
        recording_started_at: new Date(leg.recordingSince).toISOString(),
        recording_ended_at: new Date(now).toISOString(),
      }),
    )
  }
  // The other leg of a bridge is hung up too.
  const other = leg.bridgedTo
  return other === null ? events : [...events, ...endTelnyxLeg(other, now, store)]
}

/** A command that the server received. */
interface TelnyxCommand {
  readonly path: string
  // Each test knows the shape of the command.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** What a person at a leg does. */
type TelnyxCalleeAction = "answer" | "hang_up" | "hear" | { readonly press: string }

export interface TelnyxCallServer {
  /** The base address with the version. */
  readonly url: string
  /** All commands so far, in order. */
  readonly commands: readonly TelnyxCommand[]
  readonly legs: readonly TelnyxLeg[]
  readonly recordings: readonly TelnyxRecording[]
  /** Starts a call from a person. */
  readonly callIn: (from: string, to: string, attestation?: string) => TelnyxLeg
  /** Performs a person's action; returns false if it is not possible. */
  readonly performAction: (leg: TelnyxLeg, action: TelnyxCalleeAction) => boolean
  /** Makes the next request fail. */
  readonly failNext: (
    how: "unavailable" | "silent" | { readonly refuses: number; readonly code: string },
  ) => void
  readonly close: () => Promise<void>
}

type NextFailure = Parameters<TelnyxCallServer["failNext"]>[0]

/**
 * Opens a server.
 *
 * @param notify is called with each event
 * @param now its clock, UTC milliseconds
 */
export async function openTelnyxCallServer(
  notify: (event: TelnyxCallEvent) => void,
  now: () => number,
): Promise<TelnyxCallServer> {
  const state = new CallServerState(notify, now)
  const server = createServer((request, response) => void state.answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${state.origin}/v2`,
    commands: state.commands,
    legs: state.legs,
    recordings: state.recordings,
    callIn: (from, to, attestation) => state.callIn(from, to, attestation),
    performAction: (leg, action) => state.performAction(leg, action),
    failNext: (how) => {
      state.next = how
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Answer = readonly [status: number, body: unknown]

const refusal = (status: number, code: string): Answer => [
  status,
  { errors: [{ code, title: "No" }] },
]
const ENDED = refusal(422, "90018")
const OK: Answer = [200, { data: { result: "ok" } }]

class CallServerState {
  readonly commands: TelnyxCommand[] = []
  readonly legs: TelnyxLeg[] = []
  readonly recordings: TelnyxRecording[] = []
  origin = ""
  next: NextFailure | null = null
  readonly #notify: (event: TelnyxCallEvent) => void
  readonly #now: () => number
  readonly #byRef = new Map<string, TelnyxLeg>()
  /** Answers to earlier commands, by leg and command id. */
  readonly #answers = new Map<string, Answer>()

  constructor(notify: (event: TelnyxCallEvent) => void, now: () => number) {
    this.#notify = notify
    this.#now = now
  }

  callIn(from: string, to: string, attestation = "A"): TelnyxLeg {
    const leg = newTelnyxLeg("incoming", from, to)
    this.#addLeg(leg)
    this.#emit("call.initiated", leg, { state: "parked", shaken_stir_attestation: attestation })
    return leg
  }

  performAction(leg: TelnyxLeg, action: TelnyxCalleeAction): boolean {
    if (leg.state === "gone") return false
    if (action === "hang_up") {
      this.#end(leg)
      return true
    }
    if (action === "answer") {
      if (leg.state !== "ringing") return false
      this.#open(leg)
      return true
    }
    if (action === "hear") {
      if (leg.pendingPrompts === 0) return false
      leg.pendingPrompts -= 1
      this.#emit("call.speak.ended", leg, { status: "completed" })
      return true
    }
    const { press } = action
    this.#emit("call.dtmf.received", leg, { digit: press.slice(0, 1) })
    if (!leg.isCollectingDigits) return true
    leg.isCollectingDigits = false
    const status = press.startsWith("1") ? "valid" : "invalid"
    this.#emit("call.gather.ended", leg, { digits: press.slice(0, 1), status })
    return true
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request)
    const { next } = this
    this.next = null
    if (next === "unavailable") return void response.writeHead(429).end()
    const url = new URL(request.url ?? "", this.origin)
    if (url.pathname.startsWith("/files/")) return this.#file(url.pathname.slice(7), response)
    const [status, body] =
      typeof next === "object" && next !== null
        ? refusal(next.refuses, next.code)
        : this.#answerTo(request.method ?? "", url, sent === "" ? {} : JSON.parse(sent))
    if (next === "silent") return void response.destroy()
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  // JSON that the program sent; a wrong shape fails the test.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #answerTo(method: string, url: URL, body: any): Answer {
    const [, , kind, name, , action] = url.pathname.split("/").map(decodeURIComponent)
    if (kind === "recordings") return this.#recordingsAnswer(method, url, name)
    if (method === "GET") return this.#status(this.#legOf(name))
    this.commands.push({ path: decodeURIComponent(url.pathname), body })
    const id = `${name ?? ""} ${body.command_id}`
    const earlier = this.#answers.get(id)
    if (earlier !== undefined) return earlier
    const leg = this.#legOf(name)
    const answer = name === undefined ? this.#dial(body) : this.#act(leg, action ?? "", body)
    if (answer[0] === 200) this.#answers.set(id, answer)
    return answer
  }

  // As above.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #dial(body: any): Answer {
    const caller = this.#legOf(body.link_to)
    if (caller === undefined || caller.state === "gone") return ENDED
    const leg = newTelnyxLeg("outgoing", body.from, body.to, caller)
    leg.clientState = body.client_state ?? null
    this.#addLeg(leg)
    this.#emit("call.initiated", leg, { state: "bridging" })
    const { ref, legId } = leg
    return [200, { data: { call_control_id: ref, call_leg_id: legId, is_alive: false } }]
  }

  // As above.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #act(leg: TelnyxLeg | undefined, action: string, body: any): Answer {
    if (leg === undefined) return refusal(404, "10005")
    if (leg.state === "gone") return ENDED
    if (body.client_state !== undefined) leg.clientState = body.client_state
    switch (action) {
      case "answer":
        this.#open(leg)
        return OK
      case "reject":
      case "hangup":
        this.#end(leg)
        return OK
      case "speak":
        leg.pendingPrompts += 1
        return OK
      case "gather_using_speak":
        leg.isCollectingDigits = true
        return OK
      case "bridge":
        return this.#bridge(leg, this.#legOf(body.call_control_id))
      case "record_start":
        leg.recordingSince = this.#now()
        return OK
      default:
        return refusal(404, "10005")
    }
  }

  #bridge(leg: TelnyxLeg, other: TelnyxLeg | undefined): Answer {
    if (other === undefined || other.state === "gone") return ENDED
    Object.assign(leg, { bridgedTo: other })
    Object.assign(other, { bridgedTo: leg })
    for (const one of [leg, other]) this.#emit("call.bridged", one)
    return OK
  }

  #status(leg: TelnyxLeg | undefined): Answer {
    if (leg === undefined) return refusal(404, "10005")
    const { ref, legId, state, endedAt } = leg
    const end = endedAt === null ? {} : { end_time: new Date(endedAt).toISOString() }
    const data = { call_control_id: ref, call_leg_id: legId, is_alive: state !== "gone", ...end }
    return [200, { data: { ...data, record_type: "call" } }]
  }

  #recordingsAnswer(method: string, { searchParams }: URL, id: string | undefined): Answer {
    if (method === "DELETE") {
      const at = this.recordings.findIndex((one) => one.id === id)
      if (at < 0) return refusal(404, "10005")
      this.recordings.splice(at, 1)
      return [200, { data: { id } }]
    }
    const legId = searchParams.get("filter[call_leg_id]")
    const data = this.recordings
      .filter((one) => one.legId === legId)
      .map((one) => ({ id: one.id, download_urls: { mp3: `${this.origin}/files/${one.id}` } }))
    return [200, { data }]
  }

  #file(id: string, response: ServerResponse): void {
    const found = this.recordings.find((one) => one.id === id)
    if (found === undefined) return void response.writeHead(403).end()
    const bytes = Buffer.concat([...generateToneMp3(found.seconds)])
    response.writeHead(200, { "content-length": bytes.length }).end(bytes)
  }

  #open(leg: TelnyxLeg): void {
    leg.state = "open"
    this.#emit("call.answered", leg, { state: "answered" })
  }

  #end(leg: TelnyxLeg): void {
    const store = (recording: TelnyxRecording) => void this.recordings.push(recording)
    for (const event of endTelnyxLeg(leg, this.#now(), store)) this.#notify(event)
  }

  #emit(type: string, leg: TelnyxLeg, others: object = {}): void {
    this.#notify(telnyxEvent(type, leg, this.#now(), others))
  }

  #addLeg(leg: TelnyxLeg): void {
    this.legs.push(leg)
    this.#byRef.set(leg.ref, leg)
  }

  #legOf(ref: string | undefined): TelnyxLeg | undefined {
    return ref === undefined ? undefined : this.#byRef.get(ref)
  }
}
