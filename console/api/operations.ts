import { useQuery } from "@tanstack/react-query"
import { callConsole, sendToConsole } from "./console-request.ts"
import { queryClient } from "./query-client.ts"
import { useMe } from "./session.ts"

/** An operation, as this person sees it. */
export interface ConsoleOperation {
  /** Name in paths: `key-create`. */
  readonly name: string
  /** Name on the command line: `key create`. */
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
  /** Whether this person may run it: for everyone, only for themselves, or not at all. */
  readonly may: "all" | "own" | "no"
}

/** A field of an operation's input. */
export interface InputField {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly items?: { readonly enum?: readonly string[]; readonly suggests?: readonly string[] }
  /** Name of the command line option, if different. */
  readonly flag?: string
  /** Name of the positional argument. */
  readonly argument?: string
}

export type OperationInput = Readonly<Record<string, unknown>>

export interface ChangeConfirmation {
  readonly reason?: string
  readonly confirm?: string
}

/** All operations of the console, with this person's permissions. */
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

/** An operation; null until they are loaded, or if there is none. */
export function useOperation(name: string): ConsoleOperation | null {
  return useOperations().data?.find((one) => one.name === name) ?? null
}

/** Whether this person may run an operation; with `own`, also only for themselves. */
export function useCanRun(name: string, forSelf = false): boolean {
  const may = useOperation(name)?.may ?? "no"
  return may === "all" || (forSelf && may === "own")
}

/** Queries an operation that changes nothing, and caches the answer until something changes. */
export function useOperationQuery<T>(name: string, input: OperationInput = {}, isEnabled = true) {
  const { companyId } = useMe()
  return useQuery({
    queryKey: [companyId, "answer", name, input],
    queryFn: () => callOperation<T>(companyId, name, input),
    enabled: isEnabled,
  })
}

/** Runs an operation. @throws RequestError */
export function callOperation<T>(
  companyId: string,
  name: string,
  input: OperationInput = {},
  confirmation: ChangeConfirmation = {},
): Promise<T> {
  return callConsole("POST", `/${companyId}/operations/${name}`, {
    input: withoutEmpty(input),
    ...confirmation,
  })
}

/** Runs an operation at this company, and refreshes all shown data. */
export function useCallOperation() {
  const { companyId } = useMe()
  return async <T>(
    name: string,
    input: OperationInput = {},
    confirmation: ChangeConfirmation = {},
  ): Promise<T> => {
    const done = await callOperation<T>(companyId, name, input, confirmation)
    await queryClient.invalidateQueries({ queryKey: [companyId] })
    return done
  }
}

/** Drops empty fields of a form. */
function withoutEmpty(input: OperationInput): OperationInput {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined && value !== ""),
  )
}

/** Downloads the file of an operation. @throws RequestError */
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

/** Saves bytes as a file in the browser. */
export function saveFile(bytes: Blob, name: string): void {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(bytes)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Returns a function that builds the equivalent command line. */
export function useCommand(): (
  operation: ConsoleOperation,
  input: OperationInput,
  confirmation?: ChangeConfirmation,
) => string {
  const { company, companyId } = useMe()
  return (operation, input, { reason } = {}) => {
    const { properties = {} } = operation.input
    // The command line would ask for a company, or apply to all.
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

/** Quotes a value for a shell. */
export function shellQuote(value: unknown): string {
  const text = String(value)
  return /^[\w.:/@+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
