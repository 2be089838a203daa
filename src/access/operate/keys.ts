/** Operations that create, change and list API keys. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { LedgerState } from "../../../domain/charging/ledger-state.ts"
import { z } from "zod"
import { ALL_OPERATIONS } from "../../../domain/access/permissions.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import { listKeysWithUsage } from "../../../projections/access/keys.ts"
import { makeApiKey } from "../../frame/routes/checks/credentials.ts"
import {
  requireAccepted,
  companyInput,
  dollarsInput,
  DOLLARS_NOTE,
  findCompany,
  findCompanyOfKey,
  waitForOwnWrites,
  withCrossFieldCheck,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import {
  isOwnKey,
  OWNER_OR_ADMIN,
  operation,
  OperatorRefused,
} from "../../frame/operator/operation.ts"
import { ownKeyDenial } from "./team-change-rules.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import { changeKey, keyIdArgument, setPurchaseTerms } from "./key-change.ts"
import { operationNames } from "./operation-names.ts"

const NewKey = z.object({
  company: companyInput,
  person: z.string().optional().meta({ description: "the key's person, by id" }),
  app: z.boolean().default(false).meta({ description: "create the key of the company's app" }),
  operations: operationNames
    .default([])
    .meta({ description: "operations it may use", flag: "operation" }),
  allOperations: z.boolean().default(false).meta({ description: "it may use every operation" }),
  label: textInput.optional().meta({ description: "its label" }),
  addFundsPerPurchase: dollarsInput
    .optional()
    .meta({ description: "how much it may add to the funds in one purchase" }),
  addFundsPerMonth: dollarsInput
    .optional()
    .meta({ description: "how much it may add to the funds in a month" }),
})

function newKeyFault(input: z.infer<typeof NewKey>): string | null {
  const { person, app, operations, allOperations, addFundsPerPurchase, addFundsPerMonth } = input
  if ((person !== undefined) === app) {
    return "a key is for one --person or for the --app: pass exactly one of them"
  }
  if (operations.length > 0 === allOperations) {
    return "pass the key's operations with --operation, or pass --all-operations"
  }
  if ((addFundsPerPurchase === undefined) !== (addFundsPerMonth === undefined)) {
    return "--add-funds-per-purchase and --add-funds-per-month go together"
  }
  return null
}

const create = operation({
  name: "key create",
  summary: "create an API key and show it once",
  notes: [
    "A key is for one person, or for the company's app.",
    DOLLARS_NOTE,
    "Only a hash of the key is stored: a lost key must be replaced by a new one.",
  ],
  example: "key create --company acme --app --operation phone.messages.send phone.messages.read",
  changes: true,
  input: withCrossFieldCheck(NewKey, newKeyFault),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    ownInput: ({ input, person }) => (input.person === person.personId ? input : null),
    denialReason: ({ input: { addFundsPerPurchase, allOperations, operations }, person }) => {
      const asked = allOperations ? ALL_OPERATIONS : operations
      return ownKeyDenial(person, {
        operations: asked,
        canAddFunds: addFundsPerPurchase !== undefined,
      })
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
    // What the key may buy is set first: a key never works with less than it was created with.
    if (perPurchase !== undefined && perMonth !== undefined) {
      const terms = {
        mode: "on",
        perPurchaseMicros: perPurchase,
        perMonthMicros: perMonth,
      } as const
      await setPurchaseTerms(ports, companyId, keyId, terms, cause)
    }
    requireAccepted(
      await runner.execute(
        accessStreamOf(companyId),
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
    await waitForOwnWrites(ports)
    const made = { keyId, key, companyId, personId }
    return input.app ? { ...made, appSecret: sealing.appSecret(keyId) } : made
  },
  render: renderCreated,
})

interface CreatedKey {
  readonly key: string
  readonly appSecret?: string
}

function renderCreated({ key, appSecret, ...rest }: CreatedKey): string {
  const secret =
    appSecret === undefined ? "" : `\nThe app's secret, shown only now:\n${appSecret}\n`
  const fields = renderFields(Object.entries(rest))
  return `${fields}\nThe key, shown only now; store it:\n${key}\n${secret}`
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
    input: z.object({ keyId: keyIdArgument }),
    consoleAccess: {
      roles: OWNER_OR_ADMIN,
      ownInput: async (asking) =>
        (await isOwnKey(asking, asking.input.keyId)) ? asking.input : null,
    },
    run: async ({ ports, cause }, input) => {
      const { companyId, keyId } = await findCompanyOfKey(ports, input.keyId)
      const stream = accessStreamOf(companyId)
      const command = { type, keyId }
      requireAccepted(await ports.runner.execute(stream, command, cause))
      await waitForOwnWrites(ports)
      return { keyId, companyId, status }
    },
  })

const list = operation({
  name: "key list",
  summary: "list a company's keys, when each was last used and what it spent this month",
  notes: [
    "A month is UTC. API calls that were not counted do not appear as use: see calls list.",
    "addFunds is what the key may buy: per purchase, per month, and whether an owner must approve.",
  ],
  example: "key list --company acme",
  input: z.object({
    company: companyInput,
    person: z.string().optional().meta({ description: "only of this person, by id" }),
  }),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    ownInput: ({ input, person: me }) => {
      const { person = me.personId } = input
      return person === me.personId ? { ...input, person } : null
    },
  },
  run: async ({ ports }, { company: named, person }) => {
    const companyId = await findCompany(ports, named)
    // Buffered calls are stored first, so the list shows them.
    await ports.flush()
    await waitForOwnWrites(ports)
    const all = await listKeysWithUsage(ports.readAll, companyId, ports.clock.now())
    const rows = person === undefined ? all : all.filter((row) => row.person_id === person)
    const termsNow = (state: LedgerState) => new Map(state.purchases.terms)
    const terms = await ports.runner.readLatest(ledgerStreamOf(companyId), termsNow)
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

export const keyOperations: readonly AdminOperation[] = [
  create,
  changeKey,
  change("key pause", "pause a key: it is rejected until it is resumed", "PauseKey", "paused"),
  change("key resume", "resume a paused key", "ResumeKey", "active"),
  change("key delete", "delete a key permanently", "DeleteKey", "deleted", {
    irreversible: {
      field: "keyId",
      says: 'the key is rejected from now on, permanently; "key pause" stops it temporarily',
    },
  }),
  list,
]
