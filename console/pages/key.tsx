import { Code, Group, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Key, KeyList, LimitList } from "../api/answers.ts"
import { groupOperations } from "../api/key-operations.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { OperationFormButton, dollarsFault } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatusBadge } from "../parts/key-status.tsx"
import { LimitBar } from "../parts/limit-bar.tsx"
import { TextLink, usePagePath } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, typedDollars } from "../parts/money.tsx"
import { OperationChoice } from "../parts/operation-choice.tsx"
import { useNow } from "../parts/use-now.ts"
import { limitForecast } from "../parts/limit-forecast.ts"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"

/** A key: its operations, spending, limit and actions. */
export default function KeyPage() {
  const { keyId } = useParams({ strict: false })
  const list = useOperationQuery<KeyList>("key-list")
  return (
    <QueryView query={list}>
      {({ keys }) => {
        const found = keys.find((one) => one.keyId === keyId)
        return found === undefined ? (
          <EmptyState
            title="No such key"
            description="It may belong to another person, or be deleted."
          />
        ) : (
          <KeyContent found={found} />
        )
      }}
    </QueryView>
  )
}

function KeyContent({ found }: { readonly found: Key }) {
  const { person } = useNames()
  const { keyId, label, personId, status, operations, createdAt, lastUsedAt } = found
  return (
    <PageLayout
      title={label ?? keyId}
      description={<Id id={keyId} />}
      actions={status === "deleted" ? undefined : <Actions found={found} />}
    >
      <DetailList
        items={[
          ["Status", <KeyStatusBadge key="status" status={status} />],
          ["Person", personId === null ? "The company's app" : person(personId)],
          ["Created", <Time key="created" at={createdAt} isWhole />],
          [
            "Last used",
            lastUsedAt === null ? "Never" : <Time key="used" at={lastUsedAt} isWhole />,
          ],
          ["Can add funds", <AddFundsTerms key="funds" {...found} />],
          ["Spent this month", <Money key="spent" micros={found.spentThisMonthMicros} />],
          [
            "Spending",
            <TextLink key="spending" to="spending" search={{ key: keyId }}>
              Show its charges
            </TextLink>,
          ],
          [
            "Refusals",
            <TextLink key="refusals" to="refusals" search={{ key: keyId }}>
              Show its refusals
            </TextLink>,
          ],
        ]}
      />
      <OwnLimit keyId={keyId} />
      <Section title={`Operations: ${operations.length}`}>
        <Stack gap="xs">
          {groupOperations(operations).map(({ title, operations: names }) => (
            <Group key={title} gap={4} align="flex-start">
              <Text size="sm" w={{ base: "100%", sm: 150 }}>
                {title}
              </Text>
              <Group gap={4} flex="1 1 200px">
                {names.map((name) => (
                  <Code key={name}>{name}</Code>
                ))}
              </Group>
            </Group>
          ))}
        </Stack>
      </Section>
    </PageLayout>
  )
}

const MODES = {
  on: "",
  needs_owner_review: ", each time with an owner's approval",
  off: "",
} as const

function AddFundsTerms({ addFunds }: Pick<Key, "addFunds">) {
  if (addFunds === null || addFunds.mode === "off") return <>No</>
  return (
    <>
      <Money micros={addFunds.perPurchaseMicros} /> at a time,{" "}
      <Money micros={addFunds.perMonthMicros} /> a month{MODES[addFunds.mode]}
    </>
  )
}

function OwnLimit({ keyId }: { readonly keyId: string }) {
  const seesLimits = useCanRun("limit-list")
  const now = useNow()
  const limits = useOperationQuery<LimitList>("limit-list", {}, seesLimits).data?.limits ?? []
  const limit = limits.find(({ holderId }) => holderId === keyId)
  if (!seesLimits) return null
  return (
    <Section title="Limit" description="Counts all spending of the key.">
      <Stack maw={560}>
        {limit === undefined ? (
          <Text size="sm">
            This key has no limit of its own. The limits of its person and of the company apply.{" "}
            <TextLink to="limits">Set a limit</TextLink>
          </Text>
        ) : (
          <LimitBar limit={limit} whose="This key" forecast={limitForecast(limit, now)} />
        )}
      </Stack>
    </Section>
  )
}

