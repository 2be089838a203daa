/**
 * Joins texts and cuts them into windows. A call of the rules costs almost a millisecond even for a
 * short text, and long texts cost memory. Windows of one text overlap by more than the longest
 * secret, so that each secret is complete in one of them.
 */
import type { FoundSecret, ScannedText } from "./port.ts"

/** Characters per window. */
export const WINDOW_LENGTH = 256 * 1024
/** Overlap of the windows of one text, characters. */
export const WINDOW_OVERLAP = 16 * 1024

interface WindowPart {
  readonly source: ScannedText
  /** Its start in the text. */
  readonly sourceOffset: number
  readonly windowOffset: number
}

interface ScanWindow {
  readonly text: string
  readonly parts: readonly WindowPart[]
}

/** Splits texts into windows. */
export function* splitIntoWindows(texts: Iterable<ScannedText>): Generator<ScanWindow> {
  let text = ""
  let parts: WindowPart[] = []
  for (const scanned of texts) {
    for (let sourceOffset = 0; ; sourceOffset += WINDOW_LENGTH - WINDOW_OVERLAP) {
      const chunk = scanned.text.slice(sourceOffset, sourceOffset + WINDOW_LENGTH)
      if (parts.length > 0 && text.length + chunk.length > WINDOW_LENGTH) {
        yield { text, parts }
        text = ""
        parts = []
      }
      parts.push({ source: scanned, sourceOffset, windowOffset: text.length })
      text += `${chunk}\n`
      if (sourceOffset + WINDOW_LENGTH >= scanned.text.length) break
    }
  }
  if (parts.length > 0) yield { text, parts }
}

interface TextMatch extends SecretMatch {
  readonly source: ScannedText
}

/** Maps matches in windows to the texts. Of overlapping matches the longest is kept. */
export function secretsFromMatches(
  windows: readonly { readonly window: ScanWindow; readonly places: readonly SecretMatch[] }[],
): readonly FoundSecret[] {
  const found = windows.flatMap(({ window, places }) =>
    places.map((one) => toTextMatch(window, one)),
  )
  const byText = Map.groupBy(found, ({ source }) => source)
  return [...byText].flatMap(([source, all]) => {
    const lineOf = lineCounter(source.text)
    return keepLongest(all).map(({ rule, start, end }) => {
      return { id: source.id, rule, line: lineOf(start), secret: source.text.slice(start, end) }
    })
  })
}

function toTextMatch({ parts }: ScanWindow, { rule, start, end }: SecretMatch): TextMatch {
  const part = parts.findLast(({ windowOffset }) => windowOffset <= start)
  if (part === undefined) throw new RangeError(`no part of the window begins before ${start}`)
  const shift = part.sourceOffset - part.windowOffset
  return { source: part.source, rule, start: start + shift, end: end + shift }
}

/** Of overlapping matches keeps the longest, in order. */
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

function lineCounter(text: string): (offset: number) => number {
  let [line, from] = [1, 0]
  return (offset) => {
    for (;;) {
      const next = text.indexOf("\n", from)
      if (next === -1 || next >= offset) return line
      line += 1
      from = next + 1
    }
  }
}

// Patterns for secrets that secretlint misses. Each starts with fixed letters and is bounded, so
// that its time is linear. JWTs and `password=` are left out, because they match too much that is
// not secret.

/** The place of a secret in a text. */
export interface SecretMatch {
  readonly rule: string
  readonly start: number
  readonly end: number
}

const SECRET_PATTERNS: Readonly<Record<string, RegExp>> = {
  // Any kind of private key: the content may be malformed and each line may follow a comment sign.
  // Ordinary words are shorter than the required 20 characters.
  "private-key":
    /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|-(?!----)|[^\w-]){0,200}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n[^\w-]{0,100}){0,5}[A-Za-z0-9+/=]{20}(?:[A-Za-z0-9+/=\s"',#>*;|]|\\[nr]){0,8000}/g,
  "aws-key-id": /(?<![0-9A-Za-z])A(?:KIA|SIA)[A-Z2-7]{16}(?![0-9A-Za-z])/g,
  "google-api-key": /(?<![0-9A-Za-z_-])AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/g,
  telnyx: /(?<![0-9A-Za-z])KEY[0-9A-F]{32}_[0-9A-Za-z]{22}(?![0-9A-Za-z])/g,
  "twilio-key": /(?<![0-9A-Za-z])SK[0-9a-f]{32}(?![0-9A-Za-z])/g,
  openai: /(?<![0-9A-Za-z_-])sk-(?:proj|svcacct|admin)-[0-9A-Za-z_-]{20,200}/g,
  // Placeholders such as <password>, ${PASSWORD} and *** are excluded.
  redis:
    /(?<![0-9A-Za-z])rediss?:\/\/[^\s:@/"'<>]{0,100}:[^\s:@/"'<>${}*]{3,200}@[^\s"'<>]{1,250}/g,
}

/** A repeated character in place of a secret: `xxxxxxxx`, `00000000`. */
const REPEATED_CHARACTER = /([A-Za-z0-9*.])\1{7,}/g
/** Longest prefix of a placeholder, such as `sk-ant-api03-`. */
const MAX_PREFIX_LENGTH = 16

/**
 * Whether a match is a placeholder: one repeated character after its prefix, or as its password.
 */
export function isPlaceholder(text: string): boolean {
  const [, password] = /^\w+:\/\/[^:/@]*:([^@]*)@/.exec(text) ?? []
  if (password !== undefined) return password === password.charAt(0).repeat(password.length)
  const rest = text.replaceAll(REPEATED_CHARACTER, "")
  return rest.length < text.length && rest.replaceAll(/[\W_]/g, "").length <= MAX_PREFIX_LENGTH
}

/** Keys that vendors show in instructions. */
const EXAMPLE_KEY = /EXAMPLE$/

/** Passwords of examples; secretlint's rules ignore them in addresses of other databases. */
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

/** Whether an address has a typical example password. */
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

/** Finds the secrets that match the patterns. */
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
