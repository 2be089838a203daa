/** The headers of server apps: it is asked by the preview's own name, and told who asks. */
import type { OutgoingHttpHeaders } from "node:http"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import { setsCookie, withoutCookie } from "../../frame/http/passing/cookies.ts"
import type { Headed } from "../../frame/http/passing/headers.ts"
import { answeredOn, askedOn } from "../../frame/http/passing/headers.ts"
import { COOKIE } from "./sign-in-pages.ts"

/** What only the house says. */
const OURS = /^(?:forwarded$|x-forwarded-|x-real-ip$|x-preview-)/

/** The headers that an app gets. */
export function headersTo(
  request: Headed,
  { scheme, personId }: { readonly scheme: string; readonly personId: PersonId },
): OutgoingHttpHeaders {
  const { cookie: _cookie, ...sent } = askedOn(request)
  const theirs = Object.entries(sent).filter(([name]) => !OURS.test(name))
  const cookie = withoutCookie(request.headers.cookie, COOKIE)
  return {
    ...Object.fromEntries(theirs),
    ...(cookie === null ? {} : { cookie }),
    "x-forwarded-proto": scheme,
    "x-forwarded-host": request.headers.host,
    "x-preview-person": personId,
  }
}

/** The headers of what it answers. */
export function headersFrom(answer: Headed): OutgoingHttpHeaders {
  const { "set-cookie": _cookies, ...told } = answeredOn(answer)
  const { "set-cookie": cookies = [] } = answeredOn({
    headers: {
      "set-cookie": (answer.headers["set-cookie"] ?? []).filter((one) => !setsCookie(one, COOKIE)),
    },
  })
  return {
    ...told,
    ...([cookies].flat().length === 0 ? {} : { "set-cookie": cookies }),
    "x-robots-tag": "noindex",
  }
}
