/**
 * Webhooks of providers: calls whose caller is known by a signature over the body. Each event is handled once, by
 * the provider's event id; a provider without an answer sends it again.
 */
import { createHash } from "node:crypto"
import { z } from "zod"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Cause } from "../../kernel/envelope.ts"
import { causedBy } from "../../kernel/envelope.ts"
import type { Ports } from "../../ports.ts"
import type { RawRequest, Reply, Route } from "./route.ts"
import { RAW_BODY, publicRoute } from "./route.ts"
import type { SliceErrorCode } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import { ANY_QUERY } from "../checks/7-values.ts"

/** Maximum age of a signature, either way, against replays. */
const REPLAY_WINDOW_MS = 5 * 60_000

export interface WebhookEvent<E> {
  /** The provider's event id. */
  readonly id: string
  /** The company it concerns; null if it is none of this installation. */
  readonly companyId: CompanyId | null
  readonly event: E
}

/** The content that a valid signature covers. */
export interface VerifiedWebhook<E> {
  /** When it was signed, UTC milliseconds by the provider's clock. */
  readonly signedAt: number
  readonly events: readonly WebhookEvent<E>[]
}

export interface WebhookSpec<E> {
  readonly provider: string
  /** Its path, outside `/api/v1` and the API document. */
  readonly url: string
  /** Verifies the signature before anything else is parsed; null if it is not the provider's. */
  readonly verify: (
    ports: Ports,
    raw: Uint8Array,
    sent: RawRequest,
  ) => Promise<VerifiedWebhook<E> | null>
  /** Handles an event by commands, which are rejected if late. May run again after a crash. */
  readonly handleEvent: (
    ports: Ports,
    companyId: CompanyId,
    event: E,
    cause: Cause,
  ) => Promise<void>
  /** Handles an event without a company; default nothing. May run again. */
  readonly handleUnownedEvent?: (ports: Ports, event: E) => Promise<void>
}

const NOT_SIGNED: SliceErrorCode = {
  error: "not_signed",
  status: 401,
  example: { message: "The signature is invalid or too old." },
}

const WebhookReply = z.object({ taken: z.int(), known: z.int() })

/** Creates the public route of a webhook. */
export function webhook<E>(spec: WebhookSpec<E>): Route {
  return publicRoute({
    name: `${spec.provider}Webhook`,
    method: "POST",
    url: spec.url,
    group: "webhooks",
    summary: `Events from ${spec.provider}`,
    query: ANY_QUERY,
    body: RAW_BODY,
    reply: WebhookReply,
    refusalCodes: [NOT_SIGNED, "unavailable"],
    handle: async (ports, { body, rawRequest }): Promise<Reply<z.infer<typeof WebhookReply>>> => {
      const signed = await spec.verify(ports, body, rawRequest)
      const isFresh =
        signed !== null && Math.abs(ports.clock.now() - signed.signedAt) <= REPLAY_WINDOW_MS
      if (!isFresh) {
        return { ok: false, refusal: refusal(NOT_SIGNED, NOT_SIGNED.example.message) }
      }
      let taken = 0
      for (const event of signed.events) {
        const outcome = await handleOnce(spec, ports, event, rawRequest.requestId)
        if (outcome === "in progress") {
          const message = "Another request is processing this webhook. Send it again later."
          return { ok: false, refusal: refusal("unavailable", message) }
        }
        ports.counters.increment("webhook_events", { provider: spec.provider, result: outcome })
        if (outcome === "taken") taken += 1
      }
      return { ok: true, body: { taken, known: signed.events.length - taken } }
    },
  })
}

/** Handles an event unless it was handled before; a claim on its id survives crashes. */
async function handleOnce<E>(
  { provider, handleEvent, handleUnownedEvent }: WebhookSpec<E>,
  ports: Ports,
  { id, companyId, event }: WebhookEvent<E>,
  requestId: string,
): Promise<"taken" | "known" | "unowned" | "in progress"> {
  if (companyId === null) {
    await handleUnownedEvent?.(ports, event)
    return "unowned"
  }
  const idempotencyKey = createHash("sha256").update(id).digest("hex")
  const request = {
    companyId,
    keyId: `webhook ${provider}`,
    idempotencyKey,
    requestId,
    // The id identifies the event: repeated deliveries with other content are the same event.
    fingerprint: idempotencyKey,
    at: ports.clock.now(),
  }
  const claim = await ports.idempotency.claim(request)
  if (claim.state === "done") return "known"
  if (claim.state !== "claimed") return "in progress"
  try {
    await handleEvent(ports, companyId, event, causedBy(`webhook ${provider} ${idempotencyKey}`))
  } catch (error) {
    await ports.idempotency.abandon(request)
    throw error
  }
  await ports.idempotency.finish(request, "")
  return "taken"
}
