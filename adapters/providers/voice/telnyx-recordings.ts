/**
 * Recordings at Telnyx, found by the recorded leg. File addresses expire after ten minutes, so each
 * download asks for a new one.
 */
import { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { RecordingNotFound } from "./port.ts"

/** Longer than any call: four hours at 64 kbps are 115 MB. */
const MAX_BYTES = 200 * 1024 * 1024
/** Timeout of a whole download. */
const TIMEOUT_MS = 10 * 60_000

const Recording = z.object({
  id: z.string(),
  download_urls: z.object({ mp3: z.string().nullish() }).nullish(),
})
const RecordingsResponse = z.object({ data: z.array(Recording) })

/** Recordings, by the id of the recorded leg. */
export interface TelnyxRecordings {
  /** @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound */
  readonly downloadRecording: (legId: string) => Promise<AsyncIterable<Uint8Array>>
  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly deleteRecording: (legId: string) => Promise<void>
}

/**
 * Opens the recordings. Its calls throw ProviderUnavailable, ProviderOutcomeUnknown and
 * RecordingNotFound.
 *
 * @param isPlain whether to allow plain http, for a simulator on this machine
 */
export function openTelnyxRecordings(telnyx: TelnyxClient, isPlain: boolean): TelnyxRecordings {
  const findRecordings = async (legId: string) => {
    const query = { "filter[call_leg_id]": legId }
    const answer = await telnyx.request({ method: "GET", path: "/recordings", query })
    if (answer.outcome === "refused" && answer.status === 404) return []
    const read = RecordingsResponse.safeParse(answer.outcome === "done" ? answer.value : null)
    if (!read.success)
      throw new ProviderUnavailable("Telnyx's list of recordings does not have the expected form")
    return read.data.data
  }
  return {
    downloadRecording: async (legId) => {
      // A recording that is still being written has no file yet.
      const urls = (await findRecordings(legId)).map(({ download_urls: files }) => files?.mp3)
      const url = urls.find((one) => Boolean(one))
      if (!url) throw new RecordingNotFound(`Telnyx has no recording of the leg ${legId}`)
      return download(url, isPlain)
    },
    deleteRecording: async (legId) => {
      for (const { id } of await findRecordings(legId)) {
        const path = `/recordings/${encodeURIComponent(id)}`
        const { outcome } = await telnyx.request({ method: "DELETE", path })
        // The list shows whether it is gone; if not, the deletion is retried.
        if (outcome === "refused" && (await findRecordings(legId)).some((one) => one.id === id)) {
          throw new ProviderUnavailable(`Telnyx did not delete the recording ${id}`)
        }
      }
    },
  }
}

/**
 * Downloads a file in chunks. Only https, and no redirects: they could lead to hosts that only this
 * machine reaches.
 */
async function download(address: string, isPlain: boolean): Promise<AsyncIterable<Uint8Array>> {
  const url = URL.parse(address)
  if (url === null || !isAllowedUrl(url, isPlain)) {
    throw new ProviderUnavailable("Telnyx's recording has an address that is not allowed")
  }
  const response = await fetchFile(url)
  const { status, body, headers } = response
  if (status === 200 && body !== null && Number(headers.get("content-length")) <= MAX_BYTES) {
    return readChunks(body)
  }
  await body?.cancel()
  throw new ProviderUnavailable(
    `Telnyx answered ${status} for a recording, or it is longer than ${MAX_BYTES} bytes`,
  )
}

/** Allows public host names over https; this machine's address for a local simulator. */
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
    throw new ProviderUnavailable("the download of a recording from Telnyx failed", {
      cause: error,
    })
  }
}

async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  try {
    for await (const chunk of body) {
      length += chunk.length
      if (length > MAX_BYTES) break
      yield chunk
    }
  } catch (error) {
    throw new ProviderOutcomeUnknown("the download of a recording from Telnyx broke off", {
      cause: error,
    })
  }
  if (length > MAX_BYTES)
    throw new ProviderUnavailable(`Telnyx's recording is longer than ${MAX_BYTES} bytes`)
}
