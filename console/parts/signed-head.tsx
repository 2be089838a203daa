import { Button, Group, Stack, Text } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import type { HeadList } from "../api/audit-answers.ts"
import { callOperation, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import { EmptyState } from "./empty-state.tsx"
import { DetailList } from "./detail-list.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { Section } from "./page-layout.tsx"
import { TextView } from "./text-view.tsx"
import { Time } from "./time.tsx"

/** The signed head of the company's tree, and the key that signs. It is signed when asked for, and by day. */
export function SignedHeadSection() {
  const { companyId } = useMe()
  const operation = useOperation("audit-head")
  const commandOf = useCommand()
  const signing = useMutation({
    mutationFn: () => callOperation<HeadList>(companyId, "audit-head"),
  })
  return (
    <Section
      title="Signed head"
      description="One hash over all events of the company, signed. Note it and the key away from here: whoever changes anything later is found out by them."
    >
      <Stack>
        <Group gap="xs">
          <Button variant="default" loading={signing.isPending} onClick={() => signing.mutate()}>
            Sign and show the head
          </Button>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, {})} />}
        </Group>
        {signing.error === null ? null : (
          <ErrorAlert error={signing.error} onAgain={() => signing.mutate()} />
        )}
        {signing.data === undefined ? null : <SignedHeadDetails {...signing.data} />}
      </Stack>
    </Section>
  )
}

function SignedHeadDetails({ publicKey, heads }: HeadList) {
  const [head] = heads
  if (head === undefined) {
    return (
      <EmptyState
        title="No head yet"
        description="The company has no event that could be signed."
      />
    )
  }
  return (
    <Stack maw={760}>
      <DetailList
        items={[
          ["Signed", <Time key="at" at={head.at} isWhole />],
          ["Events below it", head.size.toLocaleString("en-US")],
          ["Place in the store", head.position],
        ]}
      />
      <TextView title="Public key (Ed25519)" text={publicKey} />
      <TextView title="Head: the root of the tree" text={head.root} />
      <TextView title="Signature" text={head.signature} />
      <Text size="sm" c="dimmed">
        The head is signed each UTC day by itself. Verify takes one that was noted and finds it in
        the history, or not.
      </Text>
    </Stack>
  )
}
