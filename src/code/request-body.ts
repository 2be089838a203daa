/** What git sends, as it comes out of its packing. */
import { Readable, pipeline } from "node:stream"
import { createGunzip } from "node:zlib"
import type { PackCommand } from "../../adapters/git/port.ts"
import type { AsSent } from "../frame/routes/as-sent.ts"
import { fieldOf } from "../frame/routes/as-sent.ts"
import { BodyTooLarge } from "../frame/routes/call.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** So much a fetch may ask: a million objects that its client has. What is pushed git bounds itself. */
const MOST_ASKED = 64 * 1024 * 1024

/** The pieces of a body; the refusal of one that git does not send. */
export function unpacked(
  service: PackCommand,
  sent: AsSent,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> | Refusal {
  const type = `application/x-${service}-request`
  if (fieldOf(sent, "content-type") !== type) {
    return refusal("unsupported_media_type", `The body must be ${type}.`)
  }
  const encoding = fieldOf(sent, "content-encoding") ?? "identity"
  switch (encoding) {
    case "identity":
      return service === "git-upload-pack" ? bounded(body) : body
    case "gzip":
    case "x-gzip":
      return bounded(gunzipped(body))
    default:
      return refusal("unsupported_media_type", "The body must be plain, or packed by gzip.")
  }
}

/**
 * Nothing is unpacked before it is asked for: where nobody listened yet, the error of what is no gzip
 * would end the whole process.
 */
async function* gunzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = createGunzip()
  // Its reader is told of errors by the stream itself.
  pipeline(Readable.from(body), plain, () => undefined)
  yield* plain as AsyncIterable<Uint8Array>
}

/** @throws BodyTooLarge where more comes than anybody asks */
async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MOST_ASKED) throw new BodyTooLarge(`more than ${MOST_ASKED} bytes`)
    yield piece
  }
}
