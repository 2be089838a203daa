/** Who asks the console for something: by a session, and for a change from one of its own pages. */
import type { AsSent } from "../frame/routes/declare/route.ts"
import { fieldOf } from "../frame/routes/call.ts"
import type { OwnCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Who } from "../frame/routes/call.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { isFromOwnPage } from "../frame/sign-in/browsers.ts"
import { keptIn } from "./cookies.ts"

/** Nobody is signed in. */
export const SIGNED_OUT: OwnCode = {
  error: "signed_out",
  status: 401,
  example: { message: "Nobody is signed in here, or not any more: sign in." },
}

/** A change that no page of the console asked for. */
export const OTHER_SITE: OwnCode = {
  error: "other_site",
  status: 403,
  example: { message: "This was not asked for by a page of this console." },
}

const READS = ["GET", "HEAD"]

/** Who asks, at the company of the path; the refusal of whoever is nobody there. */
export async function whoAsks(
  ports: Pick<Ports, "accounts" | "baseUrl">,
  sent: Pick<AsSent, "headers"> & {
    readonly method: string
    readonly params: Readonly<Record<string, string>>
  },
): Promise<Who | Refusal> {
  const strange = otherSite(ports, sent)
  if (strange !== null) return strange
  const companyId = parseCompanyId(sent.params["company"] ?? "")
  const token = keptIn(sent, "session")
  const found =
    companyId === null || token === null ? null : await ports.accounts.whoAt(companyId, token)
  if (found === null) return signedOut()
  return { companyId: found.companyId, personId: found.personId }
}

/** Nobody is signed in here. */
export function signedOut(): Refusal {
  return refusal(SIGNED_OUT, SIGNED_OUT.example.message)
}

/**
 * The refusal of a change that another site may have asked for; null where none has. What browsers send for
 * another site says where it comes from, and cannot have a header of the console's own.
 */
export function otherSite(
  ports: Pick<Ports, "baseUrl">,
  { method, headers }: Pick<AsSent, "headers"> & { readonly method: string },
): Refusal | null {
  if (READS.includes(method)) return null
  const sent = { headers } as AsSent
  const origin = fieldOf(sent, "origin")
  const isOwn = origin !== null && isOwnOrigin(ports.baseUrl(), origin, fieldOf(sent, "host"))
  if (isOwn && fieldOf(sent, "x-console") === "1") return null
  return refusal(OTHER_SITE, OTHER_SITE.example.message)
}

/** Whether an origin is that of the host which was asked; of the public address it is the scheme's too. */
function isOwnOrigin(baseUrl: string, origin: string, host: string | null): boolean {
  if (!isFromOwnPage(origin, host ?? undefined)) return false
  const asked = new URL(origin)
  const own = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  return own === null || own.hostname !== asked.hostname || own.protocol === asked.protocol
}
