/** Where somebody goes on once signed in: a path of the host they are at, and of no other. */

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
  if (origin === undefined || host === undefined || !/^https?:\/\//.test(origin)) return false
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}
