/**
 * A stand-in of Telnyx's call control, on a port of this machine: made from the shapes of its public documents, and
 * told by tests what people do. What it would call back it says to whoever opened it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { toneMp3 } from "../../adapters/providers/voice/tone.ts"
import type { TelnyxEvent, TelnyxLeg, TelnyxRecording } from "./telnyx-legs.ts"
import { endTelnyxLeg, newTelnyxLeg, telnyxEvent } from "./telnyx-legs.ts"

/** A command as it was sent. */
export interface TelnyxAsked {
  readonly path: string
  // Each test knows what it looks for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** What people do. */
export type TelnyxDoing = "answer" | "hang_up" | "hear" | { readonly press: string }

/** A stand-in that listens. */
export interface TelnyxCalls {
  /** With the version in its path. */
  readonly url: string
  /** Everything that it was asked to do, in order. */
  readonly asked: readonly TelnyxAsked[]
  readonly legs: readonly TelnyxLeg[]
  readonly recordings: readonly TelnyxRecording[]
  /** Has somebody call. */
  readonly callIn: (from: string, to: string, attestation?: string) => TelnyxLeg
  /** Has somebody do something; false where they cannot. */
  readonly does: (leg: TelnyxLeg, doing: TelnyxDoing) => boolean
  /** How it answers what it is asked next. */
  readonly next: (
    how: "unavailable" | "silent" | { readonly refuses: number; readonly code: string },
  ) => void
  readonly close: () => Promise<void>
}

type How = Parameters<TelnyxCalls["next"]>[0]

/**
 * Opens one.
 *
 * @param tell hears each event at once
 * @param now its clock, UTC milliseconds
 */
export async function openTelnyxCalls(
  tell: (event: TelnyxEvent) => void,
  now: () => number,
): Promise<TelnyxCalls> {
  const one = new StandIn(tell, now)
  const server = createServer((request, response) => void one.answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  one.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${one.origin}/v2`,
    asked: one.asked,
    legs: one.legs,
    recordings: one.recordings,
    callIn: (from, to, attestation) => one.callIn(from, to, attestation),
    does: (leg, doing) => one.does(leg, doing),
    next: (how) => {
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

class StandIn {
  readonly asked: TelnyxAsked[] = []
  readonly legs: TelnyxLeg[] = []
  readonly recordings: TelnyxRecording[] = []
  origin = ""
  next: How | null = null
  readonly #tell: (event: TelnyxEvent) => void
  readonly #now: () => number
  readonly #byRef = new Map<string, TelnyxLeg>()
  /** What was answered to commands by their ids. */
  readonly #done = new Map<string, Answer>()

  constructor(tell: (event: TelnyxEvent) => void, now: () => number) {
    this.#tell = tell
    this.#now = now
  }

  callIn(from: string, to: string, attestation = "A"): TelnyxLeg {
    const leg = newTelnyxLeg("incoming", from, to)
    this.#keep(leg)
    this.#say("call.initiated", leg, { state: "parked", shaken_stir_attestation: attestation })
    return leg
  }

  does(leg: TelnyxLeg, doing: TelnyxDoing): boolean {
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
      if (leg.saying === 0) return false
      leg.saying -= 1
      this.#say("call.speak.ended", leg, { status: "completed" })
      return true
    }
    const { press } = doing
    this.#say("call.dtmf.received", leg, { digit: press.slice(0, 1) })
    if (!leg.isGathering) return true
    leg.isGathering = false
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

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  #answered(method: string, url: URL, body: any): Answer {
    const [, , kind, name, , action] = url.pathname.split("/").map(decodeURIComponent)
    if (kind === "recordings") return this.#recorded(method, url, name)
    if (method === "GET") return this.#status(this.#legOf(name))
    this.asked.push({ path: decodeURIComponent(url.pathname), body })
    const id = `${name ?? ""} ${body.command_id}`
    const done = this.#done.get(id)
    if (done !== undefined) return done
    const leg = this.#legOf(name)
    const answer = name === undefined ? this.#dial(body) : this.#act(leg, action ?? "", body)
    if (answer[0] === 200) this.#done.set(id, answer)
    return answer
  }

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
        leg.saying += 1
        return OK
      case "gather_using_speak":
        leg.isGathering = true
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
    const bytes = Buffer.concat([...toneMp3(found.seconds)])
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
