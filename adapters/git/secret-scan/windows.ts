/**
 * Texts joined and cut into windows: a call of the rules costs most of a millisecond however little there is
 * to look through, and long texts cost memory. Windows of one text overlap by more than the longest
 * secret, so that each stands whole in one of them.
 */
import type { FoundSecret, ScannedText } from "./port.ts"

/** So many characters at a time. */
export const WINDOW_LENGTH = 256 * 1024
/** By so much the windows of one text overlap. */
export const WINDOW_OVERLAP = 16 * 1024

/** A part of a text, where it stands in a window. */
interface WindowPart {
  readonly source: ScannedText
  /** Where it begins in its text. */
  readonly sourceOffset: number
  /** Where it begins in the window. */
  readonly windowOffset: number
}

/** Text to be looked through at once. */
interface ScanWindow {
  readonly text: string
  readonly parts: readonly WindowPart[]
}

/** The windows of some texts. */
export function* splitIntoWindows(texts: Iterable<ScannedText>): Generator<ScanWindow> {
  let text = ""
  let parts: WindowPart[] = []
  for (const scanned of texts) {
    for (let sourceOffset = 0; ; sourceOffset += WINDOW_LENGTH - WINDOW_OVERLAP) {
      const piece = scanned.text.slice(sourceOffset, sourceOffset + WINDOW_LENGTH)
      if (parts.length > 0 && text.length + piece.length > WINDOW_LENGTH) {
        yield { text, parts }
        text = ""
        parts = []
      }
      parts.push({ source: scanned, sourceOffset, windowOffset: text.length })
      text += `${piece}\n`
      if (sourceOffset + WINDOW_LENGTH >= scanned.text.length) break
    }
  }
  if (parts.length > 0) yield { text, parts }
}

interface TextMatch extends SecretMatch {
  readonly source: ScannedText
}

/** What was found in windows, by text: what was found twice, or by two rules, is one and the longest. */
export function secretsFromMatches(
  windows: readonly { readonly window: ScanWindow; readonly places: readonly SecretMatch[] }[],
): readonly FoundSecret[] {
  const found = windows.flatMap(({ window, places }) =>
    places.map((one) => toTextMatch(window, one)),
  )
  const byText = Map.groupBy(found, ({ source }) => source)
  return [...byText].flatMap(([of, all]) => {
    const lineOf = lineCounter(of.text)
    return keepLongest(all).map(({ rule, start, end }) => {
      return { id: of.id, rule, line: lineOf(start), secret: of.text.slice(start, end) }
    })
  })
}

function toTextMatch({ parts }: ScanWindow, { rule, start, end }: SecretMatch): TextMatch {
  const part = parts.findLast(({ windowOffset }) => windowOffset <= start)
  if (part === undefined) throw new RangeError(`no part of the window begins before ${start}`)
  const moved = part.sourceOffset - part.windowOffset
  return { source: part.source, rule, start: start + moved, end: end + moved }
}

/** Of places that lie over one another the longest, in order. */
function keepLongest(places: readonly TextMatch[]): readonly TextMatch[] {
  const sorted = places.toSorted((a, b) => a.start - b.start || b.end - a.end)
  const kept: TextMatch[] = []
  for (const one of sorted) {
    const last = kept.at(-1)
    if (last === undefined || one.start >= last.end) kept.push(one)
    else if (one.end - one.start > last.end - last.start) kept[kept.length - 1] = one
  }
  return kept
}

/** Lines by places that only go forward. */
function lineCounter(text: string): (place: number) => number {
  let [line, from] = [1, 0]
  return (place) => {
    for (;;) {
      const next = text.indexOf("\n", from)
      if (next === -1 || next >= place) return line
      line += 1
      from = next + 1
    }
  }
}

// What the rules of secretlint miss. Each begins with letters of its own and is bounded, so that none takes
// longer than its text is long. Tokens of sign-ins (JWT) and `password=` are left out: too much that is no
// secret looks like them.

