/**
 * What goes along with a leg at Telnyx and comes back in all that is said of it (`client_state`): whose call it
 * is, and what the leg was told last. A leg's events may overtake the answer that names it, and what is
 * said of words and of recordings names nothing else.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { idParser, parseCompanyId } from "../../../domain/kernel/ids.ts"
import type { AudioKind } from "../../../domain/voice/call-events.ts"
import type { CallId } from "../../../domain/voice/ids.ts"

const parseCallId = idParser("call_")
const LEG = /^[0-5]$/

/** What a leg was told last, where that decides how something is read. */
export type LegMark = "" | "say" | AudioKind

/** A leg, and what it was told. */
export interface LegState {
  readonly companyId: CompanyId
  readonly callId: CallId
  /** 0 is the caller's. */
  readonly leg: number
  readonly mark: LegMark
}

/** As it goes along, base64. */
export function stateOf({ companyId, callId, leg, mark }: LegState): string {
  return Buffer.from(`${companyId}:${callId}:${leg}:${mark}`).toString("base64")
}

/** What came back; null where it is not ours. */
export function stateIn(text: string | null | undefined): LegState | null {
  if (text === null || text === undefined) return null
  const parts = Buffer.from(text, "base64").toString().split(":")
  const [company = "", call = "", leg = "", mark = "", ...others] = parts
  const [companyId, callId] = [parseCompanyId(company), parseCallId(call)]
  if (companyId === null || callId === null || !LEG.test(leg) || others.length > 0) return null
  return isMark(mark) ? { companyId, callId, leg: Number(leg), mark } : null
}

const isMark = (text: string): text is LegMark =>
  text === "" || text === "say" || text === "call" || text === "voicemail"
