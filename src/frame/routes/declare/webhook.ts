/**
 * What a provider calls back: a call like any other, whose caller is known by a signature over the bytes
 * it sent. Each event is carried out once, by the provider's own id of it; a provider that got no answer
 * sends it again.
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

/** An older signature, or one of a later time than ours, is not taken: somebody may be playing it back. */
const REPLAY_WINDOW_MS = 5 * 60_000

/** An event as a provider tells it. */
export interface WebhookEvent<E> {
  /** The provider's id of it. */
  readonly id: string
  /** Whose it is; null where it is of nobody here, or by now of nobody any more. */
  readonly companyId: CompanyId | null
  readonly event: E
}

/** What a signature vouches for. */
export interface VerifiedWebhook<E> {
  /** When it was signed, UTC milliseconds by the provider's clock. */
  readonly signedAt: number
  readonly events: readonly WebhookEvent<E>[]
}

/** A webhook of a provider. */
export interface WebhookSpec<E> {
  readonly provider: string
  /** Where it calls; outside of `/api/v1`, and in no document of the API. */
  readonly url: string
  /** What was signed; null where the signature is not the provider's. It looks at nothing before that. */
  readonly verify: (
    ports: Ports,
    raw: Uint8Array,
    sent: RawRequest,
  ) => Promise<VerifiedWebhook<E> | null>
  /** What an event comes to: commands, which say no where they are late. May be begun again after a crash. */
  readonly handleEvent: (
    ports: Ports,
    companyId: CompanyId,
    event: E,
    cause: Cause,
  ) => Promise<void>
  /** What is done of an event of nobody here; default nothing. It may be done again. */
  readonly handleUnownedEvent?: (ports: Ports, event: E) => Promise<void>
}

const NOT_SIGNED: SliceErrorCode = {
  error: "not_signed",
  status: 401,
  example: { message: "The signature is not the provider's, or it is too old." },
}

const Taken = z.object({ taken: z.int(), known: z.int() })

/** A webhook as a route that needs no key. */
export function webhook<E>(spec: WebhookSpec<E>): Route {
  return publicRoute({
    name: `${spec.provider}Webhook`,
    method: "POST",
    url: spec.url,
    group: "webhooks",
    summary: `What ${spec.provider} tells`,
    query: ANY_QUERY,
    body: RAW_BODY,
    reply: Taken,
    refusalCodes: [NOT_SIGNED, "unavailable"],
    handle: async (ports, { body, rawRequest }): Promise<Reply<z.infer<typeof Taken>>> => {
      const signed = await spec.verify(ports, body, rawRequest)
      const isFresh =
        signed !== null && Math.abs(ports.clock.now() - signed.signedAt) <= REPLAY_WINDOW_MS
      if (!isFresh) {
        return { ok: false, refusal: refusal(NOT_SIGNED, NOT_SIGNED.example.message) }
      }
      let taken = 0
      for (const told of signed.events) {
        const outcome = await handleOnce(spec, ports, told, rawRequest.requestId)
        if (outcome === "under way") {
          const message = "This event is being carried out just now. Send it again later."
          return { ok: false, refusal: refusal("unavailable", message) }
        }
        ports.counters.increment("webhook_events", { provider: spec.provider, result: outcome })
        if (outcome === "taken") taken += 1
      }
      return { ok: true, body: { taken, known: signed.events.length - taken } }
    },
  })
}

/** Carries an event out, unless it was: by a claim on its id, which a process that dies holds no longer. */
async function handleOnce<E>(
  { provider, handleEvent, handleUnownedEvent }: WebhookSpec<E>,
  ports: Ports,
  { id, companyId, event }: WebhookEvent<E>,
  requestId: string,
): Promise<"taken" | "known" | "nobody" | "under way"> {
  if (companyId === null) {
    await handleUnownedEvent?.(ports, event)
    return "nobody"
  }
  const idempotencyKey = createHash("sha256").update(id).digest("hex")
  const request = {
    companyId,
    keyId: `webhook ${provider}`,
    idempotencyKey,
    requestId,
    // Its id names it: a provider that tells more of the same event by now tells nothing new.
    fingerprint: idempotencyKey,
    at: ports.clock.now(),
  }
  const claim = await ports.idempotency.claim(request)
  if (claim.state === "done") return "known"
  if (claim.state !== "mine") return "under way"
  try {
    await handleEvent(ports, companyId, event, causedBy(`webhook ${provider} ${idempotencyKey}`))
  } catch (error) {
    await ports.idempotency.abandon(request)
    throw error
  }
  await ports.idempotency.finish(request, "")
  return "taken"
}
