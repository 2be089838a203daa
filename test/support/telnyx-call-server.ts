/**
 * A stand-in of Telnyx's call control, on a port of this machine: made from the shapes of its public documents, and
 * told by tests what people do. What it would call back it says to whoever opened it.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"

/** A leg at the stand-in. */
export interface TelnyxLeg {
  /** Its `call_control_id`. */
  readonly ref: string
  /** Its `call_leg_id`. */
  readonly legId: string
  readonly direction: "incoming" | "outgoing"
  readonly from: string
  readonly to: string
  /** The leg that it was called for; null for a caller's. */
  readonly linkedTo: TelnyxLeg | null
  state: "ringing" | "open" | "gone"
  clientState: string | null
  endedAt: number | null
  isCollectingDigits: boolean
  /** How many things are being said. */
  pendingPrompts: number
  bridgedTo: TelnyxLeg | null
  recordingSince: number | null
}

/** A recording at the stand-in. */
interface TelnyxRecording {
  readonly id: string
  readonly legId: string
  readonly seconds: number
}

/** An event as it is to be called back. */
export interface TelnyxCallEvent {
  readonly type: string
  readonly leg: TelnyxLeg
  readonly raw: string
}

/** A leg that rings. */
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

/** An event of a leg. Those of words and of recordings say no number, and a recording's no name of the leg. */
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

/** Ends a leg with all that hangs on it; what is said of that, in order. */
function endTelnyxLeg(
  leg: TelnyxLeg,
  now: number,
  keep: (recording: TelnyxRecording) => void,
): readonly TelnyxCallEvent[] {
  if (leg.state === "gone") return []
  const told: TelnyxCallEvent[] = []
  if (leg.pendingPrompts > 0)
    told.push(telnyxEvent("call.speak.ended", leg, now, { status: "call_hangup" }))
  if (leg.isCollectingDigits) {
    told.push(telnyxEvent("call.gather.ended", leg, now, { digits: "", status: "call_hangup" }))
  }
  Object.assign(leg, { state: "gone", endedAt: now, pendingPrompts: 0, isCollectingDigits: false })
  told.push(telnyxEvent("call.hangup", leg, now, { hangup_cause: "normal_clearing" }))
  if (leg.recordingSince !== null) {
    const seconds = Math.round((now - leg.recordingSince) / 1_000)
    keep({ id: randomUUID(), legId: leg.legId, seconds })
    told.push(
      telnyxEvent("call.recording.saved", leg, now, {
        channels: "single",
        recording_urls: { mp3: "https://example.com/old.mp3" },
        recording_started_at: new Date(leg.recordingSince).toISOString(),
        recording_ended_at: new Date(now).toISOString(),
      }),
    )
  }
  // Whoever is left of a bridge is hung up.
  const other = leg.bridgedTo
  return other === null ? told : [...told, ...endTelnyxLeg(other, now, keep)]
}

