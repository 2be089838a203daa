/** The operator's commands that people do themselves, in their company's console. */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { Refusal } from "../routes/answers/refusal.ts"

/** What an operation came to. */
export type Done = { readonly result: unknown } | { readonly refusal: Refusal }

/** Somebody asks for one. */
export interface ConsoleRequest {
  /** Who they are: a session was looked at. */
  readonly companyId: CompanyId
  readonly personId: PersonId
  /** Names it in the metadata of facts. */
  readonly requestId: string
  /** Where it comes from, as limits count it. */
  readonly address: string
  /** The name of the operation as paths have it: `key-create`. */
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string | null
  /** What is meant to be lost, by the name it was given; null where nobody said so. */
  readonly confirmed: string | null
  /** A file that came with it, where the operation reads one. */
  readonly file: AsyncIterable<Uint8Array> | null
}

/** How one is answered while it is done. */
export interface ConsoleTalk {
  /** Takes a piece of the file that it sends; resolves when there is room for the next. */
  readonly send: (piece: string | Uint8Array) => Promise<void>
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
}

/** An operation as somebody is shown it. */
export interface OfferedOperation {
  /** As paths have it. */
  readonly name: string
  /** The words of the command line that do the same. */
  readonly command: string
  readonly summary: string
  readonly notes: readonly string[]
  /** JSON Schema of its input; the company need not be said. */
  readonly input: Readonly<Record<string, unknown>>
  readonly changes: boolean
  readonly needsReason: boolean
  /** What is lost, and by which field of the input it is confirmed; null where nothing is. */
  readonly irreversible: { readonly field: string; readonly says: string } | null
  /** Whether it takes a file, or sends one. */
  readonly takesFile: boolean
  readonly sendsFile: boolean
  /** Whether this person may do it: whomever it is about, about themselves alone, or not at all. */
  readonly may: "all" | "own" | "no"
}

/** The operations of consoles. */
export interface InConsole {
  /** All there are, and which of them somebody may do. */
  readonly offered: (
    who: Pick<ConsoleRequest, "companyId" | "personId">,
  ) => Promise<readonly OfferedOperation[]>
  /**
   * Does one. Whatever an operator could act on is a refusal; all else is thrown.
   *
   * @throws the signal's reason
   */
  readonly run: (request: ConsoleRequest, talk: ConsoleTalk) => Promise<Done>
}
