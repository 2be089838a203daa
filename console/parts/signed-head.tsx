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

/** The signed tree head of the company, with the public key. It is signed daily, and on demand. */
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
      description="A signed hash of all events of the company. Save it and the key elsewhere: they reveal any later change."
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
    return <EmptyState title="No head yet" description="The company has no events to sign." />
  }
  return (
    <Stack maw={760}>
      <DetailList
        items={[
          ["Signed", <Time key="at" at={head.at} isWhole />],
          ["Events covered", head.size.toLocaleString("en-US")],
          ["Position in the store", head.position],
        ]}
      />
      <TextView title="Public key (Ed25519)" text={publicKey} />
      <TextView title="Head: the root of the tree" text={head.root} />
      <TextView title="Signature" text={head.signature} />
      <Text size="sm" c="dimmed">
        The head is signed every UTC day. Verify checks whether a saved head is still in the
        history.
      </Text>
    </Stack>
  )
}
