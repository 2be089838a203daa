/**
 * A simulated server for the parts of Telnyx's API v2 that the carrier of texts and the registry use, after its
 * documentation and the types of its client. It listens on this machine only.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import type { TelnyxReply, TelnyxRegistryState } from "./telnyx-registry.ts"
import {
  profileReply,
  okReplyWith,
  errorReply,
  registryReply,
  emptyRegistryState,
} from "./telnyx-registry.ts"
import { openVendorCheck } from "./vendor-limits.ts"

/**
 * What the server does once: answer with an error (`isDone`: after performing the call), be unavailable, perform the
 * call without an answer, or leave an order pending.
 */
export type TelnyxBehavior =
  | { readonly status: number; readonly code: string; readonly isDone?: true }
  | "unavailable"
  | "silent"
  | "pending"

/** Calls that fail until a test resets this: with a status, or with a cut connection. */
export interface TelnyxCallFailure {
  /** Matched against calls such as `GET /phone_numbers`. */
  readonly calls: RegExp
  readonly failure: number | "cut"
}

type Json = Record<string, unknown>

export interface TelnyxServerMessage {
  readonly id: string
  readonly direction: "inbound" | "outbound"
  readonly from: string
  readonly to: string
  /** The other recipients of a group text, in order; empty for a text to one number. */
  readonly otherRecipients: { readonly to: readonly string[]; readonly cc: readonly string[] }
  readonly text: string
  readonly webhookUrl: string | null
  readonly at: number
  status: string
  /** Whether Telnyx no longer returns it. */
  isDeleted: boolean
}

/** A text to one or more of its numbers. */
type ReceivedText = Pick<TelnyxServerMessage, "from" | "to" | "text" | "at"> &
  Partial<Pick<TelnyxServerMessage, "otherRecipients">>

/** The other recipients of a text to one number: none. */
const NO_OTHERS: TelnyxServerMessage["otherRecipients"] = { to: [], cc: [] }

export interface TelnyxServer {
  readonly url: string
  readonly key: string
  /** All requests so far; `call` is such as `POST /messages`. */
  readonly requests: {
    readonly call: string
    readonly body: Json
    readonly query: URLSearchParams
  }[]
  /** Faults of the requests, by the vendor's own API description. */
  readonly vendorFaults: string[]
  readonly messages: TelnyxServerMessage[]
  readonly profiles: Json[]
  readonly replies: Json[]
  readonly registry: TelnyxRegistryState
  /** Numbers that can be ordered. */
  readonly orderableNumbers: Set<string>
  /** The messaging settings of every number; null: unknown (404). */
  texting: Json | null
  /** Behavior of the next call that changes something; null: as documented. */
  nextBehavior: TelnyxBehavior | null
  /** Errors for single calls such as `PUT /10dlc/brand/1/revet`, once each. */
  readonly behaviorByCall: Map<string, Extract<TelnyxBehavior, object>>
  /** Calls that fail without an effect. */
  callFailure: TelnyxCallFailure | null
  /** Adds a text to one of its numbers, without a webhook. */
  readonly receiveText: (text: ReceivedText) => TelnyxServerMessage
  readonly close: () => Promise<void>
}

/** Lists the faults of a request by the vendor's own API description. */
const faultsOf = openVendorCheck("telnyx")

interface State extends TelnyxServer {
  readonly orders: Json[]
  readonly owned: Map<string, string>
  now: () => number
}

