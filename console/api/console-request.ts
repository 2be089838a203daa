import { noResponseError, requestErrorFromResponse } from "./request-error.ts"

/** Every change says that a page of the console asked for it. */
export const CONSOLE_HEADERS = { "x-console": "1" } as const

/**
 * Asks the console's own calls.
 *
 * @param path behind `/console`
 * @throws Refused
 */
export async function callConsole<T>(
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const response = await sendToConsole(method, path, body, "application/json", headers)
  return (await response.json()) as T
}

/** The same where the answer may be a file. @throws Refused */
export async function sendToConsole(
  method: string,
  path: string,
  body?: object | Blob,
  contentType = "application/json",
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const content =
    body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }
  const response = await fetch(`/console${path}`, {
    method,
    headers: {
      ...CONSOLE_HEADERS,
      ...headers,
      ...(body === undefined ? {} : { "content-type": contentType }),
    },
    ...content,
  }).catch(() => null)
  if (response === null) throw noResponseError()
  if (!response.ok) throw await requestErrorFromResponse(response)
  return response
}
