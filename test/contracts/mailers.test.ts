import type { SimulatorStore, Simulators } from "../../adapters/providers/simulators/port.ts"
import { describe, expect, it, afterEach } from "vitest"
import { isPublicAddress } from "../../adapters/providers/addresses/public-addresses.ts"
import type { Resolver } from "../../adapters/providers/dns/port.ts"
import { openSimulatedMailer } from "../../adapters/providers/mailer/simulator.ts"
import { openDirectDelivery } from "../../adapters/providers/mailer/direct-delivery.ts"
import type { MailEnvelope, DeliveryAnswer, Mailer } from "../../adapters/providers/mailer/port.ts"
import { openMailRelay } from "../../adapters/providers/mailer/mail-relay.ts"
import {
  ProviderUnavailable,
  ProviderOutcomeUnknown,
} from "../../adapters/providers/provider-errors.ts"
import { openMemorySealing } from "../../adapters/sealing/postgres.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import type { SmtpRules, SmtpServerFixture } from "../email/smtp-server.ts"
import { openSmtpServer } from "../email/smtp-server.ts"
import { partialFake } from "../support/partial-fake.ts"

/** The next behavior of the receiving server. */
type Behavior = "takes" | "rejects" | "refuses" | "defers" | "is silent" | "is down"

/** A mailer, and the server that receives its mails. */
interface MailerUnderTest {
  readonly deliver: Mailer["deliver"]
  readonly isDelivered: boolean
  readonly setBehavior: (behavior: Behavior) => Promise<void>
  /** The received bytes in order; null if the mailer does not keep them. */
  readonly arrived: (() => readonly Buffer[]) | null
}

const envelopeTo = (to: string): MailEnvelope => ({
  companyId: "co_aaaaaa",
  mailId: "mail_1",
  addressTag: "aa" as AddressTag,
  from: "b.1.0.ab@cp-bounce.mail.example.com",
  to,
})

/** A mail as bytes. */
const BYTES = Buffer.from(
  "From: a@mail.example.com\r\nTo: ada@example.com\r\nSubject: Hi\r\n\r\n.\r\n..dots\r\nHi\r\n",
)