/** A command as it was sent. */
interface TelnyxCommand {
  readonly path: string
  // Each test knows what it looks for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** What people do. */
type TelnyxCalleeAction = "answer" | "hang_up" | "hear" | { readonly press: string }

/** A stand-in that listens. */
export interface TelnyxCallServer {
  /** With the version in its path. */
  readonly url: string
  /** Everything that it was asked to do, in order. */
  readonly commands: readonly TelnyxCommand[]
  readonly legs: readonly TelnyxLeg[]
  readonly recordings: readonly TelnyxRecording[]
  /** Has somebody call. */
  readonly callIn: (from: string, to: string, attestation?: string) => TelnyxLeg
  /** Has somebody do something; false where they cannot. */
  readonly performAction: (leg: TelnyxLeg, doing: TelnyxCalleeAction) => boolean
  /** How it answers what it is asked next. */
  readonly failNext: (
    how: "unavailable" | "silent" | { readonly refuses: number; readonly code: string },
  ) => void
  readonly close: () => Promise<void>
}

type NextFailure = Parameters<TelnyxCallServer["failNext"]>[0]

/**
 * Opens one.
 *
 * @param tell hears each event at once
 * @param now its clock, UTC milliseconds
 */
export async function openTelnyxCallServer(
  tell: (event: TelnyxCallEvent) => void,
  now: () => number,
): Promise<TelnyxCallServer> {
  const one = new CallServerState(tell, now)
  const server = createServer((request, response) => void one.answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  one.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${one.origin}/v2`,
    commands: one.commands,
    legs: one.legs,
    recordings: one.recordings,
    callIn: (from, to, attestation) => one.callIn(from, to, attestation),
    performAction: (leg, doing) => one.performAction(leg, doing),
    failNext: (how) => {
      one.next = how
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
  readonly #tell: (event: TelnyxCallEvent) => void
  readonly #now: () => number
  readonly #byRef = new Map<string, TelnyxLeg>()
  /** What was answered to commands by their ids. */
  readonly #done = new Map<string, Answer>()

  constructor(tell: (event: TelnyxCallEvent) => void, now: () => number) {
    this.#tell = tell
    this.#now = now
  }

  callIn(from: string, to: string, attestation = "A"): TelnyxLeg {
    const leg = newTelnyxLeg("incoming", from, to)
    this.#keep(leg)
    this.#say("call.initiated", leg, { state: "parked", shaken_stir_attestation: attestation })
    return leg
  }

  performAction(leg: TelnyxLeg, doing: TelnyxCalleeAction): boolean {
    if (leg.state === "gone") return false
    if (doing === "hang_up") {
      this.#end(leg)
      return true
    }
    if (doing === "answer") {
      if (leg.state !== "ringing") return false
      this.#open(leg)
      return true
    }
    if (doing === "hear") {
      if (leg.pendingPrompts === 0) return false
      leg.pendingPrompts -= 1
      this.#say("call.speak.ended", leg, { status: "completed" })
      return true
    }
    const { press } = doing
    this.#say("call.dtmf.received", leg, { digit: press.slice(0, 1) })
    if (!leg.isCollectingDigits) return true
    leg.isCollectingDigits = false
    const status = press.startsWith("1") ? "valid" : "invalid"
    this.#say("call.gather.ended", leg, { digits: press.slice(0, 1), status })
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
        : this.#answered(request.method ?? "", url, sent === "" ? {} : JSON.parse(sent))
    if (next === "silent") return void response.destroy()
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  // The program's JSON as Telnyx gets it: a wrong shape fails the test that sent it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #answered(method: string, url: URL, body: any): Answer {
    const [, , kind, name, , action] = url.pathname.split("/").map(decodeURIComponent)
    if (kind === "recordings") return this.#recorded(method, url, name)
    if (method === "GET") return this.#status(this.#legOf(name))
    this.commands.push({ path: decodeURIComponent(url.pathname), body })
    const id = `${name ?? ""} ${body.command_id}`
    const done = this.#done.get(id)
    if (done !== undefined) return done
    const leg = this.#legOf(name)
    const answer = name === undefined ? this.#dial(body) : this.#act(leg, action ?? "", body)
    if (answer[0] === 200) this.#done.set(id, answer)
    return answer
  }

  // As above.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #dial(body: any): Answer {
    const caller = this.#legOf(body.link_to)
    if (caller === undefined || caller.state === "gone") return ENDED
    const leg = newTelnyxLeg("outgoing", body.from, body.to, caller)
    leg.clientState = body.client_state ?? null
    this.#keep(leg)
    this.#say("call.initiated", leg, { state: "bridging" })
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
    for (const one of [leg, other]) this.#say("call.bridged", one)
    return OK
  }

  #status(leg: TelnyxLeg | undefined): Answer {
    if (leg === undefined) return refusal(404, "10005")
    const { ref, legId, state, endedAt } = leg
    const end = endedAt === null ? {} : { end_time: new Date(endedAt).toISOString() }
    const data = { call_control_id: ref, call_leg_id: legId, is_alive: state !== "gone", ...end }
    return [200, { data: { ...data, record_type: "call" } }]
  }

  #recorded(method: string, { searchParams }: URL, id: string | undefined): Answer {
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
    this.#say("call.answered", leg, { state: "answered" })
  }

  #end(leg: TelnyxLeg): void {
    const keep = (recording: TelnyxRecording) => void this.recordings.push(recording)
    for (const event of endTelnyxLeg(leg, this.#now(), keep)) this.#tell(event)
  }

  #say(type: string, leg: TelnyxLeg, others: object = {}): void {
    this.#tell(telnyxEvent(type, leg, this.#now(), others))
  }

  #keep(leg: TelnyxLeg): void {
    this.legs.push(leg)
    this.#byRef.set(leg.ref, leg)
  }

  #legOf(ref: string | undefined): TelnyxLeg | undefined {
    return ref === undefined ? undefined : this.#byRef.get(ref)
  }
}
