/** Records of answers in the forms of our own. */
import type { Answer, DecodedPacket, TxtData } from "dns-packet"
import { CODES } from "./queries.ts"
import type { DnsAnswer, FoundRecord } from "./port.ts"

/** An answer as it is told. */
export function answerOf(packet: DecodedPacket): DnsAnswer {
  const { flags = 0, answers = [], authorities = [] } = packet
  const code = Object.entries(CODES).find(([, number]) => number === (flags & 0xf))
  return {
    code: code?.[0] ?? `CODE${flags & 0xf}`,
    isAuthoritative: packet.flag_aa,
    answers: answers.flatMap((one) => foundIn(one) ?? []),
    authorities: authorities.flatMap((one) => foundIn(one) ?? []),
  }
}

/** A record in our form; null for one of another type. */
export function foundIn(answer: Answer): FoundRecord | null {
  const said = contentOf(answer)
  if (said === null || answer.type === "OPT") return null
  const { content, priority = null } = said
  return {
    type: answer.type as FoundRecord["type"],
    name: nameOf(answer.name),
    content,
    priority,
    ttl: answer.ttl ?? 0,
  }
}

interface Said {
  readonly content: string
  readonly priority?: number
}

function contentOf(answer: Answer): Said | null {
  switch (answer.type) {
    case "A":
    case "AAAA":
      return { content: answer.data }
    case "CNAME":
    case "NS":
      return { content: nameOf(answer.data) }
    case "MX":
      return { content: nameOf(answer.data.exchange), priority: answer.data.preference ?? 0 }
    case "TXT":
      return { content: textOf(answer.data) }
    case "CAA":
      return { content: `${answer.data.flags ?? 0} ${answer.data.tag} "${answer.data.value}"` }
    case "SRV": {
      const { weight = 0, port, target, priority = 0 } = answer.data
      return { content: `${weight} ${port} ${nameOf(target)}`, priority }
    }
    case "SOA":
      return { content: String(answer.data.serial ?? 0) }
    case "DS":
      return { content: "" }
    default:
      return null
  }
}

/** In lower case; the root, which stands for no host, is a dot. */
const nameOf = (name: string): string =>
  (name.endsWith(".") && name !== "." ? name.slice(0, -1) : name).toLowerCase()

/** The strings of a TXT are one text. */
function textOf(data: TxtData): string {
  const strings = Array.isArray(data) ? data : [data]
  return Buffer.concat(strings.map((one) => Buffer.from(one))).toString()
}