/** Where a secret stands in a text. */
export interface SecretMatch {
  readonly rule: string
  readonly start: number
  readonly end: number
}

const SECRET_PATTERNS: Readonly<Record<string, RegExp>> = {
  // Whatever kind of key: what stands between the lines need not be what a key of that kind looks like, and
  // each line may stand behind the sign of a comment. Words are no key: none of them is as long.
  "private-key":
    /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|-(?!----)|[^\w-]){0,200}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n[^\w-]{0,100}){0,5}[A-Za-z0-9+/=]{20}(?:[A-Za-z0-9+/=\s"',#>*;|]|\\[nr]){0,8000}/g,
  "aws-key-id": /(?<![0-9A-Za-z])A(?:KIA|SIA)[A-Z2-7]{16}(?![0-9A-Za-z])/g,
  "google-api-key": /(?<![0-9A-Za-z_-])AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/g,
  telnyx: /(?<![0-9A-Za-z])KEY[0-9A-F]{32}_[0-9A-Za-z]{22}(?![0-9A-Za-z])/g,
  "twilio-key": /(?<![0-9A-Za-z])SK[0-9a-f]{32}(?![0-9A-Za-z])/g,
  openai: /(?<![0-9A-Za-z_-])sk-(?:proj|svcacct|admin)-[0-9A-Za-z_-]{20,200}/g,
  // What stands for a password in instructions is none: <password>, ${PASSWORD}, ***.
  redis:
    /(?<![0-9A-Za-z])rediss?:\/\/[^\s:@/"'<>]{0,100}:[^\s:@/"'<>${}*]{3,200}@[^\s"'<>]{1,250}/g,
}

/** A character that stands where a secret would: `xxxxxxxx`, `00000000`. */
const REPEATED_CHARACTER = /([A-Za-z0-9*.])\1{7,}/g
/** What a placeholder keeps of its kind: prefixes such as `sk-ant-api03-`. */
const MAX_PREFIX_LENGTH = 16

/** Whether a text only looks like a secret: but for its prefix it is one character repeated, or its password is. */
export function isPlaceholder(text: string): boolean {
  const [, password] = /^\w+:\/\/[^:/@]*:([^@]*)@/.exec(text) ?? []
  if (password !== undefined) return password === password.charAt(0).repeat(password.length)
  const rest = text.replaceAll(REPEATED_CHARACTER, "")
  return rest.length < text.length && rest.replaceAll(/[\W_]/g, "").length <= MAX_PREFIX_LENGTH
}

/** Keys that their makers show in instructions. */
const EXAMPLE_KEY = /EXAMPLE$/

/** What stands for a password in examples: the rules of secretlint let it pass in addresses of other databases. */
const EXAMPLE_PASSWORDS: ReadonlySet<string> = new Set([
  "localhost",
  "127.0.0.1",
  "example.com",
  "example.org",
  "test.com",
  "root",
  "admin",
  "user",
  "pass",
  "password",
  "mypassword",
  "your_password",
  "replace_with_password",
  "secret",
  "username",
  "myusername",
  "your_username",
])

/** Whether an address holds a password as examples have them. */
function hasExamplePassword(address: string): boolean {
  const [, user, password = ""] = /^rediss?:\/\/([^:]*):([^@]*)@/.exec(address) ?? []
  const isOneLetter = password === password.charAt(0).repeat(password.length)
  return (
    password.length < 4 ||
    password === user ||
    isOneLetter ||
    EXAMPLE_PASSWORDS.has(password.toLowerCase())
  )
}

/** The secrets that the expressions find. */
export function matchSecretPatterns(text: string): readonly SecretMatch[] {
  return Object.entries(SECRET_PATTERNS).flatMap(([rule, expression]) =>
    [...text.matchAll(expression)]
      .filter(
        ([secret]) =>
          !EXAMPLE_KEY.test(secret) && !(rule === "redis" && hasExamplePassword(secret)),
      )
      .map(({ 0: secret, index }) => ({ rule, start: index, end: index + secret.length })),
  )
}