function Actions({
  found: { keyId, status, operations, label, personId, addFunds },
}: {
  readonly found: Key
}) {
  const me = useMe()
  const navigate = useNavigate()
  const pathOf = usePagePath()
  const isOwn = personId === me.personId
  return (
    <>
      <OperationFormButton<{ operations: readonly string[] }, unknown>
        operation="key-change"
        label="Change"
        title="Change its operations"
        description="Operations that you remove are refused from the next call."
        isOwn={isOwn}
        initialValues={{ operations }}
        inputOf={({ operations: chosen }) => ({ keyId, operations: chosen })}
        fields={(form) => (
          <OperationChoice
            chosen={form.values.operations}
            onChoose={(chosen) => form.setFieldValue("operations", chosen)}
          />
        )}
        submitLabel="Change"
        successMessage="The key was changed."
      />
      {isAdmin(me) ? <ChangeAddFunds keyId={keyId} now={addFunds} /> : null}
      {status === "paused" ? (
        <ActionButton
          operation="key-resume"
          isOwn={isOwn}
          input={{ keyId }}
          label="Resume"
          description="Its calls are accepted again immediately."
          successMessage="The key works again."
          undo={{
            operation: "key-pause",
            input: { keyId },
            successMessage: "The key is paused again.",
          }}
        />
      ) : (
        <ActionButton
          operation="key-pause"
          isOwn={isOwn}
          input={{ keyId }}
          label="Pause"
          description="Calls with this key are refused immediately, until you resume it."
          successMessage="The key is paused."
          undo={{
            operation: "key-resume",
            input: { keyId },
            successMessage: "The key works again.",
          }}
        />
      )}
      <ActionButton
        operation="key-delete"
        isOwn={isOwn}
        input={{ keyId }}
        confirmationText={label ?? keyId}
        label="Delete"
        description="Calls with this key are refused for good. Pause it to stop it for a time."
        successMessage="The key was deleted."
        isDangerous
        onDone={() => void navigate({ to: pathOf("keys") })}
      />
    </>
  )
}

type AddFundsValues = {
  readonly purchases: string
  readonly perPurchase: string
  readonly perMonth: string
}

/** Values of the operation for each mode. */
const CHOICES = { on: "on", needs_owner_review: "review", off: "off" } as const

function termsOf(now: Key["addFunds"]): AddFundsValues {
  if (now === null) return { purchases: "off", perPurchase: "", perMonth: "" }
  const [perPurchase, perMonth] = [
    typedDollars(now.perPurchaseMicros),
    typedDollars(now.perMonthMicros),
  ]
  return { purchases: CHOICES[now.mode], perPurchase, perMonth }
}

/** Amounts are optional if purchases are off. */
function sumFault(text: string, { purchases }: AddFundsValues): string | null {
  return purchases === "off" && text.trim() === "" ? null : dollarsFault(text)
}

/** Changes whether a key can add funds, with its limits. */
function ChangeAddFunds({ keyId, now }: { readonly keyId: string; readonly now: Key["addFunds"] }) {
  return (
    <OperationFormButton<AddFundsValues, unknown>
      operation="key-change"
      label="Adding funds"
      title="Adding funds"
      description="Funds that the key buys are charged to the company's card."
      initialValues={termsOf(now)}
      validators={{ perPurchase: sumFault, perMonth: sumFault }}
      inputOf={({ purchases, perPurchase, perMonth }) => ({
        keyId,
        purchases,
        addFundsPerPurchase: perPurchase.trim(),
        addFundsPerMonth: perMonth.trim(),
      })}
      fields={(form) => (
        <>
          <Select
            label="Can add funds"
            allowDeselect={false}
            data={[
              { value: "on", label: "Yes" },
              { value: "review", label: "With an owner's approval each time" },
              { value: "off", label: "No" },
            ]}
            {...form.getInputProps("purchases")}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label="Dollars per purchase" {...form.getInputProps("perPurchase")} />
            <TextInput label="Dollars per month" {...form.getInputProps("perMonth")} />
          </SimpleGrid>
        </>
      )}
      submitLabel="Save"
      successMessage="Applies from the key's next purchase."
    />
  )
}
