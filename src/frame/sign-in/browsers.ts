/** Browsers that sign in: the cookies they keep, the page they come from, and the path they go on to. */
import { cookieIn } from "../http/passing/pass.ts"

/** Whatever the host is: it only shows whether a path stays there. */
const HERE = "http://here.invalid"

/**
 * A path, with its query, that leads nowhere but to the own host; `/` for whatever is none. Browsers take a
 * backslash for a slash, drop tabs and line feeds, and resolve dots before they look for a second slash.
 */
export function ownPath(next: string | null): string {
  if (next === null || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/"
  if (!URL.canParse(next, HERE)) return "/"
  const { origin, pathname, search } = new URL(next, HERE)
  return origin === HERE && !pathname.startsWith("//") ? `${pathname}${search}` : "/"
}

/** Whether a form was sent from a page of the host it is sent to: every browser says so of a form. */
export function isFromOwnPage(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false
  const { protocol, host: asked } = new URL(origin)
  if (!/^https?:$/.test(protocol) || !URL.canParse(`${protocol}//${host}`)) return false
  return asked === new URL(`${protocol}//${host}`).host
}

/** The token in a cookie of a `Cookie` header; null where there is none. */
export function tokenIn(header: string | undefined, name: string): string | null {
  const token = cookieIn(header, name)
  return token !== null && /^[\w-]{43}$/.test(token) ? token : null
}

/** A `Set-Cookie` that keeps a token in a browser, out of reach of scripts, for a time; 0 ends it. */
export function tokenCookie(name: string, token: string, lastsMs: number, isPlain = false): string {
  const lasts = `Max-Age=${Math.floor(lastsMs / 1_000)}`
  return `${name}=${token}; ${lasts}; Path=/${isPlain ? "" : "; Secure"}; HttpOnly; SameSite=Lax`
}
