/** Mails through the whole program to a mail server on this machine, compared with nodemailer alone. */
import { performance } from "node:perf_hooks"
import nodemailer from "nodemailer"
import { openSmtpServer } from "../../test/email/smtp-server.ts"
import { addVerifiedDomain } from "../../test/email/mail-world.ts"
import { sendMail } from "../../src/email/send-mail.ts"
import type { Benchmark, OpenBenchmark } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { openTextingCompany } from "../texts/texting-company.ts"

const CALLS = 20
const RECIPIENTS = 50
const MAILS = CALLS * RECIPIENTS
const CONCURRENCY = 4
/** A text of ten kilobytes. */
const TEXT = "It is on its way, and this is what we know of it.\n".repeat(200)

export const mailsBenchmark: Benchmark = {
  name: "mails",
  title: `${MAILS} mails of 10 KB by ${CALLS} calls of ${RECIPIENTS} recipients, signed`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "alone", title: "nodemailer alone, same pool and key", unit: "per second" },
    { name: "mails", title: "mails charged, signed, taken and answered for", unit: "per second" },
  ],
  ratios: [
    {
      id: "mail",
      title: "mails ÷ nodemailer alone",
      of: "mails",
      per: "alone",
      better: "more",
      target: 0.6,
      floor: 0.4,
    },
  ],
  open: async () => {
    const stand = await openSmtpServer()
    const house = await openBenchInstallation(null, { MAIL_URL: stand.url }).catch(
      async (error: unknown) => {
        await stand.close()
        throw error
      },
    )
    const close = async () => {
      await house.close()
      await stand.close()
    }
    try {
      return { ...(await openOn(house, stand)), close }
    } catch (error) {
      await close()
      throw error
    }
  },
}

type SmtpServer = Awaited<ReturnType<typeof openSmtpServer>>

async function openOn(
  house: BenchInstallation,
  stand: SmtpServer,
): Promise<Omit<OpenBenchmark, "close">> {
  const { ports } = house
  const { companyId, keys } = await openTextingCompany(house, "mailing", 2)
  const sender = await addVerifiedDomain(ports, companyId, "acme.example")
  const key = await ports.dkimKeys.find({ companyId, sendingDomainId: sender.sendingDomainId })
  assertMeasurement(key !== null, "the sending domain has no key")
  const port = await house.serve(ports, [sendMail])
  const from = `hello@${sender.domain}`
  let sent = 0
  /** So many addresses without earlier mails. */
  const fresh = (count: number) =>
    Array.from({ length: count }, () => {
      sent += 1
      return `a${sent}@example.com`
    })
  /** Mails per second of some concurrent jobs that send all of them. */
  const timed = async (jobs: readonly (() => Promise<unknown>)[]): Promise<number> => {
    await house.waitUntilIdle()
    const before = stand.arrived.length
    const waiting = [...jobs]
    const begun = performance.now()
    const work = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job()
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
    const seconds = (performance.now() - begun) / 1_000
    assertMeasurement(
      stand.arrived.length === before + MAILS,
      "a mail did not arrive, or arrived twice",
    )
    return MAILS / seconds
  }
  const pool = nodemailer.createTransport({
    host: "127.0.0.1",
    port: stand.port,
    secure: false,
    pool: true,
    maxConnections: CONCURRENCY,
    maxMessages: Infinity,
  })
  const dkim = { domainName: sender.domain, keySelector: key.selector, privateKey: key.privateKey }
  const letter = { subject: "Your order", text: TEXT }
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      alone: () =>
        timed(fresh(MAILS).map((to) => () => pool.sendMail({ from, to, ...letter, dkim }))),
      mails: () =>
        timed(
          Array.from({ length: CALLS }, () => {
            const to = fresh(RECIPIENTS)
            return () => call(port, keys[1] ?? "", { from, to, ...letter })
          }),
        ),
    },
    check: async () => {
      pool.close()
      await house.waitUntilIdle()
      house.assertNoWarnings()
    },
  }
}

/** Sends a mail by the API. @throws InvalidMeasurement if it is not accepted for all recipients */
async function call(port: number, key: string, mail: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}${sendMail.url}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(mail),
  })
  const { queued } = (await answer.json()) as { readonly queued?: readonly string[] }
  assertMeasurement(queued?.length === RECIPIENTS, `a mail was answered ${answer.status}`)
}