/** Starts a server on a free port. */
export async function startTelnyx(now: () => number = Date.now): Promise<TelnyxServer> {
  const server = createServer((request, response) => void serve(state, request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const messages: TelnyxServerMessage[] = []
  const state: State = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`,
    key: "KEY0123456789abcdef",
    requests: [],
    vendorFaults: [],
    messages,
    profiles: [],
    replies: [],
    orders: [],
    owned: new Map<string, string>(),
    texting: { features: { sms: { domestic_two_way: true }, mms: null } },
    nextBehavior: null,
    behaviorByCall: new Map(),
    callFailure: null,
    now,
    registry: emptyRegistryState(),
    orderableNumbers: new Set(Array.from({ length: 30 }, (_, n) => `+1415555${String(1200 + n)}`)),
    receiveText: (received) => {
      const stored = {
        otherRecipients: NO_OTHERS,
        id: randomUUID(),
        direction: "inbound" as const,
        webhookUrl: null,
        ...received,
        status: "received",
        isDeleted: false,
      }
      messages.push(stored)
      return stored
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return state
}

async function serve(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const raw = await text(request)
  const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://telnyx.test")
  const path = pathname.replace(/^\/v2/, "")
  const body = (raw === "" ? {} : JSON.parse(raw)) as Json
  const call = `${request.method} ${path}`
  state.requests.push({ call, body, query })
  const faults = faultsOf({ method: request.method ?? "", path, query, body })
  state.vendorFaults.push(...faults)
  const { callFailure } = state
  if (callFailure !== null && callFailure.calls.test(call)) {
    if (callFailure.failure === "cut") return void response.destroy()
    return send(response, errorReply(callFailure.failure, "10007"))
  }
  const named = state.behaviorByCall.get(call)
  const isChange = named !== undefined || isChangingCall(request.method ?? "", path)
  const next = named ?? state.nextBehavior
  if (isChange && !state.behaviorByCall.delete(call)) state.nextBehavior = null
  if (faults.length > 0) return send(response, errorReply(422, "10015", faults.join("; ")))
  const answer = () =>
    request.headers.authorization === `Bearer ${state.key}`
      ? answerTo(state, call, body, query, isChange ? next : null)
      : errorReply(401, "10009")
  if (isChange && next === "unavailable") return send(response, errorReply(429, "10011"))
  if (isChange && next !== null && typeof next === "object") {
    if (next.isDone === true) answer()
    return send(response, errorReply(next.status, next.code))
  }
  const done = answer()
  if (isChange && next === "silent") return void response.destroy()
  send(response, done)
}

/** Whether a call changes something, so that a test can choose its behavior. */
function isChangingCall(method: string, path: string): boolean {
  if (path.startsWith("/10dlc") || path.startsWith("/messaging_tollfree")) return method !== "GET"
  return method === "POST" && (path === "/messages" || path === "/number_orders")
}

function send(response: ServerResponse, { status, body }: TelnyxReply): void {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(body === null ? undefined : JSON.stringify(body))
}

function answerTo(
  state: State,
  call: string,
  body: Json,
  query: URLSearchParams,
  next: TelnyxBehavior | null,
): TelnyxReply {
  const registered = registryReply(state.registry, call, body, query)
  if (registered !== null) return registered
  const id = call.split("/")[2] ?? ""
  if (call === "POST /messages") return okReplyWith(takeMessage(state, body))
  if (call.startsWith("GET /messages/")) {
    const known = state.messages.find((one) => one.id === id && !one.isDeleted)
    return known === undefined ? errorReply(404, "10005") : okReplyWith(telnyxMessageBody(known))
  }
  if (call === "GET /detail_records") return okReplyWith(recordsOf(state, query))
  if (call === "POST /number_orders") return takeOrder(state, body, next === "pending")
  if (call === "GET /number_orders") {
    const reference = query.get("filter[customer_reference]")
    const ours = state.orders.filter((one) => one["customer_reference"] === reference)
    const reply = okReplyWith(ours.map((one) => ({ ...one })))
    // A pending order is complete at the next query.
    for (const one of ours) settle(state, one)
    return reply
  }
  if (call === "GET /available_phone_numbers") return okReplyWith(orderableNumbersOf(state, query))
  if (call === "GET /phone_numbers") {
    // As at Telnyx, a filter with other characters than digits matches nothing.
    const digits = /^\d{3,}$/.exec(query.get("filter[phone_number]") ?? "")?.[0]
    const owned = [...state.owned].filter(([number]) => digits && number.includes(digits))
    return okReplyWith(owned.map(([phone_number, known]) => ({ id: known, phone_number })))
  }
  if (/^GET \/phone_numbers\/\d+\/messaging$/.test(call)) {
    return state.texting === null ? errorReply(404, "10005") : okReplyWith({ id, ...state.texting })
  }
  if (call.startsWith("DELETE /phone_numbers/")) {
    const owned = [...state.owned].find(([, known]) => known === id)
    if (owned === undefined) return errorReply(404, "10005")
    state.owned.delete(owned[0])
    state.orderableNumbers.add(owned[0])
    return okReplyWith({ id })
  }
  return profileReply(state, call, body, query)
}

function takeMessage(state: State, body: Json): Json {
  const message: TelnyxServerMessage = {
    id: randomUUID(),
    direction: "outbound",
    status: "queued",
    isDeleted: false,
    from: String(body["from"]),
    to: String(body["to"]),
    text: String(body["text"]),
    webhookUrl: String(body["webhook_url"]),
    at: state.now(),
    otherRecipients: NO_OTHERS,
  }
  state.messages.push(message)
  return telnyxMessageBody(message)
}

/** A message as webhooks and answers show it. */
export function telnyxMessageBody(message: TelnyxServerMessage): Json {
  const { id, direction, from, to, otherRecipients, status, webhookUrl } = message
  const parties = (numbers: readonly string[]) =>
    numbers.map((phone_number) => ({ phone_number, status }))
  return {
    id,
    direction,
    record_type: "message",
    type: "SMS",
    text: message.text,
    media: [],
    parts: 1,
    from: { phone_number: from },
    errors: [],
    to: parties([...otherRecipients.to, to]),
    cc: parties(otherRecipients.cc),
    webhook_url: webhookUrl,
  }
}

function recordsOf({ messages }: State, query: URLSearchParams): readonly Json[] {
  const is = (name: string, value: string) => (query.get(`filter[${name}]`) ?? value) === value
  const since = Date.parse(query.get("filter[created_at][gte]") ?? "")
  const size = Number(query.get("page[size]"))
  const first = (Number(query.get("page[number]")) - 1) * size
  return messages
    .filter(({ direction, from, to, at }) => {
      return is("direction", direction) && is("cli", from) && is("cld", to) && at >= since
    })
    .slice(first, first + size)
    .map(({ id, direction, from, to, status, webhookUrl }) => ({
      record_type: "message_detail_record",
      uuid: id,
      direction,
      cli: from,
      cld: to,
      status,
      errors: [],
      delivery_status_webhook_url: webhookUrl,
    }))
}

function takeOrder(state: State, body: Json, isPending: boolean): TelnyxReply {
  const [number] = body["phone_numbers"] as readonly { readonly phone_number: string }[]
  const phone = number?.phone_number ?? ""
  if (!state.orderableNumbers.has(phone)) return errorReply(422, "85001")
  state.orderableNumbers.delete(phone)
  const order: Json = { ...body, id: randomUUID(), status: "pending" }
  state.orders.push(order)
  if (!isPending) settle(state, order)
  return okReplyWith({ ...order })
}

function settle(state: State, order: Json): void {
  if (order["status"] !== "pending") return
  order["status"] = "success"
  const [number] = order["phone_numbers"] as readonly { readonly phone_number: string }[]
  state.owned.set(number?.phone_number ?? "", String(1_293_384_261 + state.owned.size))
}

function orderableNumbersOf({ orderableNumbers }: State, query: URLSearchParams): readonly Json[] {
  const contains = query.get("filter[phone_number][contains]") ?? ""
  const limit = Number(query.get("filter[limit]"))
  return [...orderableNumbers]
    .filter((number) => number.includes(contains))
    .slice(0, limit)
    .map((phone_number) => ({
      phone_number,
      record_type: "available_phone_number",
      best_effort: false,
      features: [{ name: "sms" }, { name: "voice" }],
      region_information: [
        { region_type: "country_code", region_name: "US" },
        { region_type: "state", region_name: "CA" },
        { region_type: "location", region_name: "San Francisco" },
      ],
    }))
}
