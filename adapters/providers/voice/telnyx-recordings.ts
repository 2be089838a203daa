/**
 * Recordings at Telnyx, found by the leg that was recorded. Addresses of files live for ten minutes, so each
 * is asked for when it is fetched.
 */
import { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { RecordingNotFound } from "./port.ts"

/** More than any call: four hours at 64 kbps are 115 MB. */
const MAX_BYTES = 200 * 1024 * 1024
/** So long may a file take altogether. */
const TIMEOUT_MS = 10 * 60_000

const Recording = z.object({
  id: z.string(),
  download_urls: z.object({ mp3: z.string().nullish() }).nullish(),
})
const RecordingsResponse = z.object({ data: z.array(Recording) })

/** Recordings, by the ids of the legs that were recorded. */
export interface TelnyxRecordings {
  /** @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound */
  readonly downloadRecording: (legId: string) => Promise<AsyncIterable<Uint8Array>>
  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly deleteRecording: (legId: string) => Promise<void>
}

/**
 * Opens recordings. Its calls throw ProviderUnavailable, ProviderOutcomeUnknown and RecordingNotFound, as they say.
 *
 * @param isPlain whether files may come by http: from a stand-in on this machine
 */
export function openTelnyxRecordings(telnyx: TelnyxClient, isPlain: boolean): TelnyxRecordings {
  const found = async (legId: string) => {
    const query = { "filter[call_leg_id]": legId }
    const answer = await telnyx.request({ method: "GET", path: "/recordings", query })
    if (answer.outcome === "refused" && answer.status === 404) return []
    const read = RecordingsResponse.safeParse(answer.outcome === "done" ? answer.value : null)
    if (!read.success) throw new ProviderUnavailable("Telnyx does not say what it recorded")
    return read.data.data
  }
  return {
    downloadRecording: async (legId) => {
      // One that is still being written has no file yet, wherever it stands in the list.
      const urls = (await found(legId)).map(({ download_urls: files }) => files?.mp3)
      const url = urls.find((one) => Boolean(one))
      if (!url) throw new RecordingNotFound(`Telnyx has no recording of the leg ${legId}`)
      return download(url, isPlain)
    },
    deleteRecording: async (legId) => {
      for (const { id } of await found(legId)) {
        const path = `/recordings/${encodeURIComponent(id)}`
        const { outcome } = await telnyx.request({ method: "DELETE", path })
        // Whether it is gone shows the list: a recording that nobody deleted is asked for again.
        if (outcome === "refused" && (await found(legId)).some((one) => one.id === id)) {
          throw new ProviderUnavailable("Telnyx did not delete a recording")
        }
      }
    },
  }
}

/**
 * A file, piece by piece. Only over https and where it is asked for: a redirect is not followed, for it could
 * lead to what only this machine reaches.
 */
async function download(address: string, isPlain: boolean): Promise<AsyncIterable<Uint8Array>> {
  const url = URL.parse(address)
  if (url === null || !isAllowedUrl(url, isPlain)) {
    throw new ProviderUnavailable("Telnyx named a file by an address that is not fetched")
  }
  const response = await fetchFile(url)
  const { status, body, headers } = response
  if (status === 200 && body !== null && Number(headers.get("content-length")) <= MAX_BYTES) {
    return readChunks(body)
  }
  await body?.cancel()
  throw new ProviderUnavailable(`a file of Telnyx was answered by ${status}, or is too long`)
}

/** Names of the internet, over https; of this machine where its stand-in is. */
function isAllowedUrl({ protocol, hostname, username, port }: URL, isPlain: boolean): boolean {
  if (username !== "") return false
  if (isPlain) return hostname === "127.0.0.1"
  const isName =
    /\.[a-z][a-z0-9-]+$/i.test(hostname) && !/\.(local|internal|localhost)$/i.test(hostname)
  return protocol === "https:" && port === "" && isName
}

async function fetchFile(url: URL): Promise<Response> {
  try {
    return await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    throw new ProviderUnavailable("a file of Telnyx cannot be reached", { cause: error })
  }
}

async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  try {
    for await (const piece of body) {
      length += piece.length
      if (length > MAX_BYTES) break
      yield piece
    }
  } catch (error) {
    throw new ProviderOutcomeUnknown("a file of Telnyx broke off", { cause: error })
  }
  if (length > MAX_BYTES) throw new ProviderUnavailable("a file of Telnyx is too long")
}
