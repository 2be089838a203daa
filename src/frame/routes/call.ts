/**
 * A call as it comes in, whoever brings it: the web server, the MCP server, git's sign-in or a page
 * with a session. Nothing here knows a web framework.
 */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { AsSent } from "./as-sent.ts"
import type { Route } from "./declare/route.ts"
import type { OneOf } from "./declare/one-of.ts"
import type { Refusal } from "./answers/refusal.ts"

/** A body that is still on its way. */
export interface SentBody {
  /**
   * The whole of it, read once however often it is asked for; null where there is none.
   *
   * @throws BodyTooLarge, BodyCutOff, BodyTooLate
   */
  readonly bytes: (mostBytes: number, withinMs: number) => Promise<Uint8Array | null>
  /** The same piece by piece, for whoever takes it as it comes: once, and not beside `bytes`. */
  readonly pieces: () => AsyncIterable<Uint8Array>
}

/** Somebody who is known without a key: by a console's session, a box's push, or the program itself. */
export interface Who {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

/** A call. */
export interface Call extends AsSent {
  /** What is asked for: a route, or several that share a verb and a path. */
  readonly route: Route | OneOf
  /** What stands at the route's `:names`, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query's parameters, decoded. */
  readonly query: unknown
  readonly body: SentBody
  /** Aborted when the caller went away. */
  readonly gone: AbortSignal
  /** Aborted when this process is about to stop. */
  readonly stopping: AbortSignal
  /** Who calls, where it came by another way than with a key; null: the call says it itself. */
  readonly who: (() => Promise<Who | Refusal>) | null
  /** What whoever brings it found wrong with what it was given, by the field; default nothing. */
  readonly faults?: Readonly<Record<string, string>>
}

/** The body is longer than the route takes. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge"
}

/** The body ended before its length was reached, or went on behind it. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff"
}

/** The body did not come in the time that the route gives it. */
export class BodyTooLate extends Error {
  override readonly name = "BodyTooLate"
}

/** A body that is at hand already. Reading it throws BodyTooLarge, like one that comes in. */
export function bodyAtHand(bytes: Uint8Array | null): SentBody {
  return {
    bytes: async (mostBytes) => {
      if ((bytes?.length ?? 0) > mostBytes) throw new BodyTooLarge(`more than ${mostBytes} bytes`)
      return bytes
    },
    pieces: async function* () {
      if (bytes !== null) yield bytes
    },
  }
}
