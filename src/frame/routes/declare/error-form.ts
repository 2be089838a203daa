/** Refusals of routes whose clients speak another protocol over JSON, such as JSON-RPC. */
import type { ZodType } from "zod"

/** How the refusals of a route are said. */
export interface ErrorForm {
  /** What they look like, for the document. */
  readonly schema: ZodType
  /**
   * A refusal in this form; its status stays.
   *
   * @param why its status, and the body that it has in the API's own form
   * @param sent what stands in the body of the request; undefined where nobody can read it
   */
  readonly of: (
    why: { readonly status: number; readonly body: Readonly<Record<string, unknown>> },
    sent: unknown,
  ) => object
}

/** A refusal as it is said by a form; what is none stays as it is. */
export function formed<A extends { status: number; body: unknown; error: string | null }>(
  form: ErrorForm | undefined,
  answer: Readonly<A>,
  sent: unknown,
): Readonly<A> {
  const { status, error, body } = answer
  if (form === undefined || error === null) return answer
  const why = { status, body: JSON.parse(String(body)) as Readonly<Record<string, unknown>> }
  return { ...answer, body: JSON.stringify(form.of(why, sent)) }
}
