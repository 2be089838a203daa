import { useQuery } from "@tanstack/react-query"
import { callConsole, sendToConsole } from "./console-request.ts"
import { queryClient } from "./query-client.ts"
import { useMe } from "./session.ts"

/** An operation, as this person is shown it. */
export interface ConsoleOperation {
  /** As paths have it: `key-create`. */
  readonly name: string
  /** As the command line has it: `key create`. */
  readonly command: string
  readonly summary: string
  readonly notes: readonly string[]
  /** JSON Schema of its input. */
  readonly input: {
    readonly properties?: Readonly<Record<string, InputField>>
  }
  readonly changes: boolean
  readonly needsReason: boolean
  readonly irreversible: { readonly field: string; readonly says: string } | null
  readonly takesFile: boolean
  readonly sendsFile: boolean
  /** This person may do it: whomever it is about, about themselves alone, not at all. */
  readonly may: "all" | "own" | "no"
}

/** A field of an operation's input. */
export interface InputField {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly items?: { readonly enum?: readonly string[]; readonly suggests?: readonly string[] }
  /** What the command line calls it, where that differs. */
  readonly flag?: string
  /** The word behind the command that it is. */
  readonly argument?: string
}

/** What an operation is given. */
export type OperationInput = Readonly<Record<string, unknown>>

/** What a change is asked with beside its input. */
export interface ChangeConfirmation {
  readonly reason?: string
  readonly confirm?: string
}

/** All operations of the console, with what this person may. */
export function useOperations() {
  const { companyId } = useMe()
  return useQuery({
    queryKey: [companyId, "operations"],
    queryFn: async () => {
      const path = `/${companyId}/operations`
      return (await callConsole<{ readonly operations: readonly ConsoleOperation[] }>("GET", path))
        .operations
    },
    staleTime: 300_000,
  })
}

/** One of them; null until they are known, or where there is none. */
export function useOperation(name: string): ConsoleOperation | null {
  return useOperations().data?.find((one) => one.name === name) ?? null
}

/** Whether this person may do one, about anybody; about themselves with `own`. */
export function useCanRun(name: string, own = false): boolean {
  const may = useOperation(name)?.may ?? "no"
  return may === "all" || (own && may === "own")
}

/** What an operation answers that changes nothing: asked once, shown until something changes. */
export function useOperationQuery<T>(name: string, input: OperationInput = {}, isWanted = true) {
  const { companyId } = useMe()
  return useQuery({
    queryKey: [companyId, "answer", name, input],
    queryFn: () => callOperation<T>(companyId, name, input),
    enabled: isWanted,
  })
}

/** Does an operation. @throws Refused */
export function callOperation<T>(
  companyId: string,
  name: string,
  input: OperationInput = {},
  said: ChangeConfirmation = {},
): Promise<T> {
  return callConsole("POST", `/${companyId}/operations/${name}`, {
    input: withoutEmpty(input),
    ...said,
  })
}

/** Does one at this company, and has what is shown asked anew. */
export function useCallOperation() {
  const { companyId } = useMe()
  return async <T>(
    name: string,
    input: OperationInput = {},
    said: ChangeConfirmation = {},
  ): Promise<T> => {
    const done = await callOperation<T>(companyId, name, input, said)
    await queryClient.invalidateQueries({ queryKey: [companyId] })
    return done
  }
}

/** What was filled in: a field left empty is a field not given. */
function withoutEmpty(input: OperationInput): OperationInput {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined && value !== ""),
  )
}

/** Has the file of an operation saved under a name. @throws Refused */
export async function downloadFile(
  companyId: string,
  name: string,
  input: OperationInput,
  fileName: string,
): Promise<void> {
  const path = `/${companyId}/operations/${name}`
  saveFile(
    await (await sendToConsole("POST", path, { input: withoutEmpty(input) })).blob(),
    fileName,
  )
}

/** Hands bytes to the browser as a file. */
export function saveFile(bytes: Blob, name: string): void {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(bytes)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Makes the command that does the same, for people who write programs. */
export function useCommand(): (
  operation: ConsoleOperation,
  input: OperationInput,
  said?: ChangeConfirmation,
) => string {
  const { company, companyId } = useMe()
  return (operation, input, { reason } = {}) => {
    const { properties = {} } = operation.input
    // Here it is this company's; the command line would ask for one, or do it for all.
    const whose = "company" in properties ? { company: company ?? companyId } : {}
    const words = Object.entries({ ...whose, ...withoutEmpty(input) }).flatMap(([name, value]) =>
      commandWords(name, value, properties[name] ?? {}),
    )
    const why = reason === undefined ? [] : ["--reason", shellQuote(reason)]
    return ["company-ledger", operation.command, ...words, ...why].join(" ")
  }
}

function commandWords(
  name: string,
  value: unknown,
  { flag, argument }: InputField,
): readonly string[] {
  if (value === false || (Array.isArray(value) && value.length === 0)) return []
  if (argument !== undefined) return [shellQuote(value)]
  const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const values = value === true ? [] : Array.isArray(value) ? value : [value]
  return [`--${flag ?? dashed}`, ...values.map(shellQuote)]
}

/** A word of a shell's command. */
export function shellQuote(value: unknown): string {
  const text = String(value)
  return /^[\w.:/@+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