/** Adds the suite for one mailer. */
function mailerContract(name: string, open: () => Promise<MailerUnderTest>): void {
  describe(name, () => {
    const answerFor = async (behavior: Behavior): Promise<DeliveryAnswer> => {
      const { deliver, setBehavior } = await open()
      await setBehavior(behavior)
      return deliver(envelopeTo("ada@example.com"), BYTES)
    }

    it("delivers bytes unchanged", async () => {
      const { deliver, setBehavior, isDelivered, arrived } = await open()
      await setBehavior("takes")
      const answer = await deliver(envelopeTo("ada@example.com"), BYTES)
      expect(answer).toEqual({ answer: "accepted", isDelivered })
      if (arrived !== null) expect(arrived().map(String)).toEqual([BYTES.toString()])
    })

    it("distinguishes an unknown recipient from a rejected mail", async () => {
      expect(await answerFor("rejects")).toMatchObject({ answer: "rejected" })
      expect(await answerFor("refuses")).toMatchObject({ answer: "refused" })
    })

    it("knows that nothing was accepted if the mail is deferred or the server is down", async () => {
      expect(await answerFor("defers")).toMatchObject({ answer: "deferred" })
      expect(await answerFor("is down")).toEqual({ answer: "deferred", code: "no_connection" })
    })

    it("reports an unknown outcome if the server does not answer", async () => {
      expect(await answerFor("is silent")).toEqual({ answer: "unknown" })
    })
  })
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const RULES: Readonly<Record<Exclude<Behavior, "is down">, SmtpRules>> = {
  takes: {},
  rejects: { recipient: () => 550 },
  refuses: { data: () => 554 },
  defers: { recipient: () => 451 },
  "is silent": { data: () => "cut" },
}

async function openServer(): Promise<SmtpServerFixture> {
  const opened = await openSmtpServer()
  closing.push(opened.close)
  return opened
}

function underTest(
  server: SmtpServerFixture,
  isDelivered: boolean,
  deliver: MailerUnderTest["deliver"],
): MailerUnderTest {
  return {
    deliver,
    isDelivered,
    setBehavior: async (behavior) => {
      if (behavior === "is down") await server.close()
      else server.rules = RULES[behavior]
    },
    arrived: () => server.arrived.map(({ bytes }) => bytes),
  }
}

type Zone = Readonly<
  Record<string, readonly { type: string; content: string; priority?: number }[]>
>

function resolverOf(zone: Zone): Pick<Resolver, "query"> {
  return {
    query: async (name, type) => {
      if (name.startsWith("broken.")) throw new ProviderUnavailable("it fails")
      const records = zone[name]
      const answers = (records ?? [])
        .filter((one) => one.type === type)
        .map((one) => ({ priority: null, ...one, type, name, ttl: 60 }))
      const code = records === undefined ? "NXDOMAIN" : "NOERROR"
      return { code, isAuthoritative: false, answers: answers, authorities: [] }
    },
  }
}

const direct = (zone: Zone, port: number) =>
  openDirectDelivery({
    resolver: resolverOf(zone),
    hostName: () => "ledger.test",
    port,
    isAllowed: () => true,
  })

const HERE: Zone = {
  "example.com": [{ type: "MX", content: "mx.example.com", priority: 10 }],
  "mx.example.com": [{ type: "A", content: "127.0.0.1" }],
}

mailerContract("a relay", async () => {
  const server = await openServer()
  const relay = openMailRelay({ url: server.url, warn: () => undefined })
  closing.push(relay.close)
  return underTest(server, false, relay.deliver)
})

mailerContract("the recipients' own servers", async () => {
  const server = await openServer()
  return underTest(server, true, direct(HERE, server.port).deliver)
})

mailerContract("the simulator", async () => {
  let outcome = "ok"
  const outcomes: Readonly<Record<Behavior, string>> = {
    takes: "ok",
    rejects: "bounce",
    refuses: "refuse",
    defers: "defer",
    "is silent": "silent",
    "is down": "unavailable",
  }
  const { deliver } = openSimulatedMailer({
    simulatorMemory: partialFake<SimulatorStore>({
      recordsOf: () => ({
        update: async (_n: string, _c: string, to: (k: null) => object) => to(null),
      }),
    }),
    simulators: partialFake<Simulators>({ nextOutcome: async () => outcome }),
    pacer: { elapsedMs: () => 0, pause: async () => undefined },
    sealing: openMemorySealing(),
  })
  return {
    deliver,
    isDelivered: true,
    arrived: null,
    setBehavior: async (next) => {
      outcome = outcomes[next]
    },
  }
})

describe("delivery to the recipients' servers", () => {
  const deliverTo = (zone: Zone, to = "ada@example.com", port = 1) =>
    direct(zone, port).deliver(envelopeTo(to), BYTES)

  it("tries the servers in the domain's order, and the next one if one is down", async () => {
    const server = await openServer()
    const zone: Zone = {
      "example.com": [
        { type: "MX", content: "second.example.com", priority: 20 },
        { type: "MX", content: "first.example.com", priority: 10 },
      ],
      "first.example.com": [{ type: "A", content: "127.0.0.2" }],
      "second.example.com": [{ type: "A", content: "127.0.0.1" }],
    }
    expect(await deliverTo(zone, "ada@example.com", server.port)).toMatchObject({
      answer: "accepted",
    })
    expect(server.arrived).toHaveLength(1)
  })

  it("skips a server whose name cannot be resolved, and defers the mail if none can be", async () => {
    const server = await openServer()
    const mx = (host: string, priority: number) =>
      ({ type: "MX", content: `${host}.example.com`, priority }) as const
    const second = { "second.example.com": [{ type: "A", content: "127.0.0.1" }] }
    const zone: Zone = { "example.com": [mx("broken", 10), mx("second", 20)], ...second }
    const deliverIn = (records: Zone) => deliverTo(records, "ada@example.com", server.port)
    expect(await deliverIn(zone)).toMatchObject({ answer: "accepted" })
    expect(await deliverIn({ "example.com": [mx("broken", 10)] })).toEqual({
      answer: "deferred",
      code: "4.4.3",
    })
  })

  it("uses the domain's own address if it has no MX record", async () => {
    const server = await openServer()
    const zone: Zone = { "example.com": [{ type: "A", content: "127.0.0.1" }] }
    expect(await deliverTo(zone, "ada@example.com", server.port)).toMatchObject({
      answer: "accepted",
    })
  })

  it.each([
    [{ "example.com": [{ type: "MX", content: "", priority: 0 }] }, "5.1.10"],
    [{ "example.com": [{ type: "MX", content: ".", priority: 0 }] }, "5.1.10"],
    [{}, "5.1.2"],
    [{ "example.com": [{ type: "MX", content: "gone.example.com", priority: 0 }] }, "5.4.4"],
  ])("rejects a recipient without a mail server: %#", async (zone, code) => {
    expect(await deliverTo(zone as Zone)).toEqual({ answer: "rejected", code })
  })

  it("defers a mail if name servers do not answer", async () => {
    const query = async () => {
      throw new ProviderOutcomeUnknown("no answer")
    }
    const { deliver } = openDirectDelivery({ resolver: { query }, hostName: () => "ledger.test" })
    expect(await deliver(envelopeTo("a@example.com"), BYTES)).toMatchObject({ answer: "deferred" })
  })

  it.each([
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.0.1",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "fc00::1",
    "::ffff:127.0.0.1",
    "224.0.0.1",
    "mx.example.com",
    "127.1",
  ])("connects to no private address: %s", async (address) => {
    expect(isPublicAddress(address)).toBe(false)
    const server = await openServer()
    const zone: Zone = { "example.com": [{ type: "A", content: address }] }
    const resolver = resolverOf(zone)
    const { deliver } = openDirectDelivery({
      resolver,
      hostName: () => "ledger.test",
      port: server.port,
    })
    expect(await deliver(envelopeTo("a@example.com"), BYTES)).toEqual({
      answer: "rejected",
      code: "5.4.4",
    })
    expect(server.activity.connections).toBe(0)
  })

  it.each(["192.0.43.10", "2606:4700::1"])("connects to public addresses: %s", (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

describe("a relay", () => {
  it("that rejects our password is a fault of the settings, not of the mail", async () => {
    const server = await openServer()
    server.rules = { sender: () => 530 }
    const warnings: string[] = []
    const { deliver, close } = openMailRelay({
      url: server.url,
      warn: (message) => warnings.push(message),
    })
    closing.push(close)
    const answer = await deliver(envelopeTo("ada@example.com"), BYTES)
    expect(answer).toEqual({ answer: "deferred", code: "settings" })
    expect(warnings).toEqual([
      "the mail relay rejected our settings; check the user, password and port of MAIL_URL",
    ])
  })

  it("without STARTTLS gets neither the password nor the mail unless it is on this machine", async () => {
    const server = await openServer()
    const url = `smtp://name:password@localhost.localdomain:${server.port}`
    const { deliver, close } = openMailRelay({ url, warn: () => undefined })
    closing.push(close)
    expect(await deliver(envelopeTo("ada@example.com"), BYTES)).toMatchObject({
      answer: "deferred",
    })
    expect(server.arrived).toEqual([])
  })
})
