/** The words that the demo's script is written in: commands and calls, each with its time. */

/** Something that is done in the demo. */
export interface Step {
  /** Hours since the demo began. */
  readonly at: number
  readonly does: Command | Call
  /** What later steps need of the answer: by which name, and where it stands in it, such as `numbers.0.id`. */
  readonly keep: Readonly<Record<string, string>>
  /** Whether it may be refused: for want of funds, or by a limit. */
  readonly mayBeRefused: boolean
  /** Whether all that followed from the steps before is to be done first. */
  readonly isSettled: boolean
}

/** A command of the operator's, as it is run without the command line. */
export interface Command {
  readonly command: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string | null
}

/** A call of the API by a key. `{name}` in any text of it or of a command stands for what was kept. */
export interface Call {
  readonly key: string
  readonly method: "GET" | "POST" | "PATCH"
  readonly url: string
  readonly body?: object
}

type More = Partial<Omit<Step, "at" | "does">> & { readonly reason?: string }

/** A command of the operator's. */
export function command(
  at: number,
  name: string,
  input: Command["input"],
  { keep = {}, mayBeRefused = false, isSettled = false, reason = "" }: More = {},
): Step {
  const does = { command: name, input, reason: reason === "" ? null : reason }
  return { at, does, keep, mayBeRefused, isSettled }
}

/** A call by one of the keys. */
export function call(
  at: number,
  key: string,
  line: `${Call["method"]} /${string}`,
  body?: object,
  { keep = {}, mayBeRefused = false, isSettled = false }: More = {},
): Step {
  const [method, url] = line.split(" ") as [Call["method"], string]
  const does = { key: `{${key}.key}`, method, url, ...(body === undefined ? {} : { body }) }
  return { at, does, keep, mayBeRefused, isSettled }
}

/** A text in which `{name}` is put for what was kept, and all texts of a value that is no text. */
export function filled<T>(value: T, kept: ReadonlyMap<string, string>): T {
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === "string" ? inner.replaceAll(/\{([\w.]+)\}/g, wordOf) : inner,
  )
  function wordOf(_whole: string, name: string): string {
    const word = kept.get(name)
    if (word === undefined) throw new Error(`the demo's script kept no ${name}`)
    return word
  }
  return JSON.parse(text) as T
}

/** What stands at a place of an answer, such as `numbers.0.id`. @throws Error where nothing does */
export function placed(answer: unknown, place: string): string {
  const found = place
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], answer)
  if (typeof found !== "string") throw new Error(`an answer of the demo's has no ${place}`)
  return found
}
