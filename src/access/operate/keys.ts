/** API keys, as an operator makes and changes them. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import { z } from "zod"
import { ALL_OPERATIONS } from "../../../domain/access/permissions.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import { listUsedKeys } from "../../../projections/access/keys.ts"
import { makeApiKey } from "../../frame/routes/checks/credentials.ts"
import {
  accepted,
  company,
  dollars,
  DOLLARS_NOTE,
  findCompany,
  findCompanyOfKey,
  showWrites,
  together,
  words,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import {
  isOwnKey,
  OWNER_OR_ADMIN,
  operation,
  OperatorRefused,
} from "../../frame/operator/operation.ts"
import { ownKeyBar } from "./console-team.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import { changeKey, keyIdNamed, setPurchaseTerms } from "./key-change.ts"
import { operationNames } from "./operation-names.ts"

const NewKey = z.object({
  company,
  person: z.string().optional().meta({ description: "whose key it is, by id" }),
  app: z.boolean().default(false).meta({ description: "the key of the company's app" }),
  operations: operationNames
    .default([])
    .meta({ description: "operations it may use", flag: "operation" }),
  allOperations: z.boolean().default(false).meta({ description: "it may use every operation" }),
  label: words.optional().meta({ description: "what it is called" }),
  addFundsPerPurchase: dollars
    .optional()
    .meta({ description: "it may add funds, so much at a time" }),
  addFundsPerMonth: dollars
    .optional()
    .meta({ description: "it may add funds, so much in a month" }),
})

function newKeyFault(input: z.infer<typeof NewKey>): string | null {
  const { person, app, operations, allOperations, addFundsPerPurchase, addFundsPerMonth } = input
  if ((person !== undefined) === app) {
    return "a key is for one --person or for the --app: give exactly one of them"
  }
  if (operations.length > 0 === allOperations) {
    return "name what the key may do with --operation, or give --all-operations"
  }
  if ((addFundsPerPurchase === undefined) !== (addFundsPerMonth === undefined)) {
    return "--add-funds-per-purchase and --add-funds-per-month go together"
  }
  return null
}

const create = operation({
  name: "key create",
  summary: "make an API key and show it, once",
  notes: [
    "A key is for one person, or for the company's app.",
    DOLLARS_NOTE,
    "Only a hash of the key is kept: whoever loses it makes another one.",
  ],
  example: "key create --company acme --app --operation phone.messages.send phone.messages.read",
  changes: true,
  input: together(NewKey, newKeyFault),
  console: {
    roles: OWNER_OR_ADMIN,
    own: ({ input, me }) => (input.person === me.personId ? input : null),
    bars: ({ input: { addFundsPerPurchase, allOperations, operations }, me }) => {
      const asked = allOperations ? ALL_OPERATIONS : operations
      return ownKeyBar(me, { operations: asked, buys: addFundsPerPurchase !== undefined })
    },
  },
  run: async ({ ports, cause }, input) => {
    const { sealing, runner } = ports
    const operations = input.allOperations ? ALL_OPERATIONS : input.operations
    const { addFundsPerPurchase: perPurchase, addFundsPerMonth: perMonth } = input
    const companyId = await findCompany(ports, input.company)
    const personId = input.person === undefined ? null : parsePersonId(input.person)
    if (personId === null && !input.app) {
      throw new OperatorRefused("no_such_person", "There is no such person in this company.")
    }
    const { keyId, key, keyHash } = makeApiKey(companyId)
    // First what it may buy: a key never works with less than it was made with.
    if (perPurchase !== undefined && perMonth !== undefined) {
      const terms = {
        mode: "on",
        perPurchaseMicros: perPurchase,
        perMonthMicros: perMonth,
      } as const
      await setPurchaseTerms(ports, companyId, keyId, terms, cause)
    }
    accepted(
      await runner.execute(
        accessOf(companyId),
        {
          type: "CreateKey",
          keyId,
          personId,
          keyHash,
          operations,
          label:
            input.label === undefined ? null : await sealing.seal(companyId, keyId, input.label),
        },
        cause,
      ),
    )
    await showWrites(ports)
    const made = { keyId, key, companyId, personId }
    return input.app ? { ...made, appSecret: sealing.appSecret(keyId) } : made
  },
  render: renderCreated,
})

interface Created {
  readonly key: string
  readonly appSecret?: string
}

function renderCreated({ key, appSecret, ...rest }: Created): string {
  const secret =
    appSecret === undefined ? "" : `\nThe app's secret, shown this once:\n${appSecret}\n`
  const fields = renderFields(Object.entries(rest))
  return `${fields}\nThe key, shown this once; keep it now:\n${key}\n${secret}`
}

const change = (
  name: "key pause" | "key resume" | "key delete",
  summary: string,
  type: "PauseKey" | "ResumeKey" | "DeleteKey",
  status: "paused" | "active" | "deleted",
  lasting: Pick<AdminOperation<{ readonly keyId: string }>, "irreversible"> = {},
) =>
  operation({
    name,
    summary,
    example: `${name} key_4Zb0x7 --reason "asked for by its owner"`,
    changes: true,
    ...lasting,
    input: z.object({ keyId: keyIdNamed }),
    console: {
      roles: OWNER_OR_ADMIN,
      own: async (asking) => ((await isOwnKey(asking, asking.input.keyId)) ? asking.input : null),
    },
    run: async ({ ports, cause }, input) => {
      const { companyId, keyId } = await findCompanyOfKey(ports, input.keyId)
      const stream = accessOf(companyId)
      const command = { type, keyId }
      accepted(await ports.runner.execute(stream, command, cause))
      await showWrites(ports)
      return { keyId, companyId, status }
    },
  })

const list = operation({
  name: "key list",
  summary: "list a company's keys, when each was last used and what it spent this month",
  notes: [
    "A month is UTC. Calls that were not recorded as counted are no use: see calls list.",
    "Add funds is what the key may buy: at a time, in a month, and whether somebody must agree.",
  ],
  example: "key list --company acme",
  input: z.object({
    company,
    person: z.string().optional().meta({ description: "only of this person, by id" }),
  }),
  console: {
    roles: OWNER_OR_ADMIN,
    own: ({ input, me }) => {
      const { person = me.personId } = input
      return person === me.personId ? { ...input, person } : null
    },
  },
  run: async ({ ports }, { company: named, person }) => {
    const companyId = await findCompany(ports, named)
    // Calls that are only gathered were made already: they are recorded, so that the list shows them.
    await ports.settle()
    await showWrites(ports)
    const all = await listUsedKeys(ports.readAll, companyId, ports.clock.now())
    const rows = person === undefined ? all : all.filter((row) => row.person_id === person)
    const termsNow = (state: Ledger) => new Map(state.purchases.terms)
    const terms = await ports.runner.readLatest(ledgerOf(companyId), termsNow)
    return {
      keys: rows.map((row) => ({
        keyId: row.key_id,
        personId: row.person_id,
        label: row.label,
        status: row.status,
        operations: row.operations,
        createdAt: row.created_at.toISOString(),
        lastUsedAt: row.last_used_at?.toISOString() ?? null,
        spentThisMonthMicros: row.spent_micros,
        addFunds: terms.get(row.key_id) ?? null,
      })),
    }
  },
})

/** Operations on keys. */
export const keyOperations: readonly AdminOperation[] = [
  create,
  changeKey,
  change("key pause", "pause a key: it is refused until it is resumed", "PauseKey", "paused"),
  change("key resume", "let a paused key work again", "ResumeKey", "active"),
  change("key delete", "delete a key for ever", "DeleteKey", "deleted", {
    irreversible: {
      field: "keyId",
      says: 'the key is refused from now on, for ever; "key pause" stops it for a time',
    },
  }),
  list,
]
