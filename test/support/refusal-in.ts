/** The refusal in an answer, also where its route says refusals in a form of its own. */

/** A refusal as the API says it. */
export interface SaidRefusal {
  readonly error: string
  readonly message: string
  readonly fields?: Readonly<Record<string, string>>
  readonly operation?: string
}

/** What is refused by a body: JSON-RPC has it among the data of its error. */
export function refusalIn(body: unknown): SaidRefusal {
  const { error } = body as { readonly error?: unknown }
  const isForm = typeof error === "object" && error !== null && "data" in error
  return (isForm ? error.data : body) as SaidRefusal
}
