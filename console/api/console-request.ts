import { noResponseError, requestErrorFromResponse } from "./request-error.ts"

/** Marks a request as sent by a page of the console. */
export const CONSOLE_HEADERS = { "x-console": "1" } as const

/**
 * Calls the console's own routes.
 *
 * @param path after `/console`
 * @throws RequestError
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

/** Calls a route whose answer may be a file. @throws RequestError */
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
